"""What `kproxy top` shows, but for the terminal: groups by how badly they do, and what keys do to the screen.

`group_rows.py` makes rows of two looks, `screen_state.py` says what becomes of the screen at a key, `terminal_keys.py`
which key bytes are: these are pure. `group_looks.py` asks the admin port.
"""
