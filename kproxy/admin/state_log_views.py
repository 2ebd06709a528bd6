"""The state log as the admin port shows it: its slots, and every durable state. Pure.

The names of a durable state's fields are those of Kafka's `ShareSnapshotValue`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kproxy.admin.readiness import CheckResult
from kproxy.admin.share_views import TopicNames
from kproxy.share.identifiers import SharePartitionKey, topic_id_text
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.slot_status import AppliedStates, SlotState, SlotStatus
from kproxy.wording import counted


class StateLogSlots(Protocol):
    """What the admin port needs of the state log. Called on the event loop; never waits."""

    def statuses(self) -> Sequence[SlotStatus]:
        """Return every slot that this process has to do with, ascending."""
        ...

    def states(self, number: int) -> AppliedStates:
        """Return the durable states of a slot at one offset; the mapping stays what it is while the writer goes on.

        Raises:
            IndexError: there is no such slot.
        """
        ...

    def state_of(self, key: SharePartitionKey) -> DurableShareState | None:
        """Return the durable state of a share-partition, None when there is none.

        Raises:
            ApiError: its slot is not loaded, or another process's; the text says so.
        """
        ...


@dataclass(frozen=True, slots=True)
class StateBatchView:
    """Offsets, both ends inclusive. `delivery_state`: 0 available, 2 acknowledged, 4 archived."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


@dataclass(frozen=True, slots=True)
class DurableStateView:
    """An item of `/api/v1/state-log/{n}/state`: what one share-partition would be loaded from."""

    group_id: str
    topic_id: str
    topic_name: str | None
    partition: int
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    state_batches: tuple[StateBatchView, ...]


def durable_state_view(
    key: SharePartitionKey, state: DurableShareState, names: TopicNames
) -> DurableStateView:
    """Return the durable state of one share-partition."""
    return DurableStateView(
        group_id=key.group_id,
        topic_id=topic_id_text(key.topic_id),
        topic_name=names(key.topic_id),
        partition=key.partition,
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        state_batches=tuple(
            StateBatchView(batch.first_offset, batch.last_offset, int(batch.state), batch.delivery_count)
            for batch in state.state_batches
        ),
    )


def slot_checks(slots: Iterable[SlotStatus]) -> list[CheckResult]:
    """Return one readiness check per slot: it passes when it is ready, another process's, or on the way to one."""
    return [
        CheckResult(f"slot_{slot.partition}", "" if slot.state.is_well else slot.reason or slot.state.value)
        for slot in slots
    ]


def doubt_of_slots(slots: Iterable[SlotStatus], slot_count: int, *, has_others: bool) -> str:
    """Return why what is told of `slots`, some or all of `slot_count`, is not everything; empty if it is.

    With `has_others` those of other processes are left out: these tell of them.
    """
    told = {SlotState.READY, SlotState.ELSEWHERE} if has_others else {SlotState.READY}
    waiting = [slot for slot in slots if slot.state not in told]
    if not waiting:
        return ""
    first = waiting[0]
    reason = first.reason or first.state.value
    return f"not ready: {len(waiting)} of {counted(slot_count, 'slot')}; slot {first.partition}: {reason}"
