"""When the fetch of a wide session begins, goes on and ends: of many that do so together, not all in one turn.

Nor do those end so that have acquired very many ranges, or are very many small batches looked at that came together.

What wakes one of them for all that it has, as a lost slot, wakes all of its group.
"""

from collections.abc import Awaitable
from typing import Final

from kproxy.errors import ShareSessionNotFound
from kproxy.handlers.fetching.read_batches import LEAST_WORK_IF_CUT
from kproxy.handlers.live.pauses import MOST_AT_FIRST, MOST_AT_ONCE, SharedStart, let_others_go_on

MOST_BEGUN: Final = 4_000
"""Partitions of wide sessions whose fetches begin without a pause between them: some 6 ms until each first waits."""

MOST_LOOKED_AT: Final = MOST_AT_ONCE
"""Work (`ReadBatches.work`) of looks at many batches of reads that come without a pause between them: some 6 ms."""


class FetchStarts:
    """All fetches of a process that begin, or go on, with a look at very many partitions."""

    __slots__ = ("_start",)

    def __init__(self, most: int | None = None) -> None:
        self._start = SharedStart(MOST_BEGUN if most is None else most)

    async def begin(self, partition_count: int) -> None:
        """Return when a fetch may look at so many: at once where they are few, or others have begun with few."""
        if partition_count >= MOST_AT_FIRST and self._start.is_over(partition_count):
            await let_others_go_on()


def batch_looks() -> SharedStart:
    """Return what all fetches of a process share that look at the batches of reads, as far as these are many."""
    return SharedStart(MOST_LOOKED_AT, least=LEAST_WORK_IF_CUT)


class FetchEnds:
    """All fetches of a process that leave very many partitions at their end: that takes twice as long as to begin."""

    __slots__ = ("_answers", "_turns")

    def __init__(self) -> None:
        self._turns, self._answers = FetchStarts(MOST_BEGUN // 2), FetchStarts(MOST_BEGUN // 2)

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

    async def answer(self, told_count: int) -> None:
        """Return when the answer of a fetch may be made that tells of so many partitions and acquired ranges.

        It has left all partitions. A range is as much work as a partition: it is told, looked up again, and encoded.
        """
        await self._answers.begin(told_count)
