"""One read in flight per share-partition.

A second fetch would read the same bytes and acquire nothing of them. It goes to sleep instead, and the
fetch that it found reading owes it a call: when that one leaves records to others (it acquired some and there may be
more, or they are too few for it), or at the latest when it ends. A read that found nothing calls nobody, or sleepers
would wake each other for ever.
"""

from kproxy.handlers.live.fetch_signals import FetchSignals
from kproxy.share.identifiers import SharePartitionKey


class ReadTurns:
    """Who reads which share-partition at this moment."""

    __slots__ = ("_reading",)

    def __init__(self) -> None:
        self._reading: dict[SharePartitionKey, FetchSignals] = {}

    def take(self, key: SharePartitionKey, asker: FetchSignals) -> bool:
        """Begin to read `key`, or tell that another fetch does; that one then owes `asker` a call."""
        reader = self._reading.get(key)
        if reader is not None:
            reader.owe_call(key, asker)
            return False
        self._reading[key] = asker
        asker.turns.add(key)
        return True

    def give_back(self, key: SharePartitionKey, reader: FetchSignals) -> None:
        """End the read of `key`, if `reader` has the turn."""
        if key in reader.turns:
            reader.turns.discard(key)
            del self._reading[key]

    def give_all_back(self, reader: FetchSignals) -> None:
        """End every read of `reader`."""
        for key in reader.turns:
            del self._reading[key]
        reader.turns.clear()
