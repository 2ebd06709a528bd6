"""What share groups are doing.

`holdings.py` looks at the records that their members hold now, `happenings.py` finds what changed between two looks
(pure), `own_events.py` looks, and keeps the last events for other processes that ask.
"""
