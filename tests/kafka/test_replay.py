"""`kproxy replay` on the log of a running kproxy in a real Kafka, read with the source in Python."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import functions as sql

from kproxy.jobs import command_line
from kproxy.jobs.sources.data_source import FORMAT, StateLogSource
from kproxy.jobs.sources.kafka_log import KafkaTopic
from kproxy.jobs.sources.kafka_readers import PythonLog, source_options
from tests.real_kafka.administration import create_topic, produce, set_group_settings, unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.raw_share_member import RawShareMember

ACCEPT = 1
RELEASE = 2
DELIVERY_LIMIT = 7


@dataclass(frozen=True)
class Served:
    """A kproxy that served, and a group that consumed: of records 0 to 9 it accepted all but 5, which it released.

    It holds none, so nothing more is written of them.
    """

    kproxy: KproxyProcess
    member: RawShareMember
    group: str
    topic: str
    state: KafkaTopic
    groups: KafkaTopic

    def log(self, spark: Any) -> PythonLog:
        """The log, without any job around it."""
        return PythonLog(spark, self.state, self.groups)

    def replay(self, job: str, *arguments: str | Path) -> Result:
        """Run a job in this process, on the Spark of the tests."""
        source = ["-b", self.state.bootstrap_servers]
        source += ["--state-topic", self.state.name, "--groups-topic", self.groups.name]
        return CliRunner().invoke(command_line.jobs, [job, *source, *map(str, arguments)])


def summary_of(ended: Result) -> Mapping[str, Any]:
    assert ended.stderr, ended
    summary = json.loads(ended.stderr.splitlines()[-1])
    assert isinstance(summary, dict)
    return summary


@pytest.fixture(scope="module")
def served(reference_cluster: KafkaCluster, spark: Any) -> Iterator[Served]:
    brokers, settings = reference_cluster.bootstrap_servers, state_topic_settings()
    topic, group = create_topic(brokers, unique_name("jobs")), unique_name("workers")
    produce(brokers, topic, [str(number) for number in range(10)])
    settings["group.share.delivery.count.limit"] = DELIVERY_LIMIT
    state, groups = (
        KafkaTopic(brokers, str(settings[f"kproxy.{kind}.topic.name"])) for kind in ("state", "groups")
    )
    with KproxyProcess(brokers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        set_group_settings(kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"})
        with RawShareMember(
            kproxy.broker_addresses[1], group=group, topic=topic, member_id="alice"
        ) as member:
            member.join()
            member.fetch_until_acquired()
            member.acknowledge(0, 4, ACCEPT)
            member.acknowledge(5, 5, RELEASE)
            member.acknowledge(6, 9, ACCEPT)
            yield Served(kproxy, member, group, topic, state, groups)


def test_the_log_says_what_the_running_kproxy_believes(served: Served) -> None:
    # When
    ended = served.replay("verify", "--admin-url", served.kproxy.admin_url)

    # Then
    assert ended.exit_code == 0, ended.stdout + ended.stderr
    summary = summary_of(ended)
    assert (summary["sharePartitions"], summary["differences"], summary["violations"]) == (1, 0, 0)
    assert summary["deliveryLimit"] == DELIVERY_LIMIT


def test_a_share_partition_that_stands_still_is_found_by_the_end_of_its_topic(served: Served) -> None:
    # When
    ended = served.replay("stuck", "--quiet", "1ms", "--behind", "100", "-o", "json")

    # Then
    assert ended.exit_code == 0, ended.stdout + ended.stderr
    (record,) = json.loads(ended.stdout)
    assert (record["topicName"], record["offset"], record["reason"]) == (served.topic, 5, "no-progress")
    assert (record["lag"], record["deliveryCount"]) == (1, 1)


def test_the_log_of_another_kproxy_fails_the_check(served: Served) -> None:
    # Given
    with KproxyProcess(served.state.bootstrap_servers, settings=state_topic_settings()) as other:
        other.wait_until_ready()

        # When
        ended = served.replay("verify", "--admin-url", other.admin_url)

    # Then
    assert ended.exit_code == 5, ended.stdout + ended.stderr
    assert "is it the log of this kproxy?" in ended.stderr.splitlines()[-1]
    assert served.state.name in ended.stderr


def test_the_partitions_of_a_small_log_are_read_by_one_task(served: Served, spark: Any) -> None:
    # Given
    log = served.log(spark)
    ranges = [part for part in log.ranges() if part.length]

    # When
    rows = log.records(ranges)

    # Then
    assert len(ranges) > 1
    assert rows.select(sql.spark_partition_id()).distinct().count() == 1
    assert rows.count() == sum(part.length for part in ranges)


def test_the_data_source_has_the_records_that_tasks_read_by_themselves(served: Served, spark: Any) -> None:
    # Given
    log = served.log(spark)
    spark.dataSource.register(StateLogSource)

    # When
    rows = spark.read.format(FORMAT).options(**source_options(served.state)).load()

    # Then
    assert sorted(rows.collect()) == sorted(log.records(log.ranges()).collect())


def test_a_state_has_kafkas_field_names_and_the_name_of_its_topic(served: Served, tmp_path: Path) -> None:
    # When
    ended = served.replay("state-at", "-o", "json", "--index", tmp_path / "index")

    # Then
    assert ended.exit_code == 0, ended.stderr
    (state,) = json.loads(ended.stdout)
    assert (state["groupId"], state["topicName"], state["partition"]) == (served.group, served.topic, 0)
    of_offset = {
        offset: (batch["deliveryState"], batch["deliveryCount"])
        for batch in state["stateBatches"]
        for offset in range(batch["firstOffset"], batch["lastOffset"] + 1)
    }
    assert of_offset[5] == (0, 1)
    assert state["startOffset"] == 5 or of_offset[4] == (2, 1)


@pytest.mark.soak
def test_an_export_goes_on_from_where_the_last_one_ended(served: Served, tmp_path: Path) -> None:
    # Given
    first = served.replay("export", "--to", tmp_path / "history", "--max-records-per-batch", "6")

    # When
    second = served.replay("export", "--to", tmp_path / "history", "-o", "json")

    # Then
    assert (first.exit_code, second.exit_code) == (0, 0), first.stderr + second.stderr
    assert summary_of(first)["batches"] > 1
    assert json.loads(second.stdout) == []


def test_a_topic_that_is_not_there_is_one_line(served: Served) -> None:
    # When
    ended = served.replay("state-at", "--state-topic", "nothing-of-that-name")

    # Then
    assert ended.exit_code == 3
    assert ended.stderr.splitlines()[-1].startswith(
        "Error: the backing cluster has no topic nothing-of-that-name"
    )
