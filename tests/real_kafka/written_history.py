"""A long history in the state log, as kproxy would have written it: real records, in large batches, at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import TopicDescription
from kproxy.net.state_log.log_appender import LogAppender
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.group_records import RecoveryPoint, encode_group_record
from kproxy.statelog.partitioning import group_partition
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, encode_state_record
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record
from tests.real_kafka.backing_topics import looking_at
from tests.real_kafka.cluster import KafkaCluster
from tests.worlds.backing import Backing

GROUPS: Final = tuple(GroupId(f"group-with-a-history-{number}") for number in range(50))
"""In any slot, as those of a cluster are."""
CLAIM_EPOCH: Final = 0
"""Where the claim of the kproxy stands that created the topics and did nothing else."""
RECORDS_OF_A_BATCH: Final = 2_500
KEYS_OF_A_BATCH: Final = 100
UPDATES_AFTER_A_SNAPSHOT: Final = 20
TIMESTAMP_MS: Final = 1_790_000_000_000
NOBODY: Final = -1
"""The producer id, epoch and sequence of a producer that is not idempotent."""


def share_partitions(count: int) -> list[SharePartitionKey]:
    """Return keys of `GROUPS` over as many topics as it takes, 100 partitions each."""
    return [
        SharePartitionKey(
            GROUPS[number % len(GROUPS)], TopicId(b"history-topic%3d" % (number // 100)), number % 100
        )
        for number in range(count)
    ]


async def write_history(
    cluster: KafkaCluster,
    state_topic: str,
    groups_topic: str,
    *,
    records: int,
    keys: int,
    has_recovery_point: bool = True,
) -> None:
    """Write `records` updates of `keys` share-partitions, then a snapshot and some updates of each.

    Where these begin is recorded as the recovery point, unless `has_recovery_point` says otherwise. Both topics hold
    nothing but the claims of a kproxy that has stopped.
    """
    async with looking_at(cluster) as backing:
        await backing.metadata.refresh()
        found = await backing.metadata.topics_named([state_topic, groups_topic])
        writer = _Writer(backing)
        by_slot = _by_slot(share_partitions(keys), found[state_topic].partition_count)
        for slot, of_slot in by_slot.items():
            await writer.write(found[state_topic], slot, _old_batches(of_slot, records // len(by_slot)))
            point = await writer.write(found[state_topic], slot, _live_batches(of_slot))
            recorded = encode_group_record(
                RecoveryPoint(point if has_recovery_point else 0), claim_epoch=CLAIM_EPOCH
            )
            await writer.write(found[groups_topic], slot, [_batch([recorded])])


class _Writer:
    """Appends batches in order."""

    def __init__(self, backing: Backing) -> None:
        self._appender = LogAppender(
            metadata=backing.metadata,
            connections=backing.connections,
            tasks=backing.tasks,
            write_timeout_ms=30_000,
        )

    async def write(self, topic: TopicDescription, partition: int, batches: Iterable[bytes]) -> int:
        """Append `batches`; return the offset of the first record."""
        first_offset = -1
        for batch in batches:
            # One at a time: a request has one batch of a partition.
            outcome = await self._appender.append(topic, partition, batch)
            assert outcome.error_code is ErrorCode.NONE, outcome
            first_offset = outcome.base_offset if first_offset < 0 else first_offset
        return first_offset


def _by_slot(keys: Sequence[SharePartitionKey], slots: int) -> Mapping[int, list[SharePartitionKey]]:
    by_slot: dict[int, list[SharePartitionKey]] = {}
    for key in keys:
        by_slot.setdefault(group_partition(key.group_id, slots), []).append(key)
    return by_slot


def _old_batches(keys: Sequence[SharePartitionKey], records: int) -> Iterator[bytes]:
    """A snapshot of each key, and then updates of one after the other: encoded once, written again and again."""
    yield _batch([_snapshot(key, 0) for key in keys])
    encoded = [_batch([_update(key, 0, number) for number in range(RECORDS_OF_A_BATCH)]) for key in keys[:8]]
    for number in range(records // RECORDS_OF_A_BATCH):
        yield encoded[number % len(encoded)]


def _live_batches(keys: Sequence[SharePartitionKey]) -> Iterator[bytes]:
    for first in range(0, len(keys), KEYS_OF_A_BATCH):
        some = keys[first : first + KEYS_OF_A_BATCH]
        updates = [_update(key, 1, number) for number in range(UPDATES_AFTER_A_SNAPSHOT) for key in some]
        yield _batch([*(_snapshot(key, 1) for key in some), *updates])


def _snapshot(key: SharePartitionKey, epoch: int) -> Record:
    snapshot = ShareSnapshot(
        key=key,
        snapshot_epoch=SnapshotEpoch(epoch),
        state_epoch=StateEpoch(1),
        leader_epoch=LeaderEpoch(1),
        start_offset=0,
        create_timestamp_ms=TIMESTAMP_MS,
        write_timestamp_ms=TIMESTAMP_MS,
        delivery_complete_count=0,
        state_batches=(),
    )
    return encode_state_record(snapshot, claim_epoch=CLAIM_EPOCH, actors=[Actor(Cause.SNAPSHOT)])


def _update(key: SharePartitionKey, epoch: int, number: int) -> Record:
    first = 10 * number
    update = ShareUpdate(
        key=key,
        snapshot_epoch=SnapshotEpoch(epoch),
        leader_epoch=LeaderEpoch(1),
        start_offset=first,
        delivery_complete_count=10,
        state_batches=(StateBatch(first, first + 9, RecordState.ACKNOWLEDGED, 1),),
    )
    actor = Actor(Cause.ACKNOWLEDGE, "member-of-the-group-0", "client", "/127.0.0.1", ((first, first + 9),))
    return encode_state_record(update, claim_epoch=CLAIM_EPOCH, actors=[actor])


def _batch(records: Sequence[Record]) -> bytes:
    return build_batch(
        records, producer_id=NOBODY, producer_epoch=NOBODY, base_sequence=NOBODY, timestamp_ms=TIMESTAMP_MS
    )
