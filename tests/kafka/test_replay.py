"""`kproxy replay` on the log of a running kproxy in a real Kafka, read with the source in Python."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kproxy.jobs import command_line
from tests.kafka.administration import create_topic, produce, set_group_settings, unique_name
from tests.kafka.cluster import KafkaCluster
from tests.kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.kafka.raw_share_member import RawShareMember

ACCEPT = 1
RELEASE = 2
JOB_TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class Served:
    """A kproxy that served, and a group that consumed: of records 0 to 9 it accepted 0 to 4 and released 5."""

    kproxy: KproxyProcess
    member: RawShareMember
    group: str
    topic: str
    source: tuple[str, ...] = field(default=())
    """The options that say where the log is."""

    def replay(self, job: str, *arguments: str | Path) -> Result:
        """Run a job in this process, on the Spark of the tests."""
        return CliRunner().invoke(command_line.jobs, [job, *self.source, *map(str, arguments)])


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
    with KproxyProcess(brokers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        set_group_settings(kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"})
        with RawShareMember(
            kproxy.broker_addresses[1], group=group, topic=topic, member_id="alice"
        ) as member:
            member.join()
            while not member.fetch()[0].acquired_records:
                pass
            member.acknowledge(0, 4, ACCEPT)
            member.acknowledge(5, 5, RELEASE)
            source = ["-b", brokers]
            for kind in ("state", "groups"):
                source += [f"--{kind}-topic", str(settings[f"kproxy.{kind}.topic.name"])]
            yield Served(kproxy, member, group, topic, tuple(source))


def test_the_log_says_what_the_running_kproxy_believes(served: Served) -> None:
    # When
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "kproxy",
            "replay",
            "verify",
            *served.source,
            "--admin-url",
            served.kproxy.admin_url,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=JOB_TIMEOUT_SECONDS,
    )

    # Then
    assert ended.returncode == 0, ended.stdout + ended.stderr
    summary = json.loads(ended.stderr.splitlines()[-1])
    assert (summary["sharePartitions"], summary["differences"], summary["violations"]) == (1, 0, 0)


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


def test_an_export_goes_on_from_where_the_last_one_ended(served: Served, tmp_path: Path) -> None:
    # Given
    first = served.replay("export", "--to", tmp_path / "history", "--max-records-per-batch", "3")

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
