"""An index of the snapshots in a log: where a fold may begin so that it arrives at the same state.

For each log partition it has, in order, every snapshot and tombstone that was applied and every claim; and, so that a
lost share-partition is not mistaken for one that never was, the first update of each whose snapshot is gone. The state
at an offset needs no record before the oldest of the share-partitions' newest snapshots below it; see
`StateLogFold.recovery_point`. The index is made by folding, because only a fold decides which snapshots apply; and it
is extended by folding from its own last recovery point.

On disk it is a folder: Parquet files of entries, and `progress.json`, which is written last and says how far the
entries are valid. Later ones are left over from a run that was broken off.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.failures import told_to_driver
from kproxy.jobs.folds.claim_columns import claim_epochs
from kproxy.jobs.folds.fold_rows import key_columns, without_snapshots
from kproxy.jobs.folds.folding import OnCorrupt, PartitionFold, log_partitions, new_fold
from kproxy.jobs.sources.local_rows import local_frame
from kproxy.jobs.sources.log_files import filesystem_of, pattern_of, uri_of
from kproxy.jobs.sources.log_reader import Gap
from kproxy.jobs.sources.schemas import arrow_schema_of
from kproxy.jobs.sources.tracked_log import TrackedLog
from kproxy.statelog.state_log_fold import Outcome
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, StateTombstone, decode_state_message
from kproxy.wording import counted

_SCHEMA: Final = (
    "log_partition int, log_offset bigint, kind string, group_id string, topic_id string, partition int"
)
_ARROW_SCHEMA: Final = arrow_schema_of(_SCHEMA)
_BOUNDS_SCHEMA: Final = arrow_schema_of("log_partition int, begin bigint, until bigint")
_SNAPSHOT: Final = "snapshot"
_TOMBSTONE: Final = "tombstone"
_CLAIM: Final = "claim"
_ORPHAN: Final = "orphan"
"""The first update of a share-partition whose snapshot is not there."""
_FORGOTTEN: Final = "forgotten"
"""No earlier entry of the log partition is valid."""
_KINDS: Final = {ShareSnapshot: _SNAPSHOT, StateTombstone: _TOMBSTONE, ShareUpdate: _ORPHAN}
_FORM: Final = 2
"""The version of the entries; an index of another version is rebuilt."""
_PROGRESS: Final = "progress.json"


@dataclass(frozen=True, slots=True)
class Start:
    """Where a fold of a log partition begins, and the offset of the claim in force there; None before any."""

    first_offset: int
    claim_epoch: int | None


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """What to fold, with the claims in force before it by log partition.

    `lost` has where the snapshots were of share-partitions that have none left; None when only the fold can find out.
    """

    ranges: Sequence[LogRange]
    claims: Mapping[int, int] = field(default_factory=dict)
    lost: Sequence[Gap] | None = None


def plan_by_index(index: "SnapshotIndex", ranges: Sequence[LogRange]) -> FoldPlan:
    """Return the shortest fold that ends with the state at the ends of `ranges`, which begin where the log does."""
    starts = index.starts(ranges)
    shorter = [
        part.within(starts[part.partition].first_offset, part.end_offset)
        if part.partition in starts
        else part
        for part in ranges
    ]
    claims = {number: start.claim_epoch for number, start in starts.items() if start.claim_epoch is not None}
    return FoldPlan(shorter, claims, index.lost(ranges))


def default_place(identity: str) -> str:
    """Return the folder for the index of a log, in the cache of this user."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(cache) / "kproxy" / "snapshot-index" / sha256(identity.encode()).hexdigest()[:32])


class SnapshotIndex:
    """The index in one folder."""

    def __init__(self, log: TrackedLog, place: str, indexed: Mapping[int, int]) -> None:
        self._log = log
        self._place = place
        self._indexed = dict(indexed)

    @staticmethod
    def open(log: TrackedLog, place: str | None = None) -> "SnapshotIndex":
        """Return the index at `place`, the user's cache by default; empty when there is none, or one of another log."""
        place = place or default_place(log.identity)
        progress = _read_progress(place)
        if (progress.get("log"), progress.get("form")) != (log.identity, _FORM):
            return SnapshotIndex(log, place, {})
        return SnapshotIndex(log, place, {int(number): end for number, end in progress["indexed"].items()})

    def extend(
        self, ranges: Sequence[LogRange], on_corrupt: OnCorrupt, *, say: Callable[[str], None]
    ) -> None:
        """Index what the ranges have beyond what is indexed; `say` what that takes."""
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
        say(f"Indexing the snapshots in {counted(sum(part.length for part in wanted), 'record')}")
        indexed = partial(index_batches, claims=claims, since=since, on_corrupt=on_corrupt)
        entries = self._log.mapped(wanted, indexed, _SCHEMA)
        self._append(entries, {part.partition: part.end_offset for part in lacking})

    def starts(self, ranges: Sequence[LogRange]) -> dict[int, Start]:
        """Return where to begin, by log partition, to arrive at the state at the end of each range."""
        if not self._indexed:
            return {}
        entries = self._entries()
        found = _starts(entries, _newest(entries, self._bounds(ranges))).collect()
        return {row["log_partition"]: Start(row["first_offset"], row["claim_epoch"]) for row in found}

    def lost(self, ranges: Sequence[LogRange]) -> list[Gap]:
        """Return where the snapshots were of share-partitions that have none left at the end of each range."""
        newest = _newest(self._entries(), self._bounds(ranges))
        is_gone = (sql.col("newest.kind") == _SNAPSHOT) & (sql.col("newest.log_offset") < sql.col("begin"))
        found = (
            newest.where(is_gone | (sql.col("newest.kind") == _ORPHAN))
            .groupBy("log_partition")
            .agg(
                sql.count(sql.lit(1)).alias("count"),
                sql.min(sql.greatest("newest.log_offset", "begin")).alias("first"),
            )
        )
        return [
            without_snapshots(row["log_partition"], row["count"], row["first"]) for row in found.collect()
        ]

    def _bounds(self, ranges: Sequence[LogRange]) -> DataFrame:
        bounds = (
            {
                "log_partition": part.partition,
                "begin": part.first_offset,
                "until": min(part.end_offset, self._indexed.get(part.partition, 0)),
            }
            for part in ranges
        )
        return local_frame(self._log.spark, bounds, _BOUNDS_SCHEMA)

    def _entries(self) -> DataFrame:
        return self._log.spark.read.schema(_SCHEMA).parquet(pattern_of(f"{self._place}/entries"))

    def _append(self, entries: DataFrame, ends: Mapping[int, int]) -> None:
        is_new = not self._indexed
        entries.write.mode("overwrite" if is_new else "append").parquet(uri_of(f"{self._place}/entries"))
        self._indexed.update(ends)
        _write_progress(
            self._place,
            {
                "log": self._log.identity,
                "form": _FORM,
                "indexed": {str(n): end for n, end in sorted(self._indexed.items())},
            },
        )


