"""`deploy/spark/yarn.sh`, as it is, on a real YARN: what it packs is all of kproxy and of Python that a node has."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.paths import PROJECT_ROOT
from tests.spark.kafka_logs import (
    append,
    create_log,
    in_order,
    made_up,
    shown,
    silver_at,
    silver_of,
    states_of,
    written_to,
)
from tests.spark.spark_4_0.environment import Spark40, spark_4_0
from tests.spark.spark_4_0.jobs import Ended, run
from tests.spark.yarn.cluster import YarnCluster, packed_environment

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(1800)]


@dataclass(frozen=True)
class Submitting:
    spark: Spark40
    cluster: YarnCluster
    archive: Path
    folder: Path

    def job(self, mode: str, *arguments: str | Path) -> Ended:
        """Run yarn.sh; in client mode the driver is of this machine, and has kproxy itself."""
        chosen = {"ENVIRONMENT": self.archive.as_uri(), "EXECUTORS": "1", "DEPLOY_MODE": mode}
        if mode == "client":
            chosen |= {"PYSPARK_DRIVER_PYTHON": str(self.spark.python), "PYTHONPATH": str(PROJECT_ROOT)}
        command = [PROJECT_ROOT / "deploy" / "spark" / "yarn.sh", *arguments]
        return run(command, self.cluster.environment | chosen, folder=self.folder)


@pytest.fixture(scope="module")
def submitting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submitting]:
    spark, folder = spark_4_0(), tmp_path_factory.mktemp("yarn")
    archive = packed_environment(spark, folder / "environment.tar.gz")
    with YarnCluster(spark, folder) as cluster:
        yield Submitting(spark, cluster, archive, folder)


def test_in_cluster_mode_driver_and_executors_are_containers(submitting: Submitting, tmp_path: Path) -> None:
    # Given
    made = made_up(29)
    written_to(tmp_path / "log", made)

    # When
    ended = submitting.job(
        *("cluster", "state-at", "--files", tmp_path / "log", "--no-index"),
        *("-o", "json", "--out", tmp_path / "states.json"),
    )

    # Then
    assert ended.exit_code == 0, ended.stderr[-4000:]
    assert shown(json.loads((tmp_path / "states.json").read_text())) == states_of(made)


def test_in_client_mode_a_topic_is_exported(submitting: Submitting, tmp_path: Path) -> None:
    # Given
    log = {number: each.records for number, each in enumerate(made_up(31))}
    with KafkaCluster() as kafka:
        create_log(kafka.bootstrap_servers, "__kproxy_share_state")
        append(kafka.bootstrap_servers, "__kproxy_share_state", log)

        # When
        ended = submitting.job(
            "client", "export", "-b", kafka.bootstrap_servers, "--source", "jar", "--to", tmp_path / "history"
        )

    # Then
    assert ended.exit_code == 0, ended.stderr[-4000:]
    assert in_order(silver_at(tmp_path / "history")) == in_order(silver_of(log))


def test_the_exit_code_of_a_job_that_fails_is_not_0(submitting: Submitting, tmp_path: Path) -> None:
    # When
    ended = submitting.job("cluster", "state-at", "--files", tmp_path / "nothing")

    # Then
    assert ended.exit_code != os.EX_OK
