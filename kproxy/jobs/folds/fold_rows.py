"""A fold as rows: one per share-partition, and one for the log partition itself.

Folds on executors yield them, and an export keeps them for its next micro-batch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from kproxy.jobs.sources.log_reader import Gap
from kproxy.jobs.sources.schemas import arrow_schema_of
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    topic_id_of,
    topic_id_text,
)
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_log_fold import FoldImage, SnapshotPlace, StateLogFold
from kproxy.wording import counted

STATE: Final = "state"
"""A row with the state of a share-partition."""
ORPHAN: Final = "orphan"
"""A row of a share-partition that has updates but no snapshot: `snapshot_offset` is that of the first update."""
PARTITION: Final = "partition"
"""The row of the log partition."""

BATCHES_TYPE: Final = (
    "array<struct<firstOffset: bigint, lastOffset: bigint, deliveryState: int, deliveryCount: int>>"
)
FOLD_SCHEMA: Final = f"""
    log_partition int, kind string,
    group_id string, topic_id string, partition int,
    snapshot_epoch int, state_epoch int, leader_epoch int, start_offset bigint, delivery_complete_count int,
    state_batches {BATCHES_TYPE},
    snapshot_offset bigint, updates_since int, create_ms bigint, written_ms bigint,
    claim_epoch bigint, first_offset bigint, last_taken_offset bigint, applied_offset bigint,
    record_count bigint, ignored_count bigint, corrupt_count bigint
"""
"""Rows of a fold. Columns that do not belong to a row's kind are null."""

FOLD_ARROW_SCHEMA: Final = arrow_schema_of(FOLD_SCHEMA)
"""The same for pyarrow."""

JsonRow = dict[str, Any]


@dataclass(slots=True)
class Counts:
    """How many records a fold read; and how many of these it ignored, or skipped as corrupt."""

    record_count: int = 0
    ignored_count: int = 0
    corrupt_count: int = 0


def rows_of_fold(log_partition: int, fold: StateLogFold, counts: Counts) -> list[JsonRow]:
    """Return all rows of `fold`."""
    image = fold.image()
    states = [
        {
            "log_partition": log_partition,
            "kind": STATE,
            **key_columns(key),
            **_state_columns(state, image.places[key]),
        }
        for key, state in image.states.items()
    ]
    orphans = [
        {"log_partition": log_partition, "kind": ORPHAN, **key_columns(key), "snapshot_offset": offset}
        for key, offset in image.orphans.items()
    ]
    whole = {
        "log_partition": log_partition,
        "kind": PARTITION,
        "claim_epoch": image.claim_epoch,
        "first_offset": image.first_offset,
        "last_taken_offset": image.last_taken_offset,
        "applied_offset": image.applied_offset,
        "record_count": counts.record_count,
        "ignored_count": counts.ignored_count,
        "corrupt_count": counts.corrupt_count,
    }
    return [*states, *orphans, whole]


def without_snapshots(log_partition: int, count: int, first_offset: int) -> Gap:
    """Return the gap in which `count` share-partitions lost their snapshot. Their updates begin at `first_offset`."""
    return Gap(log_partition, 0, first_offset, f"the snapshot of {counted(count, 'share-partition')} is lost")


def batch_of_rows(rows: Sequence[JsonRow]) -> pa.RecordBatch:
    """Return rows as a batch of FOLD_ARROW_SCHEMA."""
    return pa.RecordBatch.from_pylist(list(rows), schema=FOLD_ARROW_SCHEMA)


def image_of_rows(rows: Iterable[Mapping[str, Any]]) -> FoldImage:
    """Return the image of the fold that yielded `rows`, which are those of one log partition."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {STATE: [], ORPHAN: [], PARTITION: []}
    for row in rows:
        by_kind[row["kind"]].append(row)
    (whole,) = by_kind[PARTITION]
    return FoldImage(
        states={key_of(row): state_of(row) for row in by_kind[STATE]},
        places={key_of(row): _place_of(row) for row in by_kind[STATE]},
        orphans={key_of(row): row["snapshot_offset"] for row in by_kind[ORPHAN]},
        claim_epoch=whole["claim_epoch"],
        first_offset=whole["first_offset"],
        last_taken_offset=whole["last_taken_offset"],
        applied_offset=whole["applied_offset"],
    )


def key_columns(key: SharePartitionKey) -> JsonRow:
    """Return the columns that name a share-partition."""
    return {"group_id": key.group_id, "topic_id": topic_id_text(key.topic_id), "partition": key.partition}


def key_of(row: Mapping[str, Any]) -> SharePartitionKey:
    """Return the share-partition of a row."""
    return SharePartitionKey(GroupId(row["group_id"]), topic_id_of(row["topic_id"]), row["partition"])


def state_of(row: Mapping[str, Any]) -> DurableShareState:
    """Return the durable state of a row."""
    return DurableShareState(
        StateEpoch(row["state_epoch"]),
        LeaderEpoch(row["leader_epoch"]),
        SnapshotEpoch(row["snapshot_epoch"]),
        row["start_offset"],
        row["delivery_complete_count"],
        tuple(
            StateBatch(
                batch["firstOffset"],
                batch["lastOffset"],
                RecordState(batch["deliveryState"]),
                batch["deliveryCount"],
            )
            for batch in row["state_batches"]
        ),
    )


def _place_of(row: Mapping[str, Any]) -> SnapshotPlace:
    return SnapshotPlace(row["snapshot_offset"], row["updates_since"], row["create_ms"], row["written_ms"])


def _state_columns(state: DurableShareState, place: SnapshotPlace) -> JsonRow:
    return {
        "snapshot_epoch": state.snapshot_epoch,
        "state_epoch": state.state_epoch,
        "leader_epoch": state.leader_epoch,
        "start_offset": state.start_offset,
        "delivery_complete_count": state.delivery_complete_count,
        "state_batches": [
            {
                "firstOffset": batch.first_offset,
                "lastOffset": batch.last_offset,
                "deliveryState": int(batch.state),
                "deliveryCount": batch.delivery_count,
            }
            for batch in state.state_batches
        ],
        "snapshot_offset": place.snapshot_offset,
        "updates_since": place.updates_since,
        "create_ms": place.create_timestamp_ms,
        "written_ms": place.written_ms,
    }
