"""Logs of any length, as a running kproxy would write them, made fast: `python -m tests.spark.log_generator`.

Every share-partition is consumed in batches of five records; one in ten is first released and acknowledged later, out
of order. Each has a snapshot every 500 updates. They take turns, record by record. Memory does not grow with the log.
"""

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TypeAlias

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kproxy.clients.dump_format import json_of
from kproxy.clients.log_lines import LogTopic, line_of
from kproxy.jobs.sources.raw_records import RAW_ARROW_SCHEMA, batch_of
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
from kproxy.statelog.actors import ACTOR_HEADER, Actor, Cause, encode_actor
from kproxy.statelog.claims import CLAIM_HEADER, Claim, claim_header
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, encode_state_record
from kproxy.wire.records import Record

FIRST_MS: Final = 1_795_262_400_000
"""When the first record is written; each further one a millisecond later."""
UPDATES_PER_SNAPSHOT: Final = 500
TOPIC: Final = "__kproxy_share_state"
"""What lines say that they are of."""

_RECORDS_PER_ACKNOWLEDGEMENT: Final = 5
_UPDATES_PER_RELEASE: Final = 10
_MEMBERS: Final = 3
_TYPES: Final = {
    RecordState.ACKNOWLEDGED: AcknowledgeType.ACCEPT,
    RecordState.AVAILABLE: AcknowledgeType.RELEASE,
}
_ROW_GROUP: Final = 200_000
_CLAIM: Final = claim_header(0)
_SNAPSHOT_ACTOR: Final = encode_actor(Actor(Cause.SNAPSHOT))
_UPDATE: Final = struct.Struct(">hiiqbqqbhbbbbi")
"""The value of an update of one batch: version, epochs, start offset, the batch, delivery-complete count."""

Change: TypeAlias = tuple[bytes, bytes, bytes]
"""The key and the value of a record, and the header that says who made it."""


@dataclass(slots=True)
class Consumed:
    """A share-partition, and how far its consumers are."""

    key: SharePartitionKey
    update_key: bytes
    actors: Mapping[RecordState, Sequence[str]]
    """What headers of each member begin with, by what becomes of the records."""
    next_offset: int = 0
    updates: int = UPDATES_PER_SNAPSHOT
    snapshot_epoch: int = 0
    released: int = -1
    batch: StateBatch | None = None
    """What the last update left: nothing below its first offset is of interest any more."""

    @classmethod
    def of(cls, key: SharePartitionKey) -> "Consumed":
        """Return one that nobody has consumed anything of."""
        update = ShareUpdate(key, SnapshotEpoch(1), LeaderEpoch(1), 0, 0, ())
        update_key = encode_state_record(update, claim_epoch=0, actors=()).key
        assert update_key is not None
        heads = {
            state: [_actor_head(key.partition, number, acknowledge_type) for number in range(_MEMBERS)]
            for state, acknowledge_type in _TYPES.items()
        }
        return cls(key, update_key, heads)

    def next_change(self) -> Change:
        """Return the next record of its history."""
        if self.updates == UPDATES_PER_SNAPSHOT:
            return self._snapshot()
        self.updates = number = self.updates + 1
        first, delivery_count, state = self.released, 2, RecordState.ACKNOWLEDGED
        if first >= 0:
            self.released = -1
        else:
            first, delivery_count = self.next_offset, 1
            self.next_offset += _RECORDS_PER_ACKNOWLEDGEMENT
            if not number % _UPDATES_PER_RELEASE:
                self.released, state = first, RecordState.AVAILABLE
        last = first + _RECORDS_PER_ACKNOWLEDGEMENT - 1
        if number == UPDATES_PER_SNAPSHOT:
            self.batch = StateBatch(first, last, state, delivery_count)
        value = _UPDATE.pack(
            *(0, self.snapshot_epoch, 1, first, 2, first, last, state, delivery_count, 0, 1, 0, 4),
            _done_with(state),
        )
        return self.update_key, value, f"{self.actors[state][number % _MEMBERS]}[{first},{last}]]}}".encode()

    def _snapshot(self) -> Change:
        self.updates = 0
        self.snapshot_epoch += 1
        batches = () if self.batch is None else (self.batch,)
        start_offset = 0 if self.batch is None else self.batch.first_offset
        epochs = SnapshotEpoch(self.snapshot_epoch), StateEpoch(1), LeaderEpoch(1)
        done = 0 if self.batch is None else _done_with(self.batch.state)
        snapshot = ShareSnapshot(self.key, *epochs, start_offset, FIRST_MS, FIRST_MS, done, batches)
        record = encode_state_record(snapshot, claim_epoch=0, actors=())
        assert record.key is not None
        assert record.value is not None
        return record.key, record.value, _SNAPSHOT_ACTOR


def _done_with(state: RecordState) -> int:
    """Return the delivery-complete count of a share-partition whose one batch is in this state."""
    return 0 if state is RecordState.AVAILABLE else _RECORDS_PER_ACKNOWLEDGEMENT


