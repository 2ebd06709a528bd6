"""What share groups are doing.

`holdings.py` looks at the records that their members hold now, `happenings.py` finds what changed between two looks
(pure), `event_readers.py` tells that to whoever listens to `/api/v1/events`.
"""
