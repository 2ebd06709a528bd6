"""One read in flight per share-partition.

A second fetch would read the same bytes and acquire nothing of them. It goes to sleep instead, and the
fetch that it found reading owes it a call: when that one acquired records (there may be more), or at the
latest when it ends. A read that found nothing calls nobody, or sleepers would wake each other for ever.
"""

from kproxy.share.identifiers import SharePartitionKey


class ReadTurns:
    """Who reads which share-partition at this moment."""

    __slots__ = ("_reading",)

    def __init__(self) -> None:
        self._reading: dict[SharePartitionKey, set[SharePartitionKey]] = {}

    def take(self, key: SharePartitionKey, owed: set[SharePartitionKey]) -> bool:
        """Begin to read `key`, or tell that another fetch does; that one then has `key` in its `owed`."""
        owed_by_reader = self._reading.get(key)
        if owed_by_reader is not None:
            owed_by_reader.add(key)
            return False
        self._reading[key] = owed
        return True

    def give_back(self, key: SharePartitionKey) -> None:
        """End the read of `key`."""
        del self._reading[key]
