"""When the fetch of a wide session begins, and ends: of many that do so together, not all in one turn of the loop."""

from collections.abc import Awaitable
from typing import Final

from kproxy.errors import ShareSessionNotFound
from kproxy.handlers.live.pauses import MOST_AT_FIRST, SharedStart, let_others_go_on

MOST_BEGUN: Final = 4_000
"""Partitions of wide sessions whose fetches begin without a pause between them: some 6 ms until each first waits."""


class FetchStarts:
    """All fetches of a process that begin with a look at very many partitions."""

    __slots__ = ("_start",)

    def __init__(self) -> None:
        self._start = SharedStart(MOST_BEGUN)

    async def begin(self, partition_count: int) -> None:
        """Return when a fetch of so many may begin: at once where they are few, or others have begun with few."""
        if partition_count >= MOST_AT_FIRST and self._start.is_over(partition_count):
            await let_others_go_on()


class FetchEnds:
    """All fetches of a process that leave very many partitions at their end: what takes about as long as to begin."""

    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns = FetchStarts()

    async def after(self, fetch: Awaitable[None], partition_count: int) -> None:
        """Wait for `fetch`, and then until one of so many partitions may end.

        Raises:
            ShareSessionNotFound: `fetch` did.
        """
        try:
            await fetch
        except ShareSessionNotFound:  # also of very many: they were on one connection, or of one slot
            await self._turns.begin(partition_count)
            raise
        await self._turns.begin(partition_count)
