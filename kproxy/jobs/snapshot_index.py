"""An index of the snapshots in a log: where a fold may begin so that it arrives at the same state.

For each log partition it has, in order, every snapshot and tombstone that counted and every claim. The state at any
moment needs no record before the oldest of the share-partitions' newest snapshots before it; see
`StateLogFold.recovery_point`. The index is made by folding, because only a fold knows which snapshots counted; and it
grows by folding on from its own last recovery point.

On disk it is a folder: Parquet files of entries, and `progress.json`, which is written last and says how far the
entries count. What stands beyond that is left over from a run that was broken off.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.jobs.failures import told_to_driver
from kproxy.jobs.folding import OnCorrupt, PartitionFold, by_log_partition, new_fold
from kproxy.jobs.job import JobContext
from kproxy.jobs.log_files import filesystem_of, uri_of
from kproxy.jobs.log_reader import LogRange
from kproxy.share.identifiers import topic_id_text
from kproxy.statelog.fold import Outcome
from kproxy.statelog.state_records import ShareSnapshot, StateTombstone, decode_state_message

_SCHEMA: Final = (
    "log_partition int, log_offset bigint, kind string, group_id string, topic_id string, partition int"
)
_ARROW_SCHEMA: Final = pa.schema(
    [
        ("log_partition", pa.int32()),
        ("log_offset", pa.int64()),
        ("kind", pa.string()),
        ("group_id", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
    ]
)
_SNAPSHOT: Final = "snapshot"
_TOMBSTONE: Final = "tombstone"
_CLAIM: Final = "claim"
_PROGRESS: Final = "progress.json"


@dataclass(frozen=True, slots=True)
class Start:
    """Where a fold of a log partition begins, and the offset of the claim in force there; None before any."""

    first_offset: int
    claim_epoch: int | None


def shortened(
    context: JobContext, ranges: Sequence[LogRange], place: str | None, on_corrupt: OnCorrupt
) -> tuple[list[LogRange], dict[int, int]]:
    """Return `ranges`, which begin with the log, from where a fold may begin; and the claims in force there.

    The index is brought up to the ends of the ranges first.
    """
    index = SnapshotIndex.open(context, place or default_place(context.reader.identity))
    index.extend(ranges, on_corrupt)
    starts = index.starts(ranges)
    begun = [
        part.within(starts[part.partition].first_offset, part.end_offset)
        if part.partition in starts
        else part
        for part in ranges
    ]
    claims = {number: start.claim_epoch for number, start in starts.items() if start.claim_epoch is not None}
    return begun, claims


def default_place(identity: str) -> str:
    """Return the folder for the index of a log, in the cache of this user."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(cache) / "kproxy" / "snapshot-index" / sha256(identity.encode()).hexdigest()[:32])


class SnapshotIndex:
    """The index in one folder."""

    def __init__(self, context: JobContext, place: str, indexed: Mapping[int, int]) -> None:
        self._context = context
        self._place = place
        self._indexed = dict(indexed)

    @staticmethod
    def open(context: JobContext, place: str) -> "SnapshotIndex":
        """Return the index at `place`, empty when there is none, or when it is that of another log."""
        progress = _read_progress(place)
        if progress.get("log") != context.reader.identity:
            return SnapshotIndex(context, place, {})
        return SnapshotIndex(
            context, place, {int(number): end for number, end in progress["indexed"].items()}
        )

    def extend(self, ranges: Sequence[LogRange], on_corrupt: OnCorrupt) -> None:
        """Index what the ranges have beyond what is indexed."""
        lacking = [
            part for part in ranges if part.end_offset > self._indexed.get(part.partition, part.first_offset)
        ]
        if not lacking:
            return
        known = [
            part.within(part.first_offset, self._indexed.get(part.partition, part.first_offset))
            for part in lacking
        ]
        starts = self.starts(known)
        wanted, claims, since = [], {}, {}
        for part in lacking:
            start = starts.get(part.partition, Start(part.first_offset, None))
            wanted.append(part.within(start.first_offset, part.end_offset))
            since[part.partition] = self._indexed.get(part.partition, part.first_offset)
            if start.claim_epoch is not None:
                claims[part.partition] = start.claim_epoch
        self._context.say(f"Indexing the snapshots in {sum(part.length for part in wanted)} records")
        indexed = partial(index_batches, claims=claims, since=since, on_corrupt=on_corrupt)
        entries = self._context.mapped(wanted, indexed, _SCHEMA)
        self._append(entries, {part.partition: part.end_offset for part in lacking})

    def starts(self, ranges: Sequence[LogRange]) -> dict[int, Start]:
        """Return where to begin, by log partition, to arrive at the state at the end of each range."""
        if not self._indexed:
            return {}
        bounds = [
            (part.partition, part.first_offset, min(part.end_offset, self._indexed.get(part.partition, 0)))
            for part in ranges
        ]
        found = _newest(self._context, self._entries(), bounds).collect()
        return {row["log_partition"]: Start(row["first_offset"], row["claim_epoch"]) for row in found}

    def _entries(self) -> DataFrame:
        return self._context.spark.read.schema(_SCHEMA).parquet(uri_of(f"{self._place}/entries"))

    def _append(self, entries: DataFrame, ends: Mapping[int, int]) -> None:
        is_new = not self._indexed
        entries.write.mode("overwrite" if is_new else "append").parquet(uri_of(f"{self._place}/entries"))
        self._indexed.update(ends)
        _write_progress(
            self._place,
            {
                "log": self._context.reader.identity,
                "indexed": {str(n): end for n, end in sorted(self._indexed.items())},
            },
        )


