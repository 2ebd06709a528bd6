"""What waits for an append of group records, and the append in the making. See `group_queue`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kproxy.errors import UnwritableStateRecord
from kproxy.statelog.group_log_fold import GroupLogFold
from kproxy.statelog.group_parts import (
    CurrentMemberAssignment,
    StatePartitionMetadata,
    TargetAssignmentMember,
)
from kproxy.statelog.group_records import (
    DecodedGroupRecord,
    GroupRecord,
    GroupTombstone,
    encode_group_record,
    encode_group_tombstone,
)
from kproxy.statelog.state_log_fold import Outcome
from kproxy.statelog.tickets import Ticket, size_within
from kproxy.wire.records import Record

MOST_RECORDS: Final = 500
"""How many records an append takes. It is made, and taken in, in one turn each: some 10 ms."""

MOST_BYTES: Final = 2**18
"""How large an append becomes that has several records: larger ones are more work."""

MOST_PARTITIONS: Final = 10_000
"""How many partitions stand in an append that has several records. Of as many topics they are encoded for 15 to 20 ms,
so what has no room by that is not encoded before there is."""


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A record to be written, and what it says."""

    record: Record
    says: GroupRecord | GroupTombstone


@dataclass(slots=True)
class WaitingGroup:
    """The latest operation on one subject, and everybody who waits for it or for one that it took the place of.

    `left` yields, from its first append to its last, what is not in any yet: nothing else writes of its subject
    meanwhile. `no_room` is what is encoded and had no room in the last one; `following` is not encoded, and comes next.
    """

    work: int
    """About how many records have to be compared or written for it."""
    left: Iterator[GroupRecord | GroupTombstone]
    tickets: list[Ticket]
    no_room: GroupChange | None = None
    following: GroupRecord | GroupTombstone | None = None

    @property
    def has_more(self) -> bool:
        """Whether something is left that goes into an append. Nothing is encoded to tell."""
        if self.no_room is None and self.following is None:
            self.following = next(self.left, None)
        return self.no_room is not None or self.following is not None

    @property
    def partition_count(self) -> int:
        """How many partitions are to be encoded of what goes into an append next."""
        return 0 if self.following is None else _partition_count(self.following)

    def next_change(self, claim_epoch: int) -> GroupChange:
        """Return what goes into an append next, where it `has_more`. Raises UnwritableStateRecord."""
        change, says = self.no_room, self.following
        self.no_room = self.following = None
        if change is None:
            assert says is not None, "nothing is left"
            change = GroupChange(_encoded(says, claim_epoch), says)
        return change


class GroupAppend:
    """An append in the making, then under way, and who is to be told of its end."""

    __slots__ = (
        "_bytes_left",
        "_claim_epoch",
        "_max_bytes",
        "_partitions_left",
        "changes",
        "subjects",
        "tickets",
    )

    def __init__(self, max_bytes: int, claim_epoch: int) -> None:
        self._max_bytes = max_bytes
        self._claim_epoch = claim_epoch
        self._bytes_left = min(max_bytes, MOST_BYTES)
        self._partitions_left = MOST_PARTITIONS
        self.changes: list[GroupChange] = []
        self.subjects: list[tuple[str, str]] = []
        """What was looked at for it, and may have a part in it."""
        self.tickets: list[Ticket] = []

    def takes(self, waiting: WaitingGroup, subject: str) -> bool:
        """Add what is left of `waiting` as far as there is room; tell whether that was all of it.

        Raises:
            UnwritableStateRecord: a record is too large for any append; none of `waiting` is in this one.
        """
        count, left = len(self.changes), (self._bytes_left, self._partitions_left)
        try:
            while waiting.has_more:
                change = self._next_with_room(waiting, subject)
                if change is None:
                    return False
                self.changes.append(change)
        except UnwritableStateRecord:
            del self.changes[count:]
            self._bytes_left, self._partitions_left = left
            raise
        return True

    def _next_with_room(self, waiting: WaitingGroup, subject: str) -> GroupChange | None:
        """Take what is next of `waiting`; None when there is no room for it."""
        partition_count = waiting.partition_count
        if self.changes and partition_count > self._partitions_left:
            return None
        change = waiting.next_change(self._claim_epoch)
        size_bytes = size_within(change.record, max_bytes=self._max_bytes, subject=subject)
        if self.changes and (size_bytes > self._bytes_left or len(self.changes) >= MOST_RECORDS):
            waiting.no_room = change
            return None
        self._bytes_left -= size_bytes
        self._partitions_left -= partition_count
        return change

    def replay_into(self, fold: GroupLogFold, base_offset: int) -> None:
        """Let `fold` be as the log is, with this in it from `base_offset` on."""
        for offset, change in enumerate(self.changes, base_offset):
            decoded = DecodedGroupRecord(change.says, self._claim_epoch)
            outcome = fold.replay_decoded(decoded, key=change.record.key or b"", offset=offset)
            assert outcome is Outcome.APPLIED, f"our own record at offset {offset} was {outcome.value}"


def _partition_count(says: GroupRecord | GroupTombstone) -> int:
    """Return how many partitions stand in a record. Names are encoded in no time."""
    match says:
        case CurrentMemberAssignment() | TargetAssignmentMember():
            return len(says.assigned)
        case StatePartitionMetadata():
            stages = (says.initializing, says.initialized, says.deleting)
            return sum(len(topic.partitions) for stage in stages for topic in stage.values())
        case _:
            return 0


def _encoded(says: GroupRecord | GroupTombstone, claim_epoch: int) -> Record:
    if isinstance(says, GroupTombstone):
        return encode_group_tombstone(says.key, claim_epoch=claim_epoch)
    return encode_group_record(says, claim_epoch=claim_epoch)
