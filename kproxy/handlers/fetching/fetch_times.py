"""`FetchTimes`: how long a ShareFetch waits for its first turn to read, and how long it has its turns."""

from collections.abc import Sized
from typing import TypeVar

from kproxy.handlers.live.share_services import ShareServices
from kproxy.share.identifiers import GroupId
from kproxy.statelog.actors import cut_text

T = TypeVar("T", bound=Sized)


class FetchTimes:
    """The times of one ShareFetch, which begins now; in whole milliseconds of the Clock."""

    __slots__ = ("_began_ms", "_group", "_services", "_taken_ms")

    def __init__(self, services: ShareServices, group_id: GroupId) -> None:
        self._services = services
        self._group = cut_text(group_id)
        self._began_ms: int | None = services.clock.now_ms()
        self._taken_ms: int | None = None

    def taken(self, turns: T) -> T:
        """Note the turns of a round, if it has any, and return them.

        Only for the first ones it waited, for loads, for room in windows or for others that read; what is between two
        rounds is the wait for records.
        """
        if turns:
            self._taken_ms = self._services.clock.now_ms()
            if self._began_ms is not None:
                self._observe("share_acquire_seconds", self._taken_ms - self._began_ms)
                self._began_ms = None
        return turns

    def end(self) -> None:
        """Note that the round is over, and has no turns any more."""
        if self._taken_ms is not None:
            self._observe("share_read_turn_seconds", self._services.clock.now_ms() - self._taken_ms)
            self._taken_ms = None

    def close(self) -> None:
        """Note the end of the fetch: if it never had a turn, it waited for one all the time."""
        if self._began_ms is not None:
            self._observe("share_acquire_seconds", self._services.clock.now_ms() - self._began_ms)

    def _observe(self, histogram: str, duration_ms: int) -> None:
        self._services.observer.observe(histogram, duration_ms / 1000, self._group)
