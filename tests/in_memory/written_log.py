"""Records as kproxy writes them to the state log, for tests that read it."""

from typing import Final

from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.claims import NO_MAP_EPOCH, Claim
from kproxy.statelog.state_records import (
    ShareSnapshot,
    ShareUpdate,
    StateTombstone,
    encode_state_record,
)
from kproxy.wire.records import Record

ORDERS: Final = TopicId(b"topic-id-orders.")
KEY: Final = SharePartitionKey(GroupId("workers"), ORDERS, 1)
ALICE: Final = Actor(
    *(Cause.ACKNOWLEDGE, "alice", "client-1", "/10.0.0.7", ((100, 104), (110, 110))),
    acknowledge_type=AcknowledgeType.ACCEPT,
)


def a_claim(owner: str = "kproxy at host-1", map_epoch: int = NO_MAP_EPOCH, fleet_group: str = "") -> Record:
    return encode_state_record(Claim(owner, 1, map_epoch, fleet_group), claim_epoch=None, actors=())


def a_snapshot(key: SharePartitionKey = KEY) -> Record:
    snapshot = ShareSnapshot(
        key=key,
        snapshot_epoch=SnapshotEpoch(3),
        state_epoch=StateEpoch(2),
        leader_epoch=LeaderEpoch(5),
        start_offset=100,
        create_timestamp_ms=1_700_000_000_000,
        write_timestamp_ms=1_700_000_000_001,
        delivery_complete_count=0,
        state_batches=(),
    )
    return encode_state_record(snapshot, claim_epoch=0, actors=[Actor(Cause.LOAD)])


def an_update(key: SharePartitionKey = KEY) -> Record:
    update = ShareUpdate(
        key=key,
        snapshot_epoch=SnapshotEpoch(3),
        leader_epoch=LeaderEpoch(5),
        start_offset=100,
        delivery_complete_count=6,
        state_batches=(StateBatch(100, 104, RecordState.ACKNOWLEDGED, 1),),
    )
    return encode_state_record(update, claim_epoch=0, actors=[ALICE])


def a_tombstone(key: SharePartitionKey = KEY) -> Record:
    return encode_state_record(StateTombstone(key), claim_epoch=0, actors=[Actor(Cause.DELETE)])
