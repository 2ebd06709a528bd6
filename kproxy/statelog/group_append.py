"""What waits for an append of group records, and the append in the making. See `group_queue`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kproxy.errors import UnwritableStateRecord
from kproxy.statelog.group_log_fold import GroupLogFold
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


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A record to be written, and what it says."""

    record: Record
    says: GroupRecord | GroupTombstone


@dataclass(slots=True)
class WaitingGroup:
    """The latest operation on one subject, and everybody who waits for it or for one that it took the place of.

    `left` yields, from its first append to its last, what is not in any yet: nothing else writes of its subject
    meanwhile. `no_room` is what is encoded and had no room in the last one.
    """

    work: int
    """About how many records have to be compared or written for it."""
    left: Iterator[GroupRecord | GroupTombstone]
    tickets: list[Ticket]
    no_room: GroupChange | None = None

    def next_change(self, claim_epoch: int) -> GroupChange | None:
        """Return what goes into an append next, None when nothing is left. Raises UnwritableStateRecord."""
        change, self.no_room = self.no_room, None
        if change is None and (says := next(self.left, None)) is not None:
            change = GroupChange(_encoded(says, claim_epoch), says)
        return change


class GroupAppend:
    """An append in the making, then under way, and who is to be told of its end."""

    __slots__ = ("_bytes_left", "_claim_epoch", "_max_bytes", "changes", "subjects", "tickets")

    def __init__(self, max_bytes: int, claim_epoch: int) -> None:
        self._max_bytes = max_bytes
        self._claim_epoch = claim_epoch
        self._bytes_left = min(max_bytes, MOST_BYTES)
        self.changes: list[GroupChange] = []
        self.subjects: list[tuple[str, str]] = []
        """What was looked at for it, and may have a part in it."""
        self.tickets: list[Ticket] = []

    def takes(self, waiting: WaitingGroup, subject: str) -> bool:
        """Add what is left of `waiting` as far as there is room; tell whether that was all of it.

        Raises:
            UnwritableStateRecord: a record is too large for any append; none of `waiting` is in this one.
        """
        count, bytes_left = len(self.changes), self._bytes_left
        try:
            while (change := waiting.next_change(self._claim_epoch)) is not None:
                if not self._has_room_for(change, subject):
                    waiting.no_room = change
                    return False
                self.changes.append(change)
        except UnwritableStateRecord:
            del self.changes[count:]
            self._bytes_left = bytes_left
            raise
        return True

    def _has_room_for(self, change: GroupChange, subject: str) -> bool:
        size_bytes = size_within(change.record, max_bytes=self._max_bytes, subject=subject)
        if self.changes and (size_bytes > self._bytes_left or len(self.changes) >= MOST_RECORDS):
            return False
        self._bytes_left -= size_bytes
        return True

    def replay_into(self, fold: GroupLogFold, base_offset: int) -> None:
        """Let `fold` be as the log is, with this in it from `base_offset` on."""
        for offset, change in enumerate(self.changes, base_offset):
            decoded = DecodedGroupRecord(change.says, self._claim_epoch)
            outcome = fold.replay_decoded(decoded, key=change.record.key or b"", offset=offset)
            assert outcome is Outcome.APPLIED, f"our own record at offset {offset} was {outcome.value}"


def _encoded(says: GroupRecord | GroupTombstone, claim_epoch: int) -> Record:
    if isinstance(says, GroupTombstone):
        return encode_group_tombstone(says.key, claim_epoch=claim_epoch)
    return encode_group_record(says, claim_epoch=claim_epoch)
