"""Clusters that ask for a certificate, SASL and rights: every family of clients passes, and kproxy's own commands do.

`make test` takes the reference, and a mechanism for each family; `make soak` all mechanisms, 3.9.2 and 2.8.2.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from kproxy.jobs.sources.kafka_log import KafkaTopic
from tests.kafka.secured_families import FAMILIES, Door, new_group, share_consumed_by_tool
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.certificates import Certificates, issue_certificates
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.sasl_users import MECHANISMS
from tests.real_kafka.secured_cluster import OF_ALICE, SecuredCluster, librdkafka_of_alice, secured_cluster
from tests.real_kafka.share_member import AcknowledgeType
from tests.real_kafka.share_members import MEMBER_KINDS
from tests.real_kafka.versions import OLDEST, REFERENCE, WITHOUT_SHARE_GROUPS

VALUES: Final = ("a", "b", "c")
EVERYDAY: Final = {
    "confluent-kafka": "SCRAM-SHA-512",
    "kafka-python": "SCRAM-SHA-256",
    "aiokafka": "OAUTHBEARER",
    "kafkajs": "PLAIN",
    "Java clients": "OAUTHBEARER",
    "Java tools": "SCRAM-SHA-256",
}
"""The mechanism of each family in `make test`: all four of them."""
COMMAND_TIMEOUT_S: Final = 60

soak = pytest.mark.soak
VERSIONS: Final = (
    REFERENCE.version,
    pytest.param(WITHOUT_SHARE_GROUPS.version, marks=soak),
    pytest.param(OLDEST.version, marks=soak),
)


def cases(everyday: dict[str, str]) -> list[object]:
    """Every client with every mechanism; all but one of each are left to the soak tests."""
    return [
        pytest.param(name, mechanism, marks=() if mechanism == chosen else (soak,), id=f"{name}-{mechanism}")
        for name, chosen in everyday.items()
        for mechanism in MECHANISMS
    ]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module", params=VERSIONS)
def secured(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[SecuredCluster]:
    with secured_cluster(request.param, certificates) as found:
        yield found


@pytest.fixture(scope="module")
def names() -> dict[str, str | int]:
    return {**state_topic_settings(), "kproxy.authorizer.refresh.ms": 100}


@pytest.fixture(scope="module")
def kproxy(
    secured: SecuredCluster, names: dict[str, str | int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KproxyProcess]:
    settings = {**secured.kproxy_settings(tmp_path_factory.mktemp("secrets")), **names}
    with KproxyProcess(secured.cluster.bootstrap_servers, settings=settings) as process:
        process.wait_until_ready()
        yield process


def new_topic(kproxy: KproxyProcess, certificates: Certificates, values: Sequence[str] = ()) -> str:
    """A topic of alice's, made and written through kproxy."""
    settings = librdkafka_of_alice(certificates, "PLAIN")
    topic = administration.create_topic(
        kproxy.bootstrap_servers, unique_name(f"{OF_ALICE}topic"), client_settings=settings
    )
    administration.produce(kproxy.bootstrap_servers, topic, values, client_settings=settings)
    return topic


def new_share_group(kproxy: KproxyProcess, certificates: Certificates) -> str:
    """A share group of alice's, which begins with the first record."""
    group = new_group()
    administration.set_group_settings(
        kproxy.bootstrap_servers,
        group,
        {"share.auto.offset.reset": "earliest"},
        client_settings=librdkafka_of_alice(certificates, "PLAIN"),
    )
    return group


@pytest.mark.parametrize(("family", "mechanism"), cases(EVERYDAY))
def test_clients_of_every_family_produce_and_consume(
    kproxy: KproxyProcess, certificates: Certificates, tmp_path: Path, family: str, mechanism: str
) -> None:
    # Given
    topic = new_topic(kproxy, certificates)
    door = Door(kproxy.bootstrap_servers, certificates, mechanism, tmp_path)

    # When
    found = FAMILIES[family](door, topic, VALUES)

    # Then
    assert tuple(found) == VALUES
    # librdkafka may leave in the middle of a handshake of which it has no need any more.
    assert kproxy.metrics().total("kproxy_connection_errors_total", side="broker") == 0


@pytest.mark.parametrize(
    ("kind", "mechanism"), cases({"confluent": "PLAIN", "java": "SCRAM-SHA-256", "Java tools": ""})
)
def test_share_groups_are_served_to_those_that_have_them(
    kproxy: KproxyProcess, certificates: Certificates, tmp_path: Path, kind: str, mechanism: str
) -> None:
    # Given
    topic, group = new_topic(kproxy, certificates, VALUES), new_share_group(kproxy, certificates)
    door = Door(kproxy.bootstrap_servers, certificates, mechanism, tmp_path)

    # When
    if kind == "Java tools":
        found = list(share_consumed_by_tool(door, topic, group, len(VALUES)))
    else:
        found = share_consumed(door, kind, topic, group)

    # Then
    assert tuple(found) == VALUES
    assert kproxy.metrics().total("kproxy_unknown_principals_total") == 0


def share_consumed(door: Door, kind: str, topic: str, group: str) -> list[str]:
    settings = door.java() if kind == "java" else door.librdkafka()
    with MEMBER_KINDS[kind](door.bootstrap_servers, group=group, topics=[topic], settings=settings) as member:
        found: list[str] = []
        while len(found) < len(VALUES):
            found += [str(record.value) for record in member.poll_until_records()]
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            assert [outcome.error for outcome in member.commit()] == [None]
        member.close()
    return found