def _newest(entries: DataFrame, bounds: DataFrame) -> DataFrame:
    """Return the newest entry of each share-partition before the bound of its log partition, with its bounds."""
    before = entries.distinct().join(sql.broadcast(bounds), "log_partition").where("log_offset < until")
    forgotten = (
        before.where(sql.col("kind") == _FORGOTTEN)
        .groupBy("log_partition")
        .agg(sql.max("log_offset").alias("counts_from"))
    )
    return (
        before.where(~sql.col("kind").isin(_CLAIM, _FORGOTTEN))
        .join(sql.broadcast(forgotten), "log_partition", "left")
        .where("counts_from IS NULL OR log_offset >= counts_from")
        .groupBy("log_partition", "begin", "until", "group_id", "topic_id", "partition")
        .agg(sql.max(sql.struct("log_offset", "kind")).alias("newest"))
    )


def _starts(entries: DataFrame, newest: DataFrame) -> DataFrame:
    """Return, by log partition, the oldest of the newest snapshots, and the claim before that."""
    first = (
        newest.where(sql.col("newest.kind") == _SNAPSHOT)
        .groupBy("log_partition")
        .agg(sql.greatest(sql.min("newest.log_offset"), sql.max("begin")).alias("first_offset"))
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
    with told_to_driver(can_skip=on_corrupt == "stop"):
        for number, found in log_partitions(batches):
            claim_epoch = claims.get(number)
            indexer = _Indexer(number, PartitionFold(new_fold(claim_epoch, on_corrupt)), claim_epoch)
            for batch in found:
                entries = [entry for entry in indexer.entries(batch) if entry["log_offset"] >= since[number]]
                yield pa.RecordBatch.from_pylist(entries, schema=_ARROW_SCHEMA)


@dataclass(slots=True)
class _Indexer:
    """Makes the entries of a log partition, along its fold."""

    number: int
    folded: PartitionFold
    first_offset: int | None
    """The first offset of the fold, or the claim that it began with; None before any."""
    orphans: set[bytes] = field(default_factory=set)
    """The share-partitions, by their keys without the record type, that have an entry as orphans since they last had
    a snapshot."""

    def entries(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """Yield the entries of the next records."""
        claim_epoch: int | None = self.folded.fold.claim_epoch
        outcomes = self.folded.take(batch)
        named = claim_epochs(batch.column("headers")) or [None] * len(outcomes)
        keys, offsets = batch.column("key").to_pylist(), batch.column("log_offset").to_pylist()
        values = batch.column("value")
        for row, (key, offset, epoch, outcome) in enumerate(zip(keys, offsets, named, outcomes, strict=True)):
            if self.first_offset is None:
                self.first_offset = offset
            if outcome is Outcome.CLAIMED:
                claim_epoch = offset
                yield self._entry(offset, _CLAIM)
            elif outcome is Outcome.APPLIED or outcome is Outcome.IGNORED_NO_SNAPSHOT:
                if epoch is not None and epoch != claim_epoch:
                    claim_epoch = epoch
                    yield from self._forgotten(offset, epoch)
                yield from self._of_share_partition(key, offset, values[row], outcome)

    def _forgotten(self, offset: int, claim_epoch: int) -> Iterator[dict[str, Any]]:
        """Yield an entry when a record names a claim older than the first record: all records before it were stale."""
        assert self.first_offset is not None
        if claim_epoch < self.first_offset < offset:
            self.orphans.clear()
            yield self._entry(offset, _FORGOTTEN)

    def _of_share_partition(
        self, key: bytes, offset: int, value: pa.Scalar, outcome: Outcome
    ) -> Iterator[dict[str, Any]]:
        of, is_update = key[_TYPE_BYTES:], key[:_TYPE_BYTES] != _SNAPSHOT_KEY
        if is_update and (outcome is Outcome.APPLIED or of in self.orphans):
            return
        record = decode_state_message(key, value.as_py())
        assert isinstance(record, ShareSnapshot | ShareUpdate | StateTombstone)
        if is_update:
            self.orphans.add(of)
        else:
            self.orphans.discard(of)
        yield self._entry(offset, _KINDS[type(record)]) | key_columns(record.key)

    def _entry(self, offset: int, kind: str) -> dict[str, Any]:
        return {"log_partition": self.number, "log_offset": offset, "kind": kind}


_TYPE_BYTES: Final = 2
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
