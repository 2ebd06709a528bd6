"""Who stands behind a write of share-partition state, range by range: what the state log keeps for the audit."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

from kproxy.share.acknowledgement import AcknowledgementBatch, equal_types
from kproxy.share.identifiers import MemberId
from kproxy.share.operators.settlement import OperatorSettlement
from kproxy.share.record_state import TERMINAL_STATES, AcknowledgeType, RecordState
from kproxy.share.share_partition_view import SharePartitionView
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause, OffsetRange

# No members of an Enum: these are compared, and looked up, for each run of offsets.
_RELEASE: Final = AcknowledgeType.RELEASE.value
_RENEW: Final = AcknowledgeType.RENEW.value
_ARCHIVED: Final = RecordState.ARCHIVED


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


def acknowledged_by(
    member_id: MemberId, client: Client, batches: Sequence[AcknowledgementBatch], delta: StateDelta
) -> tuple[Actor, ...]:
    """Return the actors of an acknowledgement: one for each type, RELEASE at the delivery limit apart.

    `batches` are what the member said, of which `delta` came. One that changed no record has one actor, without a type.
    """
    ranges: dict[tuple[int, bool], list[OffsetRange]] = {}
    changed, index = delta.batches, 0
    for first_offset, last_offset, acknowledge_type in _said(batches, changed):
        while index < len(changed) and (batch := changed[index]).first_offset <= last_offset:
            is_at_limit = acknowledge_type == _RELEASE and batch.state is _ARCHIVED
            common = max(first_offset, batch.first_offset), min(last_offset, batch.last_offset)
            if common[0] <= common[1]:
                ranges.setdefault((acknowledge_type, is_at_limit), []).append(common)
            if batch.last_offset > last_offset:
                break
            index += 1
    who = (Cause.ACKNOWLEDGE, member_id, client.client_id, client.client_host)
    return tuple(
        Actor(*who, _joined(of_type), AcknowledgeType(acknowledge_type), is_at_limit)
        for (acknowledge_type, is_at_limit), of_type in ranges.items()
    ) or (Actor(*who),)


def released_by(
    member_id: MemberId, client: Client, delta: StateDelta, *, operator: str = ""
) -> tuple[Actor, ...]:
    """Return the actors of a session that ended: its member, records that reached the delivery limit apart.

    `operator` is the reason of one who ended it.
    """
    ranges: dict[bool, list[OffsetRange]] = {False: [], True: []}
    for batch in delta.batches:
        ranges[_is_at_limit(batch)].append((batch.first_offset, batch.last_offset))
    cause = Cause.OPERATOR if operator else Cause.SESSION_CLOSE
    actor = Actor(cause, member_id, client.client_id, client.client_host, reason=operator)
    return tuple(
        replace(actor, is_at_delivery_limit=is_at_limit, offset_ranges=_joined(ended))
        for is_at_limit, ended in ranges.items()
        if ended
    )


def operated_by(
    settlement: OperatorSettlement,
    client_of: Callable[[MemberId], Client],
    reason: str,
    *,
    is_release: bool,
) -> tuple[Actor, ...]:
    """Return the actors of an operator's action: from whom records were taken, those at the delivery limit apart.

    Nobody, where nobody held them.
    """
    ranges: dict[tuple[MemberId | None, bool], list[OffsetRange]] = {}
    for before, after in zip(settlement.before, settlement.after, strict=True):
        holder = None if before.lock is None else before.lock.member_id
        is_at_limit = is_release and after.state is RecordState.ARCHIVED
        ranges.setdefault((holder, is_at_limit), []).append((before.first_offset, before.last_offset))
    return tuple(
        Actor(
            Cause.OPERATOR,
            member_id or "",
            "" if member_id is None else client_of(member_id).client_id,
            "" if member_id is None else client_of(member_id).client_host,
            _joined(of_member),
            is_at_delivery_limit=is_at_limit,
            reason=reason,
        )
        for (member_id, is_at_limit), of_member in ranges.items()
    )


def holders_due(view: SharePartitionView, now_ms: int) -> tuple[Holder, ...]:
    """Return, ascending, who is about to lose records because their lock ends by `now_ms`."""
    return tuple(
        Holder(run.first_offset, run.last_offset, run.member_id)
        for run in view.ranges
        if run.member_id is not None and run.lock_deadline_ms is not None and run.lock_deadline_ms <= now_ms
    )


def timed_out(
    holders: Sequence[Holder], delta: StateDelta, client_of: Callable[[MemberId], Client]
) -> tuple[Actor, ...]:
    """Return the actors of locks that ended: each member, its records that reached the delivery limit apart.

    `holders` are those from before the locks ended.
    """
    ranges: dict[tuple[MemberId, bool], list[OffsetRange]] = {}
    for holder, batch in _overlaps(holders, delta.batches):
        ranges.setdefault((holder.member_id, _is_at_limit(batch)), []).append(_common(holder, batch))
    return tuple(
        Actor(
            Cause.LOCK_TIMEOUT,
            member_id,
            client_of(member_id).client_id,
            client_of(member_id).client_host,
            _joined(of_member),
            is_at_delivery_limit=is_at_limit,
        )
        for (member_id, is_at_limit), of_member in ranges.items()
    )


def log_start_moved(before: SharePartitionView, start_offset: int) -> tuple[Actor, ...]:
    """Return the actor of a log that lost records: nobody, and all offsets that were not done with, delivered or not.

    `before` is the share-partition as it was, `start_offset` where it begins now.
    """
    lost: list[OffsetRange] = []
    next_offset = before.start_offset
    for run in before.ranges:
        if run.state in TERMINAL_STATES and run.first_offset < start_offset:
            lost.append((next_offset, run.first_offset - 1))
            next_offset = run.last_offset + 1
    lost.append((next_offset, start_offset - 1))
    return (Actor(Cause.LOG_START_MOVED, offset_ranges=_joined(span for span in lost if span[0] <= span[1])),)


class _Span(Protocol):
    """Offsets, both inclusive."""

    @property
    def first_offset(self) -> int: ...

    @property
    def last_offset(self) -> int: ...


_S = TypeVar("_S", bound=_Span)


def _said(
    batches: Iterable[AcknowledgementBatch], changed: Sequence[StateBatch]
) -> Iterator[tuple[int, int, int]]:
    """Yield first and last offset, and the type, of what settles records among those that `changed`, ascending.

    Below, anybody may name any number of offsets. A batch that renews a record may be followed by another that settles
    the same.
    """
    if not changed:
        return
    first_changed, last_changed = changed[0].first_offset, changed[-1].last_offset
    for batch in batches:
        first_offset, last_offset = (
            max(batch.first_offset, first_changed),
            min(batch.last_offset, last_changed),
        )
        if first_offset > last_offset:
            continue
        for acknowledge_type, count in equal_types(first_offset, last_offset, batch):
            if acknowledge_type != _RENEW:
                yield first_offset, first_offset + count - 1, acknowledge_type
            first_offset += count


def _is_at_limit(batch: StateBatch) -> bool:
    """A record that is taken back is archived for one reason only."""
    return batch.state is RecordState.ARCHIVED


def _overlaps(spans: Sequence[_S], batches: Sequence[StateBatch]) -> Iterator[tuple[_S, StateBatch]]:
    """Yield which span and which batch have offsets in common; both are ascending and disjoint."""
    span_index = batch_index = 0
    while span_index < len(spans) and batch_index < len(batches):
        span, batch = spans[span_index], batches[batch_index]
        if max(span.first_offset, batch.first_offset) <= min(span.last_offset, batch.last_offset):
            yield span, batch
        if span.last_offset <= batch.last_offset:
            span_index += 1
        else:
            batch_index += 1


def _common(span: _Span, batch: StateBatch) -> OffsetRange:
    return max(span.first_offset, batch.first_offset), min(span.last_offset, batch.last_offset)


def _joined(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    joined: list[OffsetRange] = []
    for first_offset, last_offset in ranges:
        if joined and joined[-1][1] + 1 == first_offset:
            joined[-1] = (joined[-1][0], last_offset)
        else:
            joined.append((first_offset, last_offset))
    return tuple(joined)
