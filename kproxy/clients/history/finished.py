"""`FinishedRecords`: records that are done with, what ended them, and who had them last, of rows of a log. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop

from kproxy.clients.admin_port import Item
from kproxy.clients.history.changes import ended_by, event_of, is_change, time_text
from kproxy.clients.history.selection import Selected, ShareRow, share_partition_of
from kproxy.clients.history.silver_rows import SilverRow
from kproxy.statelog.actors import OffsetRange, parts_outside

_Holder = tuple[str | None, str | None]
"""Member id and client id."""
_NOBODY: _Holder = (None, None)


@dataclass(slots=True)
class FinishedRecords:
    """Takes the rows of a log in order, and keeps the newest `most` runs of records that ended as one of `ends`.

    Who had a record last is who ended it; where that was an operator, the member that it was taken from, or the last
    one that gave it back, as far as the log tells.
    """

    selected: Selected
    ends: Collection[str]
    most: int
    since_ms: int = 0
    dropped_count: int = 0
    """How many older runs were found, and forgotten again."""
    _found: list[tuple[int, int, Item]] = field(default_factory=list)
    """A heap: by time, and then in the order in which they were read."""
    _count: int = 0
    _gave_back: dict[ShareRow, list[tuple[OffsetRange, _Holder]]] = field(default_factory=dict)

    def take(self, row: SilverRow) -> None:
        """Look at the next row."""
        if not self.selected.takes(row) or not is_change(row):
            return
        share_partition = share_partition_of(row)
        assert share_partition is not None
        span, end = (row["first_offset"], row["last_offset"]), ended_by(row)
        holder: _Holder = (row.get("member"), row.get("client_id"))
        before = self._without(share_partition, span)
        if end is None:
            if holder != _NOBODY and row.get("state") is not None:
                self._gave_back[share_partition].append((span, holder))
            return
        if end in self.ends and row["log_ts_ms"] >= self.since_ms:
            for part, last in [(span, holder)] if holder != _NOBODY else _parts(span, before):
                self._keep(row, end, part, last)

    def runs(self, place: str) -> Sequence[Item]:
        """Return the runs, the newest first. Raises NotThere for names that the log, `place` in words, has not."""
        self.selected.require_known(place)
        return [run for _, _, run in sorted(self._found, key=lambda each: each[:2], reverse=True)]

    def _without(self, key: ShareRow, span: OffsetRange) -> list[tuple[OffsetRange, _Holder]]:
        """Forget who gave back what is in `span`; return that, by rising offset."""
        kept, taken = [], []
        for (first, last), holder in self._gave_back.get(key, ()):
            if last < span[0] or first > span[1]:
                kept.append(((first, last), holder))
                continue
            taken.append(((max(first, span[0]), min(last, span[1])), holder))
            kept += [(part, holder) for part in parts_outside((first, last), [span])]
        self._gave_back[key] = kept
        return sorted(taken, key=lambda each: each[0])

    def _keep(self, row: SilverRow, end: str, span: OffsetRange, holder: _Holder) -> None:
        self._count += 1
        run = {
            "time": time_text(row["log_ts_ms"]),
            "groupId": row["group"],
            "topicId": row["topic_id"],
            "topicName": self.selected.names.get(row["topic_id"]),
            "partition": row["partition"],
            "firstOffset": span[0],
            "lastOffset": span[1],
            "endedBy": end,
            "event": event_of(row),
            "deliveryCount": row.get("delivery_count"),
            "memberId": holder[0],
            "clientId": holder[1],
            "reason": row.get("reason"),
            "logPartition": row["log_partition"],
            "logOffset": row["log_offset"],
        }
        found = (row["log_ts_ms"], self._count, run)
        if len(self._found) < self.most:
            heappush(self._found, found)
        else:
            heappushpop(self._found, found)
            self.dropped_count += 1


def _parts(
    span: OffsetRange, before: Sequence[tuple[OffsetRange, _Holder]]
) -> list[tuple[OffsetRange, _Holder]]:
    """Return `span` in parts, each with who gave it back last; nobody where the log does not tell."""
    untold = parts_outside(span, [part for part, _ in before])
    return sorted([*before, *((part, _NOBODY) for part in untold)], key=lambda each: each[0])