@soak
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
def test_kproxy_itself_is_let_in_by_other_mechanisms(
    secured: SecuredCluster, certificates: Certificates, tmp_path: Path, mechanism: str
) -> None:
    # Given
    settings = {
        **certificates.kproxy_settings(),
        **secured.upstream_settings(mechanism, tmp_path),
        "kproxy.authorizer.refresh.ms": 100,
    }
    with KproxyProcess(secured.cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        door = Door(kproxy.bootstrap_servers, certificates, mechanism, tmp_path)
        topic, group = new_topic(kproxy, certificates, VALUES), new_share_group(kproxy, certificates)

        # When
        found = share_consumed(door, "confluent", topic, group)

    # Then
    assert tuple(found) == VALUES


def run_kproxy(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kproxy", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param("PLAIN", marks=soak),
        pytest.param("SCRAM-SHA-256", marks=soak),
        "SCRAM-SHA-512",
    ],
)
def test_kproxy_groups_administers_groups_with_the_file_that_kafkas_tools_take(
    kproxy: KproxyProcess, certificates: Certificates, tmp_path: Path, mechanism: str
) -> None:
    # Given
    group = new_share_group(kproxy, certificates)
    door = Door(kproxy.bootstrap_servers, certificates, mechanism, tmp_path)
    topic = new_topic(kproxy, certificates, VALUES)
    share_consumed(door, "confluent", topic, group)

    # When
    listed = run_kproxy(
        *("groups", "describe", group, "-b", kproxy.bootstrap_servers, "-o", "json"),
        *("--command-config", door.command_config()),
    )
    refused = run_kproxy(
        *("groups", "describe", "others", "-b", kproxy.bootstrap_servers),
        *("--command-config", door.command_config()),
    )

    # Then
    assert listed.returncode == 0, listed.stderr
    [shown] = json.loads(listed.stdout)["items"]
    assert [(window["topicName"], window["lag"]) for window in shown["sharePartitions"]] == [(topic, 0)]
    assert refused.returncode == 4, refused.stderr
    assert "authoriz" in refused.stderr


@pytest.mark.parametrize(
    "mechanism", [pytest.param("PLAIN", marks=soak), "SCRAM-SHA-512", pytest.param("OAUTHBEARER", marks=soak)]
)
def test_kproxy_log_reads_the_state_log_with_the_configuration_of_kproxy_run(
    secured: SecuredCluster,
    kproxy: KproxyProcess,
    certificates: Certificates,
    names: dict[str, str | int],
    tmp_path: Path,
    mechanism: str,
) -> None:
    # Given
    group = new_share_group(kproxy, certificates)
    settings = {**secured.upstream_settings(mechanism, tmp_path), **names}
    file = tmp_path / "kproxy.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    # When
    told = run_kproxy(
        *("log", "dump", "-b", secured.cluster.bootstrap_servers, "-c", file),
        *("--topic", "groups", "-g", group),
    )

    # Then
    assert told.returncode == 0, told.stderr
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert any(group in json.dumps(line) for line in lines)


def test_kproxy_log_reads_the_state_log_with_a_file_of_kafkas_tools(
    secured: SecuredCluster,
    kproxy: KproxyProcess,
    certificates: Certificates,
    names: dict[str, str | int],
    tmp_path: Path,
) -> None:
    # Given
    new_share_group(kproxy, certificates)
    file = tmp_path / "client.properties"
    client = secured.java_at_brokers("SCRAM-SHA-256", "kproxy")
    file.write_text("".join(f"{key}={value}\n" for key, value in client.items()))
    topic = f"kproxy.groups.topic.name={names['kproxy.groups.topic.name']}"

    # When
    told = run_kproxy(
        *("log", "stats", "-b", secured.cluster.bootstrap_servers, "--command-config", file),
        *("-X", topic, "--topic", "groups"),
    )

    # Then
    assert told.returncode == 0, told.stderr
    assert "ShareGroup" in told.stdout or "GroupConfig" in told.stdout, told.stdout


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"upstream.sasl.password.file": None, "upstream.sasl.password": "wrong"}, "does not take these"),
        pytest.param(
            {"upstream.ssl.keystore.location": None},
            "refused kproxy's certificate|TLS handshake failed",
            marks=soak,
        ),
        pytest.param(
            {"upstream.security.protocol": "SSL", "upstream.sasl.mechanism": ""},
            "it may expect SASL",
            marks=soak,
        ),
    ],
    ids=["a wrong password", "no certificate", "no SASL"],
)
def test_who_is_not_let_in_is_told_why(
    secured: SecuredCluster, tmp_path: Path, changed: dict[str, str | None], words: str
) -> None:
    # Given
    settings = {**secured.upstream_settings("SCRAM-SHA-512", tmp_path), **changed}
    said = [part for key, value in settings.items() if value is not None for part in ("-X", f"{key}={value}")]

    # When
    told = run_kproxy("log", "stats", "-b", secured.cluster.bootstrap_servers, *said)

    # Then
    assert told.returncode == 4
    assert re.search(words, told.stderr), told.stderr
    assert "pencil" not in told.stderr


def test_a_job_of_spark_finds_the_state_log_with_the_properties_of_javas_clients(
    secured: SecuredCluster, kproxy: KproxyProcess, names: dict[str, str | int]
) -> None:
    """The driver asks for offsets with kafka-python whichever reader reads; Spark's own takes the same as it is."""
    # Given
    assert kproxy.is_alive()
    properties = secured.java_at_brokers("SCRAM-SHA-512", "kproxy")
    topic = KafkaTopic(secured.cluster.bootstrap_servers, str(names["kproxy.state.topic.name"]), properties)

    # When
    with topic.consumer() as consumer:
        ranges = consumer.ranges()

    # Then
    assert [part.partition for part in ranges] == [0, 1, 2, 3]
