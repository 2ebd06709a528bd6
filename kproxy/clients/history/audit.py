"""`Audit`: everything that happened to a record, and everything that a member did, of rows of a log. Pure.

The answer is that of `kproxy replay audit`, which Spark computes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kproxy.clients.admin_port import Item
from kproxy.clients.failures import NotThere
from kproxy.clients.history.changes import ended_by, event_of, is_applied, is_change, time_text
from kproxy.clients.history.selection import Selected, ShareRow, share_partition_of
from kproxy.clients.history.silver_rows import SilverRow
from kproxy.clients.nearest_names import nearest_names
from kproxy.statelog.actors import Cause, OffsetRange

PASSED: Final = "start-offset-passed"
"""The event of the first log record whose start offset lies above the record: it is not delivered any more."""

_LIFECYCLE: Final = frozenset(
    {Cause.INITIALIZE.value, Cause.ALTER_OFFSETS.value, Cause.DELETE.value, "tombstone"}
)


@dataclass(slots=True)
class Audit:
    """Takes the rows of a log in order, those of one log partition after those of another, and tells the events.

    Args:
        selected: the part of the log.
        offset: of the record; None for any.
        member: a member id or a client id; None for anybody.
        since_ms, until_ms: of the log's time; the second is exclusive.
    """

    selected: Selected
    offset: int | None = None
    member: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    _found: list[tuple[SilverRow, str]] = field(default_factory=list)
    _passings: dict[tuple[ShareRow, int], SilverRow] = field(default_factory=dict)
    _lifecycle: dict[tuple[ShareRow, int], SilverRow] = field(default_factory=dict)
    _members: set[str] = field(default_factory=set)
    _told_of: OffsetRange | None = None
    """The lowest and the highest offset that anything happened to, of the selected part."""

    def take(self, row: SilverRow) -> None:
        """Look at the next row."""
        if not self.selected.takes(row):
            return
        who = {str(name) for name in (row.get("member"), row.get("client_id")) if name is not None}
        self._members |= who
        is_in_time = (self.since_ms is None or row["log_ts_ms"] >= self.since_ms) and (
            self.until_ms is None or row["log_ts_ms"] < self.until_ms
        )
        if not is_in_time or self.member not in (None, *who):
            return
        if is_change(row):
            self._note_offsets(row)
        if is_change(row) and (
            self.offset is None or row["first_offset"] <= self.offset <= row["last_offset"]
        ):
            self._found.append((row, event_of(row)))
        if self.offset is not None and self.member is None and is_applied(row):
            self._take_lifecycle(row, self.offset)

    def events(self, place: str) -> Sequence[Item]:
        """Return the events in order. Raises NotThere for names that the log, `place` in words, does not have."""
        self.selected.require_known(place)
        if self.member is not None and self.member not in self._members:
            raise NotThere(
                f"there is no member or client {self.member!r} in {place}, which has those that acknowledged something "
                "or lost a lock: one that only acquired records is not there (kproxy in-flight list shows who holds "
                f"what now); {nearest_names(self.member, self._members)}"
            )
        passings = [row for row in self._passings.values() if not _is_lifecycle(row)]
        shown = [self._shown(row, event, is_of_record=True) for row, event in self._found]
        shown += [self._shown(row, PASSED, is_of_record=False) for row in passings]
        shown += [
            self._shown(row, row.get("cause") or row["kind"], is_of_record=False)
            for row in self._lifecycle.values()
        ]
        return sorted(shown, key=_order)

    def missing_offset(self) -> str:
        """Return what to say if nothing happened to the record that is asked about; empty if something did."""
        if self.offset is None or self._found:
            return ""
        nearest = (
            "" if self._told_of is None else f"; it tells of offsets {self._told_of[0]} to {self._told_of[1]}"
        )
        return f"nothing happened to offset {self.offset} that the log tells of{nearest}"

    def _note_offsets(self, row: SilverRow) -> None:
        low, high = self._told_of or (row["first_offset"], row["last_offset"])
        self._told_of = min(low, row["first_offset"]), max(high, row["last_offset"])

    def _take_lifecycle(self, row: SilverRow, offset: int) -> None:
        share_partition = share_partition_of(row)
        assert share_partition is not None
        if _is_lifecycle(row):
            self._lifecycle.setdefault((share_partition, row["log_offset"]), row)
        start_offset, epoch = row.get("start_offset"), row.get("state_epoch")
        if start_offset is not None and epoch is not None and start_offset > offset:
            first = self._passings.get((share_partition, epoch))
            if first is None or _place(row) < _place(first):
                self._passings[share_partition, epoch] = row

    def _shown(self, row: SilverRow, event: str, *, is_of_record: bool) -> Item:
        of_record = (
            (ended_by(row), row["first_offset"], row["last_offset"], row.get("delivery_count"))
            if is_of_record
            else (None, None, None, None)
        )
        return {
            "time": time_text(row["log_ts_ms"]),
            "groupId": row["group"],
            "topicId": row["topic_id"],
            "topicName": self.selected.names.get(row["topic_id"]),
            "partition": row["partition"],
            "event": event,
            **dict(zip(("endedBy", "firstOffset", "lastOffset", "deliveryCount"), of_record, strict=True)),
            "startOffset": row.get("start_offset"),
            "memberId": row.get("member"),
            "clientId": row.get("client_id"),
            "clientHost": row.get("client_host"),
            "reason": row.get("reason"),
            "logPartition": row["log_partition"],
            "logOffset": row["log_offset"],
        }


def _is_lifecycle(row: SilverRow) -> bool:
    return (row.get("cause") or row["kind"]) in _LIFECYCLE


def _place(row: SilverRow) -> tuple[int, int]:
    first_offset = row.get("first_offset")
    return row["log_offset"], -1 if first_offset is None else first_offset


def _order(event: Item) -> tuple[object, ...]:
    first_offset = event["firstOffset"]
    place = event["logPartition"], event["logOffset"], -1 if first_offset is None else first_offset
    return event["time"], *place, event["event"]
