"""One read in flight per share-partition, and room in a full window for one fetch after the other.

A second fetch would read the same bytes and acquire nothing of them. It goes to sleep instead, and the
fetch that it found reading owes it a call: when that one leaves records to others (it acquired some and there may be
more, or they are too few for it), or at the latest when it ends. A read that found nothing calls nobody, or sleepers
would wake each other for ever.

Where the window is full the next turn belongs to the fetch that has waited longest. A member that acknowledges and
fetches in one request would else take the room that it makes before any other wakes up.
"""

from collections.abc import Mapping

from kproxy.handlers.live.fetch_signals import FetchSignals
from kproxy.share.identifiers import SharePartitionKey


class ReadTurns:
    """Who reads which share-partition at this moment, or is about to, and who waits until there is room in one."""

    __slots__ = ("_reading", "_waiting", "busy_count", "full_count")

    def __init__(self) -> None:
        self._reading: dict[SharePartitionKey, FetchSignals] = {}
        self._waiting: dict[SharePartitionKey, dict[FetchSignals, None]] = {}
        self.busy_count = 0
        """How often a fetch found another one reading so far."""
        self.full_count = 0
        """How often a fetch stood in line for room in a full window so far."""

    def waits(self) -> Mapping[tuple[str, ...], int]:
        """Return how often a fetch could not read a share-partition at once so far, by why."""
        return {("busy",): self.busy_count, ("full",): self.full_count}

    def take(self, key: SharePartitionKey, asker: FetchSignals) -> bool:
        """Begin to read `key`, or tell that another fetch does; that one then owes it a call, and whom it owes one."""
        reader = self._reading.get(key)
        if reader is not None and reader is not asker:
            self.busy_count += 1
            asker.hand_debt_over(key, reader)
            return False
        self._reading[key] = asker
        asker.turns.add(key)
        if key in asker.full:
            self._stop_waiting(key, asker)
        return True

    def is_read(self, key: SharePartitionKey) -> bool:
        """Tell whether some fetch reads `key`."""
        return key in self._reading

    def wait_for_room(self, key: SharePartitionKey, asker: FetchSignals) -> None:
        """Stand in line for the turn to read `key`, whose window is full."""
        if key not in asker.full:
            self.full_count += 1
        self._waiting.setdefault(key, {})[asker] = None
        asker.full.add(key)

    def hand_on(self, key: SharePartitionKey) -> FetchSignals | None:
        """Give the turn to read `key`, where there is room, to whoever has waited longest, and return it: to be called.

        It is None when nobody sleeps on it, or somebody reads. Those before it who are awake, because they read
        something else at this moment, hear of the room, or they would go to sleep beside it.
        """
        if key in self._reading:
            return None
        first = None
        for asker in self._waiting.get(key, ()):
            if asker.is_asleep and asker.is_listening:
                first = asker
                break
            asker.hear(key)
        if first is not None:
            self._stop_waiting(key, first)
            self._reading[key] = first
            first.turns.add(key)
        return first

    def give_back(self, key: SharePartitionKey, reader: FetchSignals) -> None:
        """End the read of `key`, if `reader` has the turn."""
        if key in reader.turns:
            reader.turns.discard(key)
            del self._reading[key]

    def leave(self, asker: FetchSignals) -> None:
        """End every read of a fetch that is over, and let it wait for nothing."""
        for key in tuple(asker.turns):
            self.give_back(key, asker)
        for key in tuple(asker.full):
            self._stop_waiting(key, asker)

    def _stop_waiting(self, key: SharePartitionKey, asker: FetchSignals) -> None:
        waiting = self._waiting[key]
        del waiting[asker]
        asker.full.discard(key)
        if not waiting:
            del self._waiting[key]
