"""Ten million records go through executors, and the driver stays small: it never holds any of them."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
import pyspark
import pytest

from tests.real_kafka import processes
from tests.spark.log_generator import write_log, write_partition
from tests.spark.spark_4_0.environment import Spark40
from tests.spark.standalone import StandaloneCluster

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(1800)]

RECORDS: Final = 10_000_000
SHARE_PARTITIONS: Final = 800
MOST_BYTES: Final = 2**30
LOOK_EVERY_S: Final = 0.2
SETTINGS: Final = (
    "spark.driver.memory=512m",
    "spark.executor.memory=512m",
    "spark.executor.cores=1",
    "spark.eventLog.enabled=true",
    "spark.eventLog.compress=false",
    "spark.eventLog.rolling.enabled=false",
)
"""Java's part of the driver is kept to what is left of a GiB beside Python's and beside its own code."""


class InstalledSpark(Spark40):
    """The Spark that kproxy is installed with."""

    def program(self, name: str) -> Path:
        return Path(pyspark.__file__).parent / "bin" / name


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that went through."""

    summary: Mapping[str, Any]
    largest_driver_bytes: int
    """What the driver's processes occupied at most, all together: Python's, Java's, and whatever these started."""
    records_read: Mapping[int, int]
    """How many records the tasks of each stage read, by Spark's own metrics."""
    places: frozenset[str]
    """Where tasks ran."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("log")
    write_log(folder, write_partition, records=RECORDS, share_partitions=SHARE_PARTITIONS)
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """Executors of their own: in local mode the driver would be the executor as well."""
    spark = InstalledSpark(Path(sys.executable), ())
    with StandaloneCluster(spark, tmp_path_factory.mktemp("cluster")) as running:
        yield running


def replayed(cluster: StandaloneCluster, folder: Path, *arguments: str | Path) -> Ended:
    """Run `kproxy replay` as a driver of the cluster, and look at its memory all the time."""
    events, errors = folder / "events", folder / "errors"
    events.mkdir()
    settings = [*SETTINGS, f"spark.eventLog.dir={events.as_uri()}"]
    submitted = " ".join(f"--conf {setting}" for setting in settings)
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--master {cluster.master} {submitted} pyspark-shell",
    }
    command = [sys.executable, "-m", "kproxy.jobs", *map(str, arguments)]
    with errors.open("wb") as file:
        driver = processes.spawn(command, stderr=file, environment=environment)
        largest = max(occupied_until_it_ends(driver))
    said = errors.read_text()
    assert driver.returncode == 0, said
    (event_log,) = events.iterdir()
    tasks = list(ended_tasks(event_log))
    read: Counter[int] = Counter()
    for stage, _, count in tasks:
        read[stage] += count
    return Ended(json.loads(said.splitlines()[-1]), largest, read, frozenset(place for _, place, _ in tasks))


def occupied_until_it_ends(driver: subprocess.Popen[bytes]) -> Iterator[int]:
    """Yield what a process and those that it started occupy, again and again."""
    while driver.poll() is None:
        yield occupied(driver.pid)
        try:
            driver.wait(LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            continue


def occupied(process_id: int) -> int:
    try:
        root = psutil.Process(process_id)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    return sum(map(proportional_bytes, family))


def proportional_bytes(process: psutil.Process) -> int:
    """What a process occupies: of what it shares with others, its part, so that nothing counts twice."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0


def ended_tasks(events: Path) -> Iterator[tuple[int, str, int]]:
    """Yield the stage of each task, the executor that ran it, and how many records it read."""
    with events.open() as lines:
        for line in lines:
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd":
                read = event["Task Metrics"]["Input Metrics"]["Records Read"]
                yield event["Stage ID"], event["Task Info"]["Executor ID"], read


def test_verify_reads_every_record_on_executors_and_none_on_the_driver(
    cluster: StandaloneCluster, log: Path, tmp_path: Path
) -> None:
    # When
    ended = replayed(cluster, tmp_path, "verify", "--offline", "--files", log)

    # Then
    assert (ended.summary["records"], ended.summary["violations"]) == (RECORDS, 0)
    assert ended.largest_driver_bytes < MOST_BYTES
    assert RECORDS in ended.records_read.values()
    assert ended.places == {"0", "1"}


def test_export_reads_every_record_on_executors_and_none_on_the_driver(
    cluster: StandaloneCluster, log: Path, tmp_path: Path
) -> None:
    # When
    ended = replayed(cluster, tmp_path, "export", "--files", log, "--to", tmp_path / "to")

    # Then
    assert ended.largest_driver_bytes < MOST_BYTES
    assert RECORDS in ended.records_read.values()
    assert ended.places == {"0", "1"}
