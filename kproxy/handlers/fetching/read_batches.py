"""`ReadBatches`: the record batches that a read returned, each looked at once, and no more of them than are of use.

A mebibyte holds fifteen thousand batches of one small record. Of these a fetch acquires what its group's window has
room for; what lies behind is neither looked at nor judged.
"""

from collections.abc import Iterator
from typing import Final

from kproxy.errors import MalformedMessage
from kproxy.wire.record_batches import BatchExtent, walk_extents

_EXTENTS_OF_ONE: Final = 16
"""So many further batches of a read, or acquired ranges, are as much work as the look at another share-partition."""

MOST_UNCUT: Final = 32
"""Batches of a read that are looked at in one piece: some 20 microseconds."""

LEAST_WORK_IF_CUT: Final = 1 + MOST_UNCUT // _EXTENTS_OF_ONE
"""`ReadBatches.work` of so many."""


class ReadBatches:
    """The whole batches at the beginning of `records`, which a read from `fetch_offset` returned.

    They reach to the batch with the last of `offset_count` offsets, counted from `fetch_offset`, or from the first
    batch where that begins above. There is at least one where `records` begin with one. Where `most` are given, these
    are no more than so many until `look_on`.
    """

    __slots__ = (
        "_fetch_offset",
        "_offset_count",
        "_rest",
        "acquired_range_count",
        "extents",
        "malformed",
        "records",
    )

    def __init__(
        self, records: memoryview, fetch_offset: int, offset_count: int, *, most: int | None = None
    ) -> None:
        self.records = records
        self.extents: list[BatchExtent] = []
        """In ascending order."""
        self.acquired_range_count = 0
        """How many ranges were acquired from them: very many in a window of which every other record is done with."""
        self.malformed = ""
        """Why the batch behind them is none of format v2; empty when it is one, or was not looked at."""
        self._rest: Iterator[BatchExtent] | None = None
        self._look_at(walk_extents(records), fetch_offset, offset_count, most)

    def _look_at(
        self, unseen: Iterator[BatchExtent], fetch_offset: int, offset_count: int, most: int | None
    ) -> None:
        extents = self.extents
        try:
            for extent in unseen:
                extents.append(extent)
                if extent.last_offset - max(extents[0].first_offset, fetch_offset) + 1 >= offset_count:
                    return
                if len(extents) == most:
                    self._rest, self._fetch_offset, self._offset_count = unseen, fetch_offset, offset_count
                    return
        except MalformedMessage as malformed:
            self.malformed = str(malformed)

    @property
    def is_cut(self) -> bool:
        """Whether there may be more to look at (`look_on`)."""
        return self._rest is not None

    def look_on(self) -> int:
        """Look at all that is left; return how much work that was (`work`)."""
        unseen, self._rest = self._rest, None
        if unseen is None:
            return 0
        work_before = self.work
        self._look_at(unseen, self._fetch_offset, self._offset_count, None)
        return self.work - work_before

    @property
    def work(self) -> int:
        """How much work they are, where one batch of a share-partition counts as 1 (`Pace`)."""
        return 1 + (len(self.extents) + self.acquired_range_count) // _EXTENTS_OF_ONE

    @property
    def is_corrupt(self) -> bool:
        """Whether there is not one that could be delivered, because the first is none of format v2."""
        return bool(self.malformed) and not self.extents

    @property
    def size_bytes(self) -> int:
        """The size of the batches in `extents`; they lie side by side."""
        return self.extents[-1].position + self.extents[-1].size_bytes if self.extents else 0

    @property
    def offset_count(self) -> int:
        """How many offsets the batches in `extents` span."""
        return sum(extent.last_offset - extent.first_offset + 1 for extent in self.extents)

    def bytes_in_log(self, end_offset: int) -> int:
        """Return how many bytes the log has from the first batch to `end_offset` (exclusive); 0 without a batch.

        What was not looked at is taken to be like what was.
        """
        if not self.extents:
            return 0
        unseen_count = max(end_offset - self.extents[-1].last_offset - 1, 0)
        return self.size_bytes + unseen_count * self.size_bytes // self.offset_count
