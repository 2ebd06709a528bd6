"""Logs made up here, put into a real Kafka, and what must come out of them again."""

import json
import random
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from confluent_kafka import Producer

from kproxy.jobs.history.silver import SILVER_ARROW_SCHEMA, silver_batches
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.share.identifiers import topic_id_text
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.wire.records import Record
from tests.worlds.consumptions import MEMBERS, STEP_KINDS, Consumption, Step, consumption_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import TopicPartition
    from kafka.admin import KafkaAdminClient, NewTopic

LOG_PARTITIONS: Final = 3
_STEPS: Final = 60
_DELIVERY_TIMEOUT_S: Final = 30.0


def made_up(seed: int, partition_count: int = LOG_PARTITIONS) -> list[Consumption]:
    """Return a history for each log partition."""
    choose = random.Random(seed)
    return [consumption_of(number, _steps(choose)) for number in range(partition_count)]


def _steps(choose: random.Random) -> Sequence[Step]:
    return [
        Step(
            partition=choose.randrange(3),
            kind=choose.choice(STEP_KINDS),
            member=choose.choice(MEMBERS),
            first=choose.randrange(7),
            length=choose.randint(1, 8),
            pause_ms=choose.randrange(40_000),
        )
        for _ in range(_STEPS)
    ]


def create_log(bootstrap_servers: str, topic: str, partition_count: int = LOG_PARTITIONS) -> None:
    """Create a topic for a log."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)
    admin.create_topics([NewTopic(topic, partition_count, 1)])
    admin.close()


def append(bootstrap_servers: str, topic: str, records: Mapping[int, Iterable[Record]]) -> None:
    """Append records to the partitions of a topic, also of one that is internal to Kafka."""
    # Who has this name may write to internal topics.
    producer = Producer({"bootstrap.servers": bootstrap_servers, "client.id": "__admin_client"})
    failures: list[object] = []
    for number, those in records.items():
        for record in those:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=number,
                timestamp=record.timestamp_ms,
                headers=list(record.headers),
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
    left = producer.flush(_DELIVERY_TIMEOUT_S)
    assert (left, failures) == (0, [])


def written_to(folder: Path, made: Sequence[Consumption]) -> Path:
    """Write histories as the Parquet that `export --records` makes; return the folder."""
    folder.mkdir(exist_ok=True)
    for number, each in enumerate(made):
        table = pa.Table.from_batches([batch_of(number, each.records)])
        pq.write_table(table, folder / f"{number}.parquet")
    return folder


def expire(bootstrap_servers: str, topic: str, first_offsets: Mapping[int, int]) -> None:
    """Have partitions of a topic begin at these offsets, as retention would."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)
    admin.delete_records({TopicPartition(topic, number): first for number, first in first_offsets.items()})
    admin.close()


def silver_of(records: Mapping[int, Sequence[Record]]) -> list[dict[str, Any]]:
    """Return the silver rows of whole log partitions, made without any Spark."""
    return [
        row
        for number, those in records.items()
        for batch in silver_batches(iter([batch_of(number, those)]), images={})
        for row in batch.to_pylist()
    ]


def states_of(made: Sequence[Consumption]) -> dict[tuple[str, str, int], tuple[int, ...]]:
    """What recovery makes of the same records."""
    states: dict[tuple[str, str, int], tuple[int, ...]] = {}
    for each in made:
        fold = StateLogFold()
        for record in each.records:
            fold.apply(record)
        states |= {
            (key.group_id, topic_id_text(key.topic_id), key.partition): (
                *(state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count),
                len(state.state_batches),
            )
            for key, state in fold.states.items()
        }
    return states


def shown(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, int], tuple[int, ...]]:
    return {
        (row["groupId"], row["topicId"], row["partition"]): (
            *(row["stateEpoch"], row["leaderEpoch"], row["startOffset"], row["deliveryCompleteCount"]),
            len(row["stateBatches"]),
        )
        for row in rows
    }


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=repr) for row in rows)


def silver_at(folder: Path) -> list[dict[str, Any]]:
    table = ds.dataset(folder, format="parquet", partitioning="hive").to_table(
        list(SILVER_ARROW_SCHEMA.names)
    )
    return list(table.to_pylist())
