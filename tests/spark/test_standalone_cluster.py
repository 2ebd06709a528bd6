"""The jobs on a cluster of separate processes, submitted as deploy/spark/README.md says; no node has kproxy itself."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from kproxy.errors import ExitCode
from tests.real_kafka.administration import unique_name
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
from tests.spark.standalone import StandaloneCluster, clean_environment, submitted
from tests.worlds.consumptions import Consumption

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(1800)]

PROGRAM: Final = PROJECT_ROOT / "deploy" / "spark" / "replay_job.py"
DEMO: Final = Path(__file__).parent / "data" / "demo.jsonl"


@dataclass(frozen=True)
class Submitting:
    """Where jobs are submitted to, and what is sent along: kproxy as a zip file, and Spark's Kafka source."""

    spark: Spark40
    cluster: StandaloneCluster
    package: Path
    folder: Path

    def job(self, name: str, *arguments: str | Path) -> "Submitted":
        out = self.folder / f"{unique_name(name)}.json"
        options = ("--py-files", self.package, "--jars", ",".join(map(str, self.spark.jars)))
        given = (name, *arguments, "-o", "json", "--out", out)
        python = {"PYSPARK_PYTHON": str(self.spark.python)}
        command = submitted(self.spark, self.cluster.master, PROGRAM, given, options)
        return Submitted(run(command, clean_environment(self.spark) | python, folder=self.folder), out)


@dataclass(frozen=True)
class Submitted:
    ended: Ended
    out: Path

    @property
    def exit_code(self) -> int:
        return self.ended.exit_code

    @property
    def rows(self) -> list[dict[str, Any]]:
        assert self.ended.exit_code == 0, self.ended.stdout + self.ended.stderr
        rows = json.loads(self.out.read_text())
        assert isinstance(rows, list)
        return rows

    @property
    def summary(self) -> Mapping[str, Any]:
        """Spark puts both streams of a submitted program onto its standard output."""
        summary = json.loads(self.ended.stdout.splitlines()[-1])
        assert isinstance(summary, dict)
        return summary


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(PROJECT_ROOT)], check=True, capture_output=True)
    (built,) = folder.glob("kproxy_share_groups-*.whl")
    # Spark 4.0 puts no other archive onto the path of Python than one whose name ends so.
    return built.rename(folder / "kproxy.zip")


@pytest.fixture(scope="module")
def submitting(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submitting]:
    spark = spark_4_0()
    folder = tmp_path_factory.mktemp("standalone")
    with StandaloneCluster(spark, folder) as cluster:
        yield Submitting(spark, cluster, package, folder)


@pytest.fixture(scope="module")
def made() -> list[Consumption]:
    return made_up(23)


@pytest.fixture(scope="module")
def shared(made: Sequence[Consumption], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log as Parquet, on a path that all processes reach."""
    return written_to(tmp_path_factory.mktemp("shared"), made)


@pytest.fixture
def given(source: str, request: pytest.FixtureRequest) -> tuple[str | Path, ...]:
    """The options that say where the log is."""
    found = request.getfixturevalue(source)
    return ("--files", found) if isinstance(found, Path) else tuple(found)


@pytest.fixture(scope="module")
def topic(made: Sequence[Consumption]) -> Iterator[tuple[str, ...]]:
    """The options that lead to the same log in a real Kafka."""
    with KafkaCluster() as kafka:
        create_log(kafka.bootstrap_servers, "__kproxy_share_state")
        append(
            kafka.bootstrap_servers,
            "__kproxy_share_state",
            {number: each.records for number, each in enumerate(made)},
        )
        yield ("-b", kafka.bootstrap_servers, "--source", "jar")


def test_neither_driver_nor_executors_have_kproxy_unless_it_is_sent(submitting: Submitting) -> None:
    # When
    found = run(
        [submitting.spark.python, "-c", "import kproxy"],
        clean_environment(submitting.spark),
        folder=submitting.folder,
    )

    # Then
    assert "No module named 'kproxy'" in found.stderr


@pytest.mark.parametrize("source", ["shared", "topic"])
class TestJobs:
    def test_the_state_is_what_recovery_makes_of_the_records(
        self, submitting: Submitting, made: Sequence[Consumption], given: tuple[str | Path, ...]
    ) -> None:
        # When
        states = submitting.job("state-at", *given, "--no-index")

        # Then
        assert shown(states.rows) == states_of(made)
        assert states.summary["records"] == sum(len(each.records) for each in made)

    def test_an_export_is_the_whole_history_and_answers_questions(
        self,
        submitting: Submitting,
        made: Sequence[Consumption],
        given: tuple[str | Path, ...],
        tmp_path: Path,
    ) -> None:
        # Given
        exported = submitting.job("export", *given, "--to", tmp_path / "history")

        # When
        counted = submitting.job("throughput", "--files", tmp_path / "history")

        # Then
        history = silver_of({number: each.records for number, each in enumerate(made)})
        assert sum(row["rows"] for row in exported.rows) == len(history)
        assert in_order(silver_at(tmp_path / "history")) == in_order(history)
        accepted = sum(fact.record_count for each in made for fact in each.facts if fact.event == "accept")
        assert sum(row["accepted"] for row in counted.rows) == accepted


def test_a_log_that_kproxy_wrote_is_sound(submitting: Submitting) -> None:
    # When
    verified = submitting.job("verify", "--offline", "--files", DEMO)

    # Then
    assert [row for row in verified.rows if row["kind"] != "notice"] == []
    assert verified.summary["violations"] == 0


def test_a_job_that_fails_says_so_in_one_line_and_leaves_nothing(submitting: Submitting) -> None:
    # When
    failed = submitting.job("state-at", "-b", "127.0.0.1:9", "--source", "jar")

    # Then
    assert failed.exit_code == ExitCode.CANNOT_CONNECT
    assert len([line for line in failed.ended.stdout.splitlines() if line.startswith("Error: ")]) == 1
    assert not failed.out.exists()


def test_every_worker_ran_executors_and_nothing_runs_on_when_the_cluster_is_gone(
    submitting: Submitting, tmp_path: Path
) -> None:
    # Given
    with StandaloneCluster(submitting.spark, tmp_path) as cluster:
        own = replace(submitting, cluster=cluster)
        assert own.job("verify", "--offline", "--files", DEMO).exit_code == 0
        started = [psutil.Process(process_id) for process_id in cluster.process_ids]
        started += [child for process in started for child in process.children(recursive=True)]

    # When
    _, left = psutil.wait_procs(started, timeout=10)

    # Then
    assert left == []
    executors = [list(folder.glob("app-*/*/stderr")) for folder in cluster.worker_folders]
    assert all(executors)