def _actor_head(partition: int, member: int, acknowledge_type: AcknowledgeType) -> str:
    name = f"member-{member}-{partition:016d}"
    actor = Actor(Cause.ACKNOWLEDGE, name, "client-1", "/10.0.0.7", ((0, 0),), acknowledge_type)
    return encode_actor(actor).decode().removesuffix("[0,0]]}")


def changes_of(log_partition: int, share_partitions: int) -> Iterator[Change]:
    """Yield the histories of the share-partitions of a log partition, in turns, without end."""
    topic_id = TopicId(struct.pack(">qq", 1, log_partition))
    keys = (SharePartitionKey(GroupId("workers"), topic_id, number) for number in range(share_partitions))
    for next_change in cycle([Consumed.of(key).next_change for key in keys]):
        yield next_change()


def records_of_partition(log_partition: int, record_count: int, share_partitions: int) -> Iterator[Record]:
    """Yield the records of a log partition: a claim, then the histories of its share-partitions in turns."""
    yield _claim()
    changes = islice(changes_of(log_partition, share_partitions), record_count - 1)
    for offset, (key, value, actor) in enumerate(changes, start=1):
        yield Record(key, value, (_CLAIM, (ACTOR_HEADER, actor)), FIRST_MS + offset, offset)


def _claim() -> Record:
    claim = encode_state_record(Claim("kproxy at generator", 1), claim_epoch=None, actors=())
    return Record(claim.key, claim.value, (), FIRST_MS, 0)


def write_partition(folder: Path, log_partition: int, record_count: int, share_partitions: int) -> None:
    """Write one log partition as a Parquet file, as `export --records` would."""
    folder.mkdir(parents=True, exist_ok=True)
    changes = changes_of(log_partition, share_partitions)
    with pq.ParquetWriter(folder / f"part-{log_partition:05d}.parquet", RAW_ARROW_SCHEMA) as writer:
        for offset in range(0, record_count, _ROW_GROUP):
            batches = list(
                _batches(log_partition, range(offset, min(offset + _ROW_GROUP, record_count)), changes)
            )
            writer.write_table(pa.Table.from_batches(batches), row_group_size=_ROW_GROUP)


def _batches(log_partition: int, offsets: range, changes: Iterator[Change]) -> Iterator[pa.RecordBatch]:
    """Yield the records at `offsets`, of which that at 0 is the claim."""
    if not offsets.start:
        yield batch_of(log_partition, [_claim()])
        offsets = offsets[1:]
    if offsets:
        yield _batch_of_changes(log_partition, offsets.start, list(islice(changes, len(offsets))))


def _batch_of_changes(log_partition: int, first_offset: int, changes: Sequence[Change]) -> pa.RecordBatch:
    """Do what `batch_of` does, column by column."""
    count = len(changes)
    keys, values, actors = zip(*changes, strict=True)
    offsets: Any = np.arange(first_offset, first_offset + count, dtype=np.int64)
    _, claim_epoch = _CLAIM
    header_values = [claim_epoch, b""] * count
    header_values[1::2] = actors
    header_keys = pa.array([CLAIM_HEADER, ACTOR_HEADER] * count, pa.string())
    headers = pa.StructArray.from_arrays(
        [header_keys, pa.array(header_values, pa.binary())], names=["key", "value"]
    )
    columns = [
        pa.array(np.full(count, log_partition, dtype=np.int32)),
        pa.array(offsets),
        pa.array(FIRST_MS + offsets),
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        pa.ListArray.from_arrays(pa.array(np.arange(0, 2 * count + 1, 2, dtype=np.int32)), headers),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RAW_ARROW_SCHEMA)


def write_lines(folder: Path, log_partition: int, record_count: int, share_partitions: int) -> None:
    """Write one log partition as JSON lines, as `kproxy log dump` prints it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"part-{log_partition:05d}.jsonl").open("w") as file:
        for record in records_of_partition(log_partition, record_count, share_partitions):
            shown = json_of(line_of(LogTopic.STATE, TOPIC, log_partition, record))
            file.write(json.dumps(shown, separators=(",", ":")) + "\n")


PartitionWriter: TypeAlias = Callable[[Path, int, int, int], None]
"""Writes one log partition into a folder: its number, how many records, of how many share-partitions."""


def write_log(
    folder: Path, write: PartitionWriter, *, records: int, share_partitions: int, partitions: int = 8
) -> None:
    """Write a log in equal log partitions, as many at a time as there are cores."""
    each = records // partitions, max(1, share_partitions // partitions)
    # Processes that are forked off one with threads, such as those of an Arrow library, may hang.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        written = [processes.submit(write, folder, number, *each) for number in range(partitions)]
        for partition in written:
            partition.result()


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--records", type=click.IntRange(min=10), default=1_000_000, show_default=True)
@click.option("--partitions", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--share-partitions", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--lines", is_flag=True, help="JSON lines instead of Parquet.")
def main(folder: Path, records: int, partitions: int, share_partitions: int, *, lines: bool) -> None:
    """Write a log of so many records into FOLDER."""
    write = write_lines if lines else write_partition
    write_log(folder, write, records=records, share_partitions=share_partitions, partitions=partitions)


if __name__ == "__main__":
    main()
