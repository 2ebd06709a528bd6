"""Logs of any length, as a running kproxy would write them, made fast: `python -m tests.spark.log_generator`.

Every share-partition is consumed in batches of five records; one in ten is first released and acknowledged later, out
of order. Each has a snapshot every 500 updates.
"""

import struct
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click
import pyarrow.parquet as pq

from kproxy.jobs.raw_records import RAW_ARROW_SCHEMA, batch_of
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
from kproxy.statelog.claims import Claim
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, encode_state_record
from kproxy.wire.records import Record

FIRST_MS: Final = 1_795_262_400_000
"""When the first record is written; each further one a millisecond later."""
UPDATES_PER_SNAPSHOT: Final = 500
_RECORDS_PER_ACKNOWLEDGEMENT: Final = 5
_ROWS_PER_BATCH: Final = 20_000
_ROW_GROUP: Final = 200_000


@dataclass(slots=True)
class Consumed:
    """A share-partition, and how far its consumers are."""

    key: SharePartitionKey
    next_offset: int = 0
    updates: int = 0
    snapshot_epoch: int = 0
    released: int | None = None
    state: DurableShareState | None = None

    def next_record(self) -> Record:
        """Return the next record of its history."""
        if self.state is None or self.updates == UPDATES_PER_SNAPSHOT:
            return self._snapshot()
        self.updates += 1
        batches, start_offset = self._step()
        delta = StateDelta(start_offset, 0, batches)
        self.state = self.state.after_write(delta, LeaderEpoch(1))
        update = ShareUpdate(
            self.key, SnapshotEpoch(self.snapshot_epoch), LeaderEpoch(1), start_offset, 0, batches
        )
        ranges = tuple((batch.first_offset, batch.last_offset) for batch in batches)
        member = f"member-{self.updates % 3}-{self.key.partition:016d}"
        actor = Actor(Cause.ACKNOWLEDGE, member, "client-1", "/10.0.0.7", ranges)
        return encode_state_record(update, claim_epoch=0, actors=[actor])

    def _snapshot(self) -> Record:
        self.updates = 0
        self.snapshot_epoch += 1
        batches = () if self.state is None else self.state.state_batches
        start_offset = 0 if self.state is None else self.state.start_offset
        self.state = DurableShareState(
            StateEpoch(1), LeaderEpoch(1), SnapshotEpoch(self.snapshot_epoch), start_offset, 0, batches
        )
        snapshot = ShareSnapshot(
            *(self.key, SnapshotEpoch(self.snapshot_epoch), StateEpoch(1), LeaderEpoch(1), start_offset),
            *(FIRST_MS, FIRST_MS, 0, batches),
        )
        return encode_state_record(snapshot, claim_epoch=0, actors=[Actor(Cause.SNAPSHOT)])

    def _step(self) -> tuple[tuple[StateBatch, ...], int]:
        first, last = self.next_offset, self.next_offset + _RECORDS_PER_ACKNOWLEDGEMENT - 1
        if self.released is not None:
            again, self.released = self.released, None
            start_offset = again
            return (StateBatch(again, again + 4, RecordState.ACKNOWLEDGED, 2),), start_offset
        self.next_offset = last + 1
        if self.updates % 10 == 0:
            self.released = first
            return (StateBatch(first, last, RecordState.AVAILABLE, 1),), first
        return (StateBatch(first, last, RecordState.ACKNOWLEDGED, 1),), first


def records_of_partition(log_partition: int, record_count: int, share_partitions: int) -> Iterator[Record]:
    """Yield the records of a log partition: a claim, then the histories of its share-partitions in turns."""
    claim = encode_state_record(Claim("kproxy at generator", 1), claim_epoch=None, actors=())
    yield replace(claim, offset=0, timestamp_ms=FIRST_MS)
    topic_id = TopicId(struct.pack(">qq", 1, log_partition))
    consumed = [
        Consumed(SharePartitionKey(GroupId("workers"), topic_id, number))
        for number in range(share_partitions)
    ]
    for offset in range(1, record_count):
        record = consumed[offset % share_partitions].next_record()
        yield replace(record, offset=offset, timestamp_ms=FIRST_MS + offset)


def write_partition(folder: Path, log_partition: int, record_count: int, share_partitions: int) -> None:
    """Write one log partition as a Parquet file, as `export --records` would."""
    folder.mkdir(parents=True, exist_ok=True)
    records = records_of_partition(log_partition, record_count, share_partitions)
    with pq.ParquetWriter(folder / f"part-{log_partition:05d}.parquet", RAW_ARROW_SCHEMA) as writer:
        pending: list[Record] = []
        for record in records:
            pending.append(record)
            if len(pending) == _ROW_GROUP:
                writer.write_batch(batch_of(log_partition, pending))
                pending = []
        if pending:
            writer.write_batch(batch_of(log_partition, pending))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--records", type=click.IntRange(min=10), default=1_000_000, show_default=True)
@click.option("--partitions", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--share-partitions", type=click.IntRange(min=1), default=100, show_default=True)
def main(folder: Path, records: int, partitions: int, share_partitions: int) -> None:
    """Write a log of so many records into FOLDER."""
    each = records // partitions, max(1, share_partitions // partitions)
    with ProcessPoolExecutor() as processes:
        for written in [
            processes.submit(write_partition, folder, number, *each) for number in range(partitions)
        ]:
            written.result()


if __name__ == "__main__":
    main()
