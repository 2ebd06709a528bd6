"""Who stands behind a write of share-partition state, range by range: what the state log keeps for the audit."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kproxy.share.identifiers import MemberId
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartitionView
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause

OffsetRange: TypeAlias = tuple[int, int]
"""First and last offset, both inclusive."""


@dataclass(frozen=True, slots=True)
class Client:
    """How a member shows itself; empty texts when nobody knows. The host is in Java's form (`/127.0.0.1`)."""

    client_id: str = ""
    client_host: str = ""


UNKNOWN_CLIENT = Client()


@dataclass(frozen=True, slots=True)
class Holder:
    """A member that holds a run of records, both ends inclusive."""

    first_offset: int
    last_offset: int
    member_id: MemberId


def acknowledged_by(member_id: MemberId, client: Client, delta: StateDelta) -> tuple[Actor, ...]:
    """Return the one actor of an acknowledgement, whatever became of the records."""
    ranges = _joined((batch.first_offset, batch.last_offset) for batch in delta.batches)
    return (Actor(Cause.ACKNOWLEDGE, member_id, client.client_id, client.client_host, ranges),)


def released_by(member_id: MemberId, client: Client, delta: StateDelta) -> tuple[Actor, ...]:
    """Return the actors of a session that ended: its member, or the delivery limit where that was reached."""
    ranges: dict[Cause, list[OffsetRange]] = {Cause.SESSION_CLOSE: [], Cause.DELIVERY_LIMIT: []}
    for batch in delta.batches:
        cause = _cause(batch, otherwise=Cause.SESSION_CLOSE)
        ranges[cause].append((batch.first_offset, batch.last_offset))
    return tuple(
        Actor(cause, member_id, client.client_id, client.client_host, _joined(of_cause))
        for cause, of_cause in ranges.items()
        if of_cause
    )


def holders_due(view: SharePartitionView, now_ms: int) -> tuple[Holder, ...]:
    """Return, ascending, who is about to lose records because their lock ends by `now_ms`."""
    return tuple(
        Holder(run.first_offset, run.last_offset, run.member_id)
        for run in view.ranges
        if run.member_id is not None and run.lock_deadline_ms is not None and run.lock_deadline_ms <= now_ms
    )


def timed_out(holders: Sequence[Holder], delta: StateDelta) -> tuple[Actor, ...]:
    """Return the actors of locks that ended: for each member the lock timeout, or the delivery limit.

    `holders` are those from before the locks ended.
    """
    ranges: dict[tuple[Cause, MemberId], list[OffsetRange]] = {}
    for holder, batch in _overlaps(holders, delta.batches):
        cause = _cause(batch, otherwise=Cause.LOCK_TIMEOUT)
        ranges.setdefault((cause, holder.member_id), []).append(
            (
                max(holder.first_offset, batch.first_offset),
                min(holder.last_offset, batch.last_offset),
            )
        )
    return tuple(
        Actor(cause, member_id, offset_ranges=_joined(of_member))
        for (cause, member_id), of_member in ranges.items()
    )


def log_start_moved() -> tuple[Actor, ...]:
    """Return the actor of a start offset that the log overtook: nobody, and no range of its own."""
    return (Actor(Cause.LOG_START_MOVED),)


def _cause(batch: StateBatch, *, otherwise: Cause) -> Cause:
    """A record that is taken back is archived for one reason only."""
    return Cause.DELIVERY_LIMIT if batch.state is RecordState.ARCHIVED else otherwise


def _overlaps(
    holders: Sequence[Holder], batches: Sequence[StateBatch]
) -> Iterator[tuple[Holder, StateBatch]]:
    """Yield which holder and which batch have offsets in common; both are ascending and disjoint."""
    holder_index = batch_index = 0
    while holder_index < len(holders) and batch_index < len(batches):
        holder, batch = holders[holder_index], batches[batch_index]
        if max(holder.first_offset, batch.first_offset) <= min(holder.last_offset, batch.last_offset):
            yield holder, batch
        if holder.last_offset <= batch.last_offset:
            holder_index += 1
        else:
            batch_index += 1


def _joined(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    joined: list[OffsetRange] = []
    for first_offset, last_offset in ranges:
        if joined and joined[-1][1] + 1 == first_offset:
            joined[-1] = (joined[-1][0], last_offset)
        else:
            joined.append((first_offset, last_offset))
    return tuple(joined)
