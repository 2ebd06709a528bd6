"""Short words for the records and operations that tests of the state log are about."""

from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.claims import STATE_FORMAT_VERSION, Claim
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, StateRecord

KEY = SharePartitionKey(GroupId("orders"), TopicId(b"t" * 16), 0)
OTHER_KEY = SharePartitionKey(GroupId("orders"), TopicId(b"t" * 16), 1)
ALICE = Actor(Cause.ACKNOWLEDGE, "alice", "app", "/127.0.0.1")
BOB = Actor(Cause.ACKNOWLEDGE, "bob", "app", "/127.0.0.1")
TIMER = Actor(Cause.LOCK_TIMEOUT)

AVAILABLE = RecordState.AVAILABLE
ACKNOWLEDGED = RecordState.ACKNOWLEDGED
ARCHIVED = RecordState.ARCHIVED


def a_batch(
    first_offset: int, last_offset: int, state: RecordState = ACKNOWLEDGED, delivery_count: int = 1
) -> StateBatch:
    return StateBatch(first_offset, last_offset, state, delivery_count)


def a_delta(start_offset: int, complete_count: int, *batches: StateBatch) -> StateDelta:
    return StateDelta(start_offset, complete_count, batches)


def a_state(
    start_offset: int = 0,
    complete_count: int = 0,
    *batches: StateBatch,
    state_epoch: int = 1,
    leader_epoch: int = 0,
    snapshot_epoch: int = 0,
) -> DurableShareState:
    return DurableShareState(
        StateEpoch(state_epoch),
        LeaderEpoch(leader_epoch),
        SnapshotEpoch(snapshot_epoch),
        start_offset,
        complete_count,
        batches,
    )


def a_snapshot(
    key: SharePartitionKey = KEY,
    *batches: StateBatch,
    snapshot_epoch: int = 0,
    state_epoch: int = 1,
    leader_epoch: int = 0,
    start_offset: int = 0,
    complete_count: int = 0,
    created_ms: int = 1000,
    written_ms: int = 1000,
) -> ShareSnapshot:
    return ShareSnapshot(
        key,
        SnapshotEpoch(snapshot_epoch),
        StateEpoch(state_epoch),
        LeaderEpoch(leader_epoch),
        start_offset,
        created_ms,
        written_ms,
        complete_count,
        batches,
    )


def an_update(
    key: SharePartitionKey = KEY,
    *batches: StateBatch,
    snapshot_epoch: int = 0,
    leader_epoch: int = 0,
    start_offset: int = -1,
    complete_count: int = 0,
) -> ShareUpdate:
    return ShareUpdate(
        key, SnapshotEpoch(snapshot_epoch), LeaderEpoch(leader_epoch), start_offset, complete_count, batches
    )


def a_claim() -> Claim:
    return Claim("kproxy at host-1", STATE_FORMAT_VERSION)


def a_fold_of(
    *records: StateRecord, first_offset: int = 0, claim_epoch: int | None = None, timestamp_ms: int = 1000
) -> StateLogFold:
    """Fold records, all of one claim, that stand from `first_offset` on."""
    fold = StateLogFold()
    for offset, record in enumerate(records, first_offset):
        outcome = fold.replay(record, claim_epoch=claim_epoch, offset=offset, timestamp_ms=timestamp_ms)
        assert outcome in {Outcome.APPLIED, Outcome.CLAIMED}
    return fold


def a_claimed_fold_of(*records: StateRecord) -> StateLogFold:
    """Fold a claim at offset 0 and the records of it from offset 1 on."""
    return a_fold_of(a_claim(), *records, claim_epoch=0)
