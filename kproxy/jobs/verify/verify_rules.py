"""Invariants of each record of the log, given the records before it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kproxy.clients.history.folded_records import FoldedRecord, folded
from kproxy.jobs.folds.offsets_read import OffsetsRead
from kproxy.jobs.verify.write_rules import (
    impossible_writes,
    offsets_passed_over,
    overlaps,
    too_often,
    uncounted_offsets,
)
from kproxy.share.identifiers import SharePartitionKey
from kproxy.statelog.claims import FIRST_FORMAT_BY_GROUP
from kproxy.statelog.partitioning import group_partition, spread_partition
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_records import Claim, ShareSnapshot, ShareUpdate
from kproxy.wire.records import Record
from kproxy.wording import counted

VIOLATION = "violation"
"""No kproxy writes such a record."""
NOTICE = "notice"
"""Possible, and worth a look.

A superseded owner wrote once more, and every fold ignores that. Offsets of the log are missing, as in a dump of parts
of it. A share-partition's start offset or count includes offsets of its topic that no record of the log has in a
terminal state: they hold no record, or no longer do, or a group that reads committed records was not given them.
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """A violation or a notice at a log offset; `key` is None for a record that cannot be decoded."""

    what: str
    offset: int
    key: SharePartitionKey | None
    detail: str


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Which log partition is examined, of how many."""

    partition: int
    partition_count: int


class Examiner:
    """Folds one log partition, and examines each record. Corrupt records are skipped.

    Only with a `place` it checks that a share-partition belongs into the log partition: by the format in the last
    claim, and in any format's way as long as there is none, as in a log whose beginning was deleted. Problems that
    would repeat with every record are reported once: a share-partition in the wrong log partition, a claim without its
    record, and each notice about the offsets of a share-partition.
    """

    def __init__(self, fold: StateLogFold, delivery_limit: int, place: LogPlace | None = None) -> None:
        self.fold = fold
        """Skips corrupt records."""
        self.record_count = 0
        self._delivery_limit = delivery_limit
        self._place = place
        self._read = OffsetsRead()
        self._claims: set[int] = set()
        self._reported: set[tuple[str, SharePartitionKey]] = set()
        self._format: int | None = None

    def examine(self, record: Record) -> Iterator[Problem]:
        """Yield what is wrong with the next record, and fold it."""
        self.record_count += 1
        missing = self._read.take(record.offset)
        found = folded(record, self.fold)
        if missing:
            yield Problem(
                NOTICE, record.offset, None, f"offsets {missing[0]}-{missing[-1]} before it are missing"
            )
        if found.outcome is None:
            yield Problem(VIOLATION, record.offset, found.key, found.error)
        for what, detail in self._complaints(found, record.offset):
            yield Problem(what, record.offset, found.key, detail)

    def orphans(self) -> Iterator[Problem]:
        """Yield, at the end, the share-partitions that have updates but no snapshot."""
        for key, offset in self.fold.image().orphans.items():
            yield Problem(VIOLATION, offset, key, "updates without a snapshot before or after them")

    def _complaints(self, found: FoldedRecord, offset: int) -> Iterator[tuple[str, str]]:
        if isinstance(found.record, Claim):
            self._format = found.record.format_version
        if found.record is None or isinstance(found.record, Claim):
            self._claims.add(offset)  # A record that cannot be decoded may have been a claim.
            return
        yield from self._complaints_about_claim(found, offset)
        yield from self._complaints_about_place(found.record.key)
        if found.outcome is Outcome.APPLIED and isinstance(found.record, ShareSnapshot | ShareUpdate):
            yield from self._complaints_about_values(found, found.record)

    def _complaints_about_claim(self, found: FoldedRecord, offset: int) -> Iterator[tuple[str, str]]:
        claim_epoch = found.claim_epoch
        if found.outcome is Outcome.IGNORED_UNCLAIMED:
            yield VIOLATION, "written by nobody who claimed the log partition"
        elif found.outcome is Outcome.IGNORED_STALE_CLAIM:
            yield NOTICE, f"written under claim {claim_epoch}, when {self.fold.claim_epoch} was in force"
        if claim_epoch is None or claim_epoch in self._claims or not claim_epoch < offset:
            return
        if self._read.holds(claim_epoch):
            self._claims.add(claim_epoch)
            yield VIOLATION, f"written under claim {claim_epoch}, and the record at that offset is no claim"

    def _complaints_about_place(self, key: SharePartitionKey) -> Iterator[tuple[str, str]]:
        place = self._place
        if place is None:
            return
        belongs_to = _places_of(key, place.partition_count, self._format)
        if place.partition not in belongs_to and self._is_new("place", key):
            yield VIOLATION, f"belongs to log partition {belongs_to[0]} of {place.partition_count}"

    def _complaints_about_values(
        self, found: FoldedRecord, record: ShareSnapshot | ShareUpdate
    ) -> Iterator[tuple[str, str]]:
        for detail in (
            *overlaps(record.state_batches),
            *too_often(record.state_batches, self._delivery_limit),
        ):
            yield VIOLATION, detail
        if found.claim_epoch is None:
            return  # It was imported, perhaps from another implementation.
        after = self.fold.states[record.key]
        for detail in impossible_writes(record, found.actors, found.before, after):
            yield VIOLATION, detail
        passed = offsets_passed_over(record, found.actors, found.before)
        if passed and self._is_new("passed", record.key):
            yield (
                NOTICE,
                f"passes {counted(passed, 'offset')}, by start offset {record.start_offset}, that nobody was done with",
            )
        uncounted = uncounted_offsets(record, after)
        if uncounted and self._is_new("uncounted", record.key):
            count = record.delivery_complete_count
            yield (
                NOTICE,
                f"delivery-complete count {count}, {uncounted} more than there are offsets in the log",
            )

    def _is_new(self, what: str, key: SharePartitionKey) -> bool:
        """Return whether this is the first such problem of the share-partition."""
        if (what, key) in self._reported:
            return False
        self._reported.add((what, key))
        return True


def _places_of(key: SharePartitionKey, partition_count: int, format_version: int | None) -> Sequence[int]:
    """Return where the state of `key` may stand in a log of that format: in one partition when it is known."""
    by_group = group_partition(key.group_id, partition_count)
    if format_version is None:
        return by_group, spread_partition(key, partition_count)
    return (by_group if format_version >= FIRST_FORMAT_BY_GROUP else spread_partition(key, partition_count),)
