"""What several processes hold, told as one answer by whichever of them is asked.

`merged_parts.py` is pure: it takes the answers of several processes apart and makes one of them. `fleet_answers.py`
asks them, and says what it could not find out. `peer_events.py` asks again and again for what happens in them;
`event_readers.py` tells that, and what happens here, to whoever listens to `/api/v1/events`.
"""
