"""Who may ask the admin port, and how long asking may take.

`access.py` decides about single requests and is pure, `token_file.py` reads what lets others than this machine in,
`guard.py` puts both before every path, and `connections.py` keeps time for connections.
"""
