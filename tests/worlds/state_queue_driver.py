"""A queue on a log of its own, and how to drive it."""

from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, StateEpoch
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.operations import Write
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.state_records import (
    DecodedStateRecord,
    StateRecord,
    decode_state_record,
)
from kproxy.statelog.tickets import Append
from tests.worlds.state_log_builders import (
    KEY,
    a_batch,
    a_claimed_fold_of,
    a_delta,
)

KEYS = [SharePartitionKey(KEY.group_id, KEY.topic_id, partition) for partition in range(5)]
PLENTY = 2**20


def a_queue(*records: StateRecord, updates_per_snapshot: int = 500, max_waiting: int = 100) -> StateQueue:
    """Return the queue of a log that holds a claim at offset 0 and `records` behind it."""
    coordinator = ShareCoordinator(a_claimed_fold_of(*records), CoordinatorLimits(updates_per_snapshot))
    return StateQueue(coordinator, max_waiting=max_waiting)


def an_actor(member_id: str, *ranges: tuple[int, int]) -> Actor:
    return Actor(Cause.ACKNOWLEDGE, member_id, "app", "/127.0.0.1", ranges)


def a_write(
    delta: StateDelta,
    *actors: Actor,
    key: SharePartitionKey = KEY,
    state_epoch: int = 1,
    leader_epoch: int = 0,
) -> Write:
    return Write(key, StateEpoch(state_epoch), LeaderEpoch(leader_epoch), delta, actors)


def an_acknowledgement(offset: int, *, key: SharePartitionKey = KEY, leader_epoch: int = 0) -> Write:
    return a_write(
        a_delta(0, 1, a_batch(offset, offset)),
        an_actor("alice", (offset, offset)),
        key=key,
        leader_epoch=leader_epoch,
    )


def next_append(queue: StateQueue, *, now_ms: int = 5000, max_bytes: int = PLENTY) -> Append | None:
    return queue.next_append(now_ms, max_bytes=max_bytes, claim_epoch=0)


def decoded(append: Append | None) -> list[DecodedStateRecord]:
    return [] if append is None else [decode_state_record(record) for record in append.records]


def records_of(append: Append | None) -> list[StateRecord]:
    return [record.record for record in decoded(append)]


def append_everything(queue: StateQueue) -> list[list[StateRecord]]:
    """Let append after append succeed until nothing waits; return what each wrote."""
    appends = []
    while (append := next_append(queue)) is not None:
        appends.append(records_of(append))
        queue.succeeded(queue.fold.applied_offset + 1)
    return appends
