"""`Stuck`: records that hold the start offset back, or are about to reach the delivery limit, of rows of a log. Pure.

The answer is that of `kproxy replay stuck`, which Spark computes. What is open is told by the fold of the log.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kproxy.clients.admin_port import Item
from kproxy.clients.history.changes import event_of, is_applied, is_change, time_text
from kproxy.clients.history.selection import Selected, ShareRow, share_partition_of
from kproxy.clients.history.silver_rows import SilverRow
from kproxy.clients.log_ranges import Leaderless, PartitionEnd, TopicEnd
from kproxy.share.identifiers import SharePartitionKey, topic_id_text
from kproxy.share.record_state import UNDELIVERABLE_STATES
from kproxy.statelog.durable_state import DurableShareState

BLOCKS: Final = "blocks-start-offset"
NEAR: Final = "near-delivery-limit"
WAITING: Final = "no-progress"


@dataclass(slots=True)
class _Progress:
    """The furthest that a share-partition got, in offsets done with, and when it did first."""

    done: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class _Open:
    """A record that is not done with."""

    offset: int
    reason: str
    delivery_count: int = 0
    done_behind: int = 0
    lag: int | None = None
    stood_since_ms: int | None = None


@dataclass(slots=True)
class Stuck:
    """Takes the rows of a log in order; then tells which records are stuck, given the states that the log leads to.

    Args:
        selected: the part of the log.
        deliveries: so many, or more, are near the limit.
        behind: so many records done with, or more, wait behind one that blocks.
        since_ms: where the histories of records begin.
    """

    selected: Selected
    deliveries: int
    behind: int
    since_ms: int = 0
    unknown_ends: dict[tuple[str, int], Leaderless | None] = field(default_factory=dict)
    """By topic id and partition, after `records`: where queues made no progress of which nobody says the end.

    None where the topic has no name that somebody could be asked for.
    """
    _changes: dict[ShareRow, list[SilverRow]] = field(default_factory=dict)
    _progress: dict[ShareRow, _Progress] = field(default_factory=dict)

    def take(self, row: SilverRow) -> None:
        """Look at the next row."""
        if not self.selected.takes(row) or not is_applied(row):
            return
        key = share_partition_of(row)
        assert key is not None
        if row["kind"] == "tombstone":
            self._progress.pop(key, None)
            self._changes.pop(key, None)
            return
        if is_change(row):
            self._changes.setdefault(key, []).append(row)
        start_offset = row.get("start_offset")
        if start_offset is None or start_offset < 0:
            return
        done = start_offset + max(row["delivery_complete_count"], 0)
        known = self._progress.get(key)
        if known is None or done > known.done:
            self._progress[key] = _Progress(done, row["log_ts_ms"])

    def records(
        self,
        states: Mapping[SharePartitionKey, DurableShareState],
        ends: Mapping[tuple[str, int], PartitionEnd],
        *,
        quiet_since_ms: int,
        place: str,
    ) -> Sequence[Item]:
        """Return what is stuck, by group, topic, partition and offset.

        `ends` are those of the consumed topics, by topic id and partition, as far as they are known, with where they
        were at `quiet_since_ms`. Raises NotThere for names that the log, `place` in words, does not have.
        """
        self.selected.require_known(place)
        shown = []
        for key, state in states.items():
            row = key.group_id, topic_id_text(key.topic_id), key.partition
            if state.start_offset < 0 or not self.selected.takes_key(*row):
                continue
            found = self._open_records(row, state, ends, quiet_since_ms)
            shown += [self._shown(row, each) for each in found]
        return sorted(shown, key=_order)

    def _open_records(
        self,
        row: ShareRow,
        state: DurableShareState,
        ends: Mapping[tuple[str, int], PartitionEnd],
        quiet_since_ms: int,
    ) -> Iterator[_Open]:
        first_open, done_behind = _first_open(state)
        counts = dict(_near(state, self.deliveries))
        reasons = {offset: [NEAR] for offset in counts}
        if done_behind >= self.behind:
            reasons.setdefault(first_open, []).insert(0, BLOCKS)
        lag, stood_since_ms = self._waiting(row, ends, quiet_since_ms)
        if stood_since_ms is not None:
            reasons.setdefault(first_open, []).append(WAITING)
        count_of_first = _count_at(state, first_open)
        for offset in sorted(reasons):
            is_first = offset == first_open
            yield _Open(
                offset,
                ",".join(reasons[offset]),
                counts.get(offset, count_of_first),
                done_behind if is_first and done_behind >= self.behind else 0,
                lag if is_first else None,
                stood_since_ms if is_first else None,
            )

    def _waiting(
        self, row: ShareRow, ends: Mapping[tuple[str, int], PartitionEnd], quiet_since_ms: int
    ) -> tuple[int | None, int | None]:
        """Return the lag of a queue that stands still before older records, and since when; None for any other."""
        progress, place = self._progress.get(row), row[1:]
        if progress is None or progress.since_ms > quiet_since_ms:
            return None, None
        match ends.get(place):
            case Leaderless() as leaderless:
                self.unknown_ends[place] = leaderless
            case None if row[1] not in self.selected.names:
                self.unknown_ends[place] = None
            case TopicEnd() as end if progress.done < end.earlier_end_offset:
                return end.end_offset - progress.done, progress.since_ms
        return None, None

    def _shown(self, row: ShareRow, found: _Open) -> Item:
        group, topic_id, partition = row
        changes = [
            change
            for change in self._changes.get(row, ())
            if change["first_offset"] <= found.offset <= change["last_offset"]
        ]
        since_ms = min((change["log_ts_ms"] for change in changes), default=found.stood_since_ms)
        history = sorted(
            (change for change in changes if change["log_ts_ms"] >= self.since_ms),
            key=lambda change: int(change["log_offset"]),
        )
        return {
            "groupId": group,
            "topicId": topic_id,
            "topicName": self.selected.names.get(topic_id),
            "partition": partition,
            "offset": found.offset,
            "reason": found.reason,
            "deliveryCount": found.delivery_count,
            "doneBehind": found.done_behind,
            "lag": found.lag,
            "since": None if since_ms is None else time_text(since_ms),
            "history": [_entry(change) for change in history],
        }


def _first_open(state: DurableShareState) -> tuple[int, int]:
    """Return the first offset that is not done with, and how many behind it are."""
    offset, done_behind = state.start_offset, 0
    for batch in state.state_batches:
        if batch.state not in UNDELIVERABLE_STATES:
            continue
        if batch.first_offset == offset and not done_behind:
            offset = batch.last_offset + 1
        else:
            done_behind += batch.last_offset - batch.first_offset + 1
    return offset, done_behind


def _near(state: DurableShareState, deliveries: int) -> Iterator[tuple[int, int]]:
    """Yield the offsets that were delivered so often, or more often, and are not done with; each with its count."""
    for batch in state.state_batches:
        if batch.state not in UNDELIVERABLE_STATES and batch.delivery_count >= deliveries:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                yield offset, batch.delivery_count


def _count_at(state: DurableShareState, offset: int) -> int:
    covering = (each for each in state.state_batches if each.first_offset <= offset <= each.last_offset)
    return next((batch.delivery_count for batch in covering), 0)


def _entry(change: SilverRow) -> Item:
    return {
        "logOffset": change["log_offset"],
        "time": time_text(change["log_ts_ms"]),
        "event": event_of(change),
        "deliveryCount": change.get("delivery_count"),
        "memberId": change.get("member"),
        "clientId": change.get("client_id"),
    }


def _order(record: Item) -> tuple[object, ...]:
    name = record["topicName"]
    return record["groupId"], record["topicId"], record["partition"], record["offset"], name or ""
