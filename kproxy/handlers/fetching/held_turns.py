"""The turns to read that one fetch has (`ReadTurns`), and how it leaves them to others."""

from collections.abc import Iterable

from kproxy.handlers.live.fetch_signals import FetchSignals
from kproxy.handlers.live.share_services import ShareServices
from kproxy.share.identifiers import SharePartitionKey


class HeldTurns:
    """Those of the fetch that `signals` are of. None is left without a word to whoever is next, where there is room."""

    __slots__ = ("_services", "_signals")

    def __init__(self, services: ShareServices, signals: FetchSignals) -> None:
        self._services = services
        self._signals = signals

    def leave(self, key: SharePartitionKey) -> None:
        """Let others read `key`: first those who have waited for room in its window; if there is none, wait in line.

        Whoever asked this fetch for the turn is not called: it may have been read for nothing.
        """
        turns, share_partition = self._services.turns, self._services.directory.find(key)
        turns.give_back(key, self._signals)
        if share_partition is None:
            return
        if not share_partition.can_acquire():
            turns.wait_for_room(key, self._signals)
        elif (first := turns.hand_on(key)) is not None:
            self._services.availability.call(first, key)

    def leave_all(self) -> None:
        """Do the same for each that the fetch has."""
        for key in tuple(self._signals.turns):
            self.leave(key)

    def leave_out(self, key: SharePartitionKey) -> None:
        """Leave `key`, which there is room in and which is not read now, to whoever waits for it or asked for it.

        The fetch may have been given the turn, or been called for itself and others: nobody else hears of that room.
        """
        if key in self._signals.turns:
            self.leave(key)
        self._services.availability.call_next(self._signals, key)

    def leave_to_others(self, keys: Iterable[SharePartitionKey] | None = None) -> None:
        """Let others read `keys` of a long wait (None: all), and whatever they have asked this fetch for.

        Although there may be no records: meanwhile it hears of no new ones.
        """
        for key in tuple(self._signals.turns if keys is None else keys):
            self.leave(key)
        for key in self._signals.owed_keys:
            if key not in self._signals.turns:
                self._services.availability.call_next(self._signals, key)
