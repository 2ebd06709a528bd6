"""The harness itself: clusters start, serve, fail with a reason, and vanish; jars are fetched whole."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.real_kafka import administration, jars, kept_data, prerequisites
from tests.real_kafka.administration import unique_name
from tests.real_kafka.child import Child
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.java_probe import JavaShareMember
from tests.real_kafka.kept_data import ClusterKind, DataFolderUnusable
from tests.real_kafka.node import NodeFailed
from tests.real_kafka.paths import CACHE_VARIABLE, PROJECT_ROOT, runs_folder
from tests.real_kafka.ports import PortTaken, ReservedPort
from tests.real_kafka.prerequisites import MissingPrerequisite
from tests.real_kafka.session_clusters import ClusterOfSession
from tests.real_kafka.share_member import MemberError
from tests.real_kafka.versions import EVERYDAY_RELEASES, OLDEST, REFERENCE, UnknownVersion

END_TIMEOUT_SECONDS: Final = 60.0

RUN_A_CLUSTER_FROM_A_THREAD_THAT_ENDS: Final = """
import sys, threading
from tests.real_kafka.cluster import KafkaCluster

cluster = KafkaCluster(sys.argv[1])
starter = threading.Thread(target=cluster.start)
starter.start()
starter.join()
print(cluster.bootstrap_servers, *cluster.process_ids, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("version", [release.version for release in EVERYDAY_RELEASES])
@pytest.mark.soak
def test_a_cluster_of_each_everyday_version_serves_and_leaves_nothing_behind(version: str) -> None:
    # Given
    runs_before = _runs_of_this_process()
    cluster = KafkaCluster(version)
    cluster.start()
    process_ids, address = cluster.process_ids, cluster.broker_address(1)
    topic = administration.create_topic(address, unique_name("greetings"), partitions=2)
    offsets = administration.produce(address, topic, ["good", "morning"], partition=1)
    consumed = administration.consume(address, topic, 2)

    # When
    cluster.stop()

    # Then
    assert offsets == [0, 1]
    assert consumed == ["good", "morning"]
    assert len(process_ids) == (2 if version == OLDEST.version else 1)
    assert not any(psutil.pid_exists(process_id) for process_id in process_ids)
    assert not _accepts(address)
    assert _runs_of_this_process() == runs_before
    assert cluster.kept_logs is None


def test_the_session_shares_one_cluster_of_a_kind_and_the_reference_serves_no_share_groups(
    kafka_cluster: ClusterOfSession, reference_cluster: KafkaCluster
) -> None:
    # Given
    topic = administration.create_topic(reference_cluster.bootstrap_servers, unique_name("plain"))
    with JavaShareMember(
        reference_cluster.bootstrap_servers, group=unique_name("group"), topics=[topic]
    ) as member:
        # When
        with pytest.raises(MemberError) as refusal:
            member.poll_until_records()

        # Then
        assert refusal.value.error == "UNSUPPORTED_VERSION"
    assert kafka_cluster() is reference_cluster
    assert kafka_cluster(REFERENCE.version, brokers=1) is reference_cluster


@pytest.mark.soak
def test_three_brokers_survive_the_death_of_one_and_take_it_back() -> None:
    # Given
    quick_to_give_up = {"broker.session.timeout.ms": 2_000, "broker.heartbeat.interval.ms": 500}
    with KafkaCluster(brokers=3, broker_settings=quick_to_give_up) as cluster:
        topic = administration.create_topic(cluster.bootstrap_servers, unique_name("replicated"), replicas=3)
        address = cluster.broker_address(2)

        # When
        cluster.kill_broker(2)
        refused_while_dead = not _accepts(address)
        offsets = administration.produce(cluster.bootstrap_servers, topic, ["while one is dead"])
        cluster.start_broker(2)

        # Then
        assert refused_while_dead
        assert offsets == [0]
        assert cluster.broker_address(2) == address
        assert administration.consume(address, topic, 1) == ["while one is dead"]
        assert len(cluster.process_ids) == 3


@pytest.mark.soak
def test_a_broker_that_zookeeper_still_remembers_can_be_started_again() -> None:
    # Given
    quick_to_forget = {"zookeeper.session.timeout.ms": 2_000}
    with KafkaCluster(OLDEST.version, broker_settings=quick_to_forget) as cluster:
        topic = administration.create_topic(cluster.bootstrap_servers, unique_name("kept"))
        administration.produce(cluster.bootstrap_servers, topic, ["before the crash"])

        # When
        cluster.kill_broker(1)
        cluster.start_broker(1)

        # Then
        assert administration.consume(cluster.bootstrap_servers, topic, 1) == ["before the crash"]


@pytest.mark.parametrize("version", [REFERENCE.version, OLDEST.version])
@pytest.mark.soak
def test_the_brokers_of_a_killed_python_process_die_with_it_but_not_with_a_thread_of_it(version: str) -> None:
    # Given
    command = [sys.executable, "-c", RUN_A_CLUSTER_FROM_A_THREAD_THAT_ENDS, version]
    with subprocess.Popen(
        command, cwd=PROJECT_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        address, *process_ids = parent.stdout.readline().split()
        brokers = [psutil.Process(int(process_id)) for process_id in process_ids]
        served_before = _accepts(address)

        # When
        parent.kill()
        _, survivors = psutil.wait_procs(brokers, timeout=END_TIMEOUT_SECONDS)

    # Then
    assert served_before
    assert brokers
    assert survivors == []
    assert not _accepts(address)


def test_a_broker_that_cannot_start_is_named_with_the_end_of_its_log() -> None:
    # Given
    runs_before = _runs_of_this_process()
    cluster = KafkaCluster(broker_settings={"log.retention.hours": "for ever"})

    # When
    with pytest.raises(NodeFailed) as failure:
        cluster.start()

    # Then
    assert "broker-1 died with exit status 1" in str(failure.value)
    assert "Invalid value for ever for configuration log.retention.hours" in str(failure.value)
    assert cluster.kept_logs is not None
    assert sorted(path.name for path in cluster.kept_logs.iterdir()) == [
        "broker-1.log",
        "broker-1.properties",
    ]
    assert _runs_of_this_process() == runs_before
    shutil.rmtree(cluster.kept_logs)


def test_a_broker_that_dies_by_itself_is_noticed_and_its_log_kept() -> None:
    # Given
    cluster = KafkaCluster()
    cluster.start()
    broker = psutil.Process(cluster.broker_process_id(1))
    broker.kill()
    psutil.wait_procs([broker], timeout=END_TIMEOUT_SECONDS)
    dead_nodes = cluster.dead_nodes

    # When
    cluster.stop()

    # Then
    assert dead_nodes == ["broker-1"]
    assert cluster.kept_logs is not None
    assert "Kafka Server started" in (cluster.kept_logs / "broker-1.log").read_text()
    shutil.rmtree(cluster.kept_logs)


def test_the_command_prints_its_address_and_ends_well_on_a_signal() -> None:
    # Given
    command: list[str | Path] = [
        Path(sys.executable),
        "-m",
        "tests.real_kafka",
        "--version",
        REFERENCE.version,
        "--brokers",
        "1",
    ]
    with Child("make kafka", command) as running:
        address = running.next_line(timeout_seconds=60)
        served_before = _accepts(address)

        # When
        os.kill(running.process_id, signal.SIGINT)
        exit_status = running.wait(timeout_seconds=60)

    # Then
    assert served_before
    assert exit_status == 0
    assert "Apache Kafka 4.3.1 runs with 1 broker, share groups off" in running.errors()
    assert not _accepts(address)


def test_a_cluster_on_a_chosen_port_finds_its_data_again(tmp_path: Path) -> None:
    # Given
    data = tmp_path / "kafka"
    # To the end, so that nobody else gets the port before it is listened on, or between both times.
    with ReservedPort() as port:
        command: list[str | Path] = [Path(sys.executable), "-m", "tests.real_kafka"]
        command += [f"--port={port.number}", f"--keep-data={data}"]
        with Child("make kafka", command) as first:
            address = first.next_line(timeout_seconds=60)
            topic = administration.create_topic(address, unique_name("kept"))
            administration.produce(address, topic, ["before the end"])
            os.kill(first.process_id, signal.SIGINT)
            first.wait(timeout_seconds=60)

        # When
        with Child("make kafka", command) as second:
            address_again = second.next_line(timeout_seconds=60)
            consumed = administration.consume(address_again, topic, 1)
            os.kill(second.process_id, signal.SIGINT)
            second.wait(timeout_seconds=60)

    # Then
    assert address == address_again == port.address
    assert consumed == ["before the end"]
    assert f"leaves its data in {data}" in second.errors()


def test_a_port_that_somebody_has_is_named() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        # When
        with pytest.raises(PortTaken) as refusal:
            KafkaCluster(first_port=port).start()

    # Then
    assert str(refusal.value) == f"port {port} of 127.0.0.1 cannot be had: Address already in use"


def test_of_a_port_that_cannot_be_had_nothing_stays_behind(tmp_path: Path) -> None:
    # Given
    runs_before = _runs_of_this_process()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        cluster = KafkaCluster(first_port=taken.getsockname()[1], data_folder=tmp_path / "kafka")

        # When
        with pytest.raises(PortTaken):
            cluster.start()

    # Then
    assert _runs_of_this_process() == runs_before


@pytest.mark.parametrize(
    ("port", "brokers"), [(-1, 1), (65_536, 1), (65_535, 2)], ids=["negative", "too high", "one too many"]
)
def test_ports_that_cannot_be_are_refused(port: int, brokers: int) -> None:
    with pytest.raises(ValueError, match="the first port of"):
        KafkaCluster(brokers=brokers, first_port=port)


def test_data_of_another_cluster_is_refused(tmp_path: Path) -> None:
    # Given
    kept_data.describe(tmp_path, ClusterKind(REFERENCE.version, brokers=3, share_groups=False))

    # When
    with pytest.raises(DataFolderUnusable) as refusal:
        KafkaCluster(data_folder=tmp_path).start()

    # Then
    assert str(refusal.value) == (
        f"{tmp_path} holds the data of KAFKA_VERSION=4.3.1 BROKERS=3 SHARE=0, "
        "and KAFKA_VERSION=4.3.1 BROKERS=1 SHARE=0 is to start: name another folder, or start the same cluster"
    )


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    # Given
    (tmp_path / "letter.txt").write_text("dear")

    # When
    with pytest.raises(DataFolderUnusable, match="holds files, and no data of a cluster"):
        KafkaCluster(data_folder=tmp_path).start()

    # Then
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.soak
def test_an_interrupted_download_is_done_again_once_by_callers_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    maven_log = tmp_path / OLDEST.version / jars.MAVEN_LOG
    script = "from tests.real_kafka import jars, versions; print(1, flush=True); jars.fetch(versions.OLDEST)"
    interrupted = Child("fetching", [Path(sys.executable), "-c", script])
    interrupted.next_line(timeout_seconds=20)
    _wait_until_it_exists(maven_log, interrupted)
    interrupted.kill()
    (maven_log.parent / "kafka_2.13-2.8.2.jar").write_bytes(b"PK half a jar")

    # When
    with ThreadPoolExecutor(2) as callers:
        folders = list(callers.map(jars.fetch, [OLDEST, OLDEST]))

    # Then
    assert folders == [tmp_path / "2.8.2"] * 2
    assert zipfile.is_zipfile(tmp_path / "2.8.2" / "kafka_2.13-2.8.2.jar")
    assert zipfile.is_zipfile(tmp_path / "2.8.2" / "slf4j-reload4j-1.7.36.jar")
    assert len(jars.classpath(OLDEST).split(":")) > 60


@pytest.mark.parametrize(
    ("program", "package"),
    [("java", "openjdk-17-jdk-headless"), ("javac", "openjdk-17-jdk-headless"), ("maven", "maven")],
)
def test_a_missing_prerequisite_names_the_package_that_brings_it(
    program: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    # When
    with pytest.raises(MissingPrerequisite) as refusal:
        getattr(prerequisites, program)()

    # Then
    assert f"apt-get install {package}" in str(refusal.value)


def test_a_version_that_is_not_pinned_is_refused_with_those_that_are() -> None:
    # When
    with pytest.raises(UnknownVersion) as refusal:
        KafkaCluster("4.0.1")

    # Then
    pinned = "4.3.1, 4.2.1, 4.1.2, 4.0.2, 3.9.2, 3.5.2, 2.8.2"
    assert str(refusal.value) == f"Apache Kafka 4.0.1 is not among the pinned versions {pinned}"


def _accepts(address: str) -> bool:
    host, _, port = address.partition(":")
    # Bound to another address, so that it can never connect to itself when nobody listens.
    try:
        socket.create_connection((host, int(port)), timeout=2, source_address=("127.0.0.2", 0)).close()
    except ConnectionRefusedError:
        return False
    return True


def _runs_of_this_process() -> set[str]:
    return {path.name for path in runs_folder().glob(f"*-{os.getpid()}-*") if path.is_dir()}


def _wait_until_it_exists(path: Path, writer: Child) -> None:
    while not path.exists():
        assert writer.is_running
