"""The oldest Spark that the jobs run on, 4.0.0, and Spark's own Kafka source, on a real Kafka."""

import json
import os
import random
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from kproxy.errors import ExitCode
from kproxy.share.identifiers import topic_id_text
from kproxy.statelog.fold import StateLogFold
from tests.kafka.cluster import KafkaCluster
from tests.kafka.paths import PROJECT_ROOT
from tests.spark.consumptions import MEMBERS, STEP_KINDS, Consumption, Step, consumption_of
from tests.spark.spark_4_0.environment import Spark40, spark_4_0

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaProducer
    from kafka.admin import KafkaAdminClient, NewTopic

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]

TOPIC: Final = "__kproxy_share_state"
_LOG_PARTITIONS: Final = 3
_NEWER: Final = frozenset({"kproxy.jobs.stream_reader"})
"""What only the source in Python needs, which asks for Spark 4.2 before it gets there."""
_IMPORT_ALL: Final = f"""
import importlib, pkgutil, kproxy.jobs
for module in pkgutil.walk_packages(kproxy.jobs.__path__, "kproxy.jobs."):
    if "__main__" not in module.name and ".pictures" not in module.name and module.name not in {set(_NEWER)!r}:
        importlib.import_module(module.name)
"""


@pytest.fixture(scope="module")
def old_spark() -> Spark40:
    return spark_4_0()


def run_python(spark: Spark40, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = os.environ | {
        "PYSPARK_PYTHON": str(spark.python),
        "PYSPARK_DRIVER_PYTHON": str(spark.python),
        "PYSPARK_SUBMIT_ARGS": spark.submit_arguments,
        "PYTHONPATH": str(PROJECT_ROOT),
    }
    command = [str(spark.python), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def replay(spark: Spark40, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_python(spark, "-m", "kproxy.jobs", *arguments)


def written_to(cluster: KafkaCluster) -> list[Consumption]:
    """Write a history to each partition of the state topic."""
    choose = random.Random(7)
    made = [consumption_of(number, _steps(choose)) for number in range(_LOG_PARTITIONS)]
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    admin.create_topics([NewTopic(TOPIC, _LOG_PARTITIONS, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all")
    for number, each in enumerate(made):
        for record in each.records:
            producer.send(
                *(TOPIC, record.value, record.key, list(record.headers), number, record.timestamp_ms)
            )
    producer.close()
    return made


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
        for _ in range(60)
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


def test_the_jobs_import_on_spark_4_0(old_spark: Spark40) -> None:
    # When
    done = run_python(old_spark, "-W", "ignore", "-c", _IMPORT_ALL)

    # Then
    assert done.returncode == 0, done.stderr


def test_the_source_in_python_asks_for_a_newer_spark_in_one_line(old_spark: Spark40) -> None:
    # When
    done = replay(old_spark, "state-at", "-b", "127.0.0.1:9", "--source", "python")

    # Then
    said = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert len(said) == 1
    assert "needs Spark 4.2 or later, and this is 4.0.0" in said[0]
    assert not done.stdout


def test_sparks_own_source_reads_what_recovery_reads(old_spark: Spark40) -> None:
    # Given
    with KafkaCluster() as cluster:
        made = written_to(cluster)

        # When
        states = replay(old_spark, "state-at", "-b", cluster.bootstrap_servers, "-o", "json")
        counted = replay(
            old_spark, "throughput", "-b", cluster.bootstrap_servers, "--source", "jar", "-o", "json"
        )

    # Then
    assert states.returncode == counted.returncode == ExitCode.OK, states.stderr + counted.stderr
    assert shown(json.loads(states.stdout)) == states_of(made)
    accepted = sum(fact.record_count for each in made for fact in each.facts if fact.event == "accept")
    assert sum(row["accepted"] for row in json.loads(counted.stdout)) == accepted