def _newest(context: JobContext, entries: DataFrame, bounds: Sequence[tuple[int, int, int]]) -> DataFrame:
    """Return, by log partition, the oldest of the newest snapshots before its bound, and the claim before that."""
    within = context.spark.createDataFrame(list(bounds), "log_partition int, begin bigint, until bigint")
    before = entries.distinct().join(sql.broadcast(within), "log_partition").where("log_offset < until")
    newest = (
        before.where(sql.col("kind") != _CLAIM)
        .groupBy("log_partition", "begin", "until", "group_id", "topic_id", "partition")
        .agg(sql.max(sql.struct("log_offset", "kind")).alias("newest"))
        .where(sql.col("newest.kind") == _SNAPSHOT)
    )
    first = newest.groupBy("log_partition").agg(
        sql.greatest(sql.min("newest.log_offset"), sql.max("begin")).alias("first_offset")
    )
    claims = (
        entries.where(sql.col("kind") == _CLAIM)
        .join(first, "log_partition")
        .where("log_offset < first_offset")
        .groupBy("log_partition")
        .agg(sql.max("log_offset").alias("claim_epoch"))
    )
    return first.join(claims, "log_partition", "left")


def index_batches(
    batches: Iterator[pa.RecordBatch],
    *,
    claims: Mapping[int, int],
    since: Mapping[int, int],
    on_corrupt: OnCorrupt,
) -> Iterator[pa.RecordBatch]:
    """Yield the entries of what one task reads."""
    folds: dict[int, PartitionFold] = {}
    with told_to_driver():
        for number, batch in by_log_partition(batches):
            if number not in folds:
                folds[number] = PartitionFold(new_fold(claims.get(number), on_corrupt))
            outcomes = folds[number].take(batch)
            entries = [
                entry
                for entry in _entries_of(number, batch, outcomes)
                if entry["log_offset"] >= since[number]
            ]
            yield pa.RecordBatch.from_pylist(entries, schema=_ARROW_SCHEMA)


def _entries_of(number: int, batch: pa.RecordBatch, outcomes: Sequence[Outcome]) -> Iterator[dict[str, Any]]:
    keys, offsets = batch.column("key").to_pylist(), batch.column("log_offset").to_pylist()
    values = batch.column("value")
    for row, (key, offset, outcome) in enumerate(zip(keys, offsets, outcomes, strict=True)):
        if outcome is Outcome.CLAIMED:
            yield {"log_partition": number, "log_offset": offset, "kind": _CLAIM}
        elif outcome is Outcome.APPLIED and key[:2] == _SNAPSHOT_KEY:
            record = decode_state_message(key, values[row].as_py())
            assert isinstance(record, ShareSnapshot | StateTombstone)
            yield {
                "log_partition": number,
                "log_offset": offset,
                "kind": _SNAPSHOT if isinstance(record, ShareSnapshot) else _TOMBSTONE,
                "group_id": record.key.group_id,
                "topic_id": topic_id_text(record.key.topic_id),
                "partition": record.key.partition,
            }


_SNAPSHOT_KEY: Final = b"\x00\x00"
"""How the key of a snapshot, and of a tombstone, begins: with the record type."""


def _read_progress(place: str) -> dict[str, Any]:
    system, folder = filesystem_of(place)
    try:
        with system.open_input_stream(f"{folder}/{_PROGRESS}") as file:
            progress = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return progress if isinstance(progress, dict) else {}


def _write_progress(place: str, progress: Mapping[str, object]) -> None:
    system, folder = filesystem_of(place)
    aside = f"{folder}/.{_PROGRESS}.{os.getpid()}"
    with system.open_output_stream(aside) as file:
        file.write(json.dumps(progress).encode())
    system.move(aside, f"{folder}/{_PROGRESS}")
