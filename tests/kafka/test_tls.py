"""Brokers and clients that speak nothing but TLS, each side with certificates that the other one asks for."""

import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.certificates import Certificates, issue_certificates, librdkafka_files
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.ports import ReservedPort
from tests.real_kafka.share_member import AcknowledgeType
from tests.real_kafka.share_members import MEMBER_KINDS
from tests.real_kafka.tools import console_consumer, console_producer
from tests.real_kafka.versions import OLDEST, REFERENCE, WITHOUT_SHARE_GROUPS

EARLIEST: Final = {"share.auto.offset.reset": "earliest"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(
    scope="module",
    params=[
        REFERENCE.version,
        pytest.param(WITHOUT_SHARE_GROUPS.version, marks=pytest.mark.soak),
        OLDEST.version,
    ],
)
def secured_cluster(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[KafkaCluster]:
    """Its broker lets nobody in without a certificate."""
    client_settings = librdkafka_files(certificates.kproxy_to_brokers, certificates.brokers)
    with KafkaCluster(
        request.param, broker_settings=certificates.broker_settings(), client_settings=client_settings
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def secured_kproxy(secured_cluster: KafkaCluster, certificates: Certificates) -> Iterator[KproxyProcess]:
    with KproxyProcess(secured_cluster.bootstrap_servers, settings=certificates.kproxy_settings()) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy


def new_topic(kproxy: KproxyProcess, settings: Mapping[str, str], values: str) -> str:
    """A topic with a record for each letter of `values`, made and written through kproxy."""
    topic = administration.create_topic(
        kproxy.bootstrap_servers, unique_name("topic"), client_settings=settings
    )
    administration.produce(kproxy.bootstrap_servers, topic, values, client_settings=settings)
    return topic


@pytest.mark.parametrize("kind", MEMBER_KINDS)
def test_a_share_group_is_served_with_tls_on_both_sides(
    kind: str, secured_kproxy: KproxyProcess, certificates: Certificates
) -> None:
    # Given
    group, bootstrap_servers = unique_name("group"), secured_kproxy.bootstrap_servers
    admin = certificates.librdkafka_client()
    topic = new_topic(secured_kproxy, admin, "abc")
    administration.set_group_settings(bootstrap_servers, group, EARLIEST, client_settings=admin)

    # When
    settings = certificates.of_members(kind)
    with MEMBER_KINDS[kind](bootstrap_servers, group=group, topics=[topic], settings=settings) as member:
        values: list[str | None] = []
        errors: set[str | None] = set()
        while len(values) < 3:
            values += [record.value for record in member.poll_until_records()]
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            errors |= {outcome.error for outcome in member.commit()}

    # Then
    assert values == ["a", "b", "c"]
    assert errors == {None}


def test_plain_clients_of_java_are_relayed_with_tls_on_both_sides(
    secured_kproxy: KproxyProcess, certificates: Certificates
) -> None:
    # Given
    bootstrap_servers = secured_kproxy.bootstrap_servers
    topic = new_topic(secured_kproxy, certificates.librdkafka_client(), "a")
    settings = certificates.java_client()
    properties = [
        word for key, value in settings.items() for word in ("--command-property", f"{key}={value}")
    ]

    # When
    console_producer(bootstrap_servers, topic, ["b", "c" * 300_000], producer_settings=settings)
    with console_consumer(
        bootstrap_servers, topic, max_messages=3, arguments=("--from-beginning", *properties)
    ) as consumer:
        values = consumer.finish(timeout_seconds=60).lines

    # Then
    assert list(values) == ["a", "b", "c" * 300_000]


def test_the_certificates_in_use_are_told_of(
    secured_kproxy: KproxyProcess, certificates: Certificates
) -> None:
    # When
    told = {each["role"]: each for each in secured_kproxy.status()["certificates"]}
    metrics = secured_kproxy.metrics()

    # Then
    assert set(told) == {"listener", "listener_trust", "upstream", "upstream_trust"}
    assert told["upstream"]["subject"] == "CN=kproxy,O=Acme"
    assert told["upstream"]["file"] == str(certificates.kproxy_to_brokers.both)
    assert told["listener"]["daysLeft"] == 29
    assert metrics.value("kproxy_tls_certificate_expiry_timestamp_seconds", role="listener") > 1.7e9


@pytest.mark.parametrize("secured_cluster", [REFERENCE.version], indirect=True)
def test_a_swapped_certificate_is_served_without_a_restart(
    secured_cluster: KafkaCluster, certificates: Certificates, tmp_path: Path
) -> None:
    # Given: files as Kubernetes mounts a secret
    old, new = (
        certificates.clients.issue(f"swapped-{name}", subject=f"CN={name}") for name in ("old", "new")
    )
    for issued, version in ((old, "..1"), (new, "..2")):
        (tmp_path / version).mkdir()
        (tmp_path / version / "tls.pem").write_bytes(issued.both.read_bytes())
    data = tmp_path / "..data"
    data.symlink_to("..1")
    (tmp_path / "tls.pem").symlink_to("..data/tls.pem")
    settings = {
        **certificates.kproxy_settings(),
        "ssl.keystore.location": str(tmp_path / "tls.pem"),
        "ssl.client.auth": "none",
    }
    with KproxyProcess(secured_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        before = shown_certificate(kproxy.bootstrap_servers)

        # When
        (tmp_path / "..next").symlink_to("..2")
        (tmp_path / "..next").rename(data)
        kproxy.wait_until(lambda: bool(kproxy.log_events("certificates_renewed")), timeout_seconds=10)

        # Then
        assert [before, shown_certificate(kproxy.bootstrap_servers)] == [
            each.certificate.read_text() for each in (old, new)
        ]
        assert kproxy.metrics().value("kproxy_tls_renewals_total", role="listener", result="ok") == 1


@pytest.mark.parametrize("secured_cluster", [REFERENCE.version], indirect=True)
def test_ports_with_tls_stand_beside_ports_in_plaintext_and_each_names_its_own_kind(
    secured_cluster: KafkaCluster, certificates: Certificates
) -> None:
    # Given
    listen, broker = ReservedPort(), ReservedPort()
    settings = {
        **certificates.kproxy_settings(),
        "kproxy.listener.security.protocol": "PLAINTEXT",
        "kproxy.tls.listen": listen.address,
        "kproxy.tls.broker.port.map": f"1={broker.number}",
    }
    secured = certificates.librdkafka_client()
    group = unique_name("group")
    with KproxyProcess(secured_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        topic = administration.create_topic(kproxy.bootstrap_servers, unique_name("topic"))
        administration.produce(listen.address, topic, "abc", client_settings=secured)
        administration.set_group_settings(kproxy.bootstrap_servers, group, EARLIEST)

        # When
        in_plaintext = administration.consume(kproxy.bootstrap_servers, topic, 3)
        with MEMBER_KINDS["confluent"](
            listen.address, group=group, topics=[topic], settings=secured
        ) as member:
            with_tls = [record.value for record in member.poll_until_records()]

        # Then
        assert in_plaintext == with_tls == ["a", "b", "c"]
        assert kproxy.status()["tlsBootstrap"] == listen.address
    for port in (listen, broker):
        port.release()


def shown_certificate(address: str) -> str:
    """The certificate, in PEM, that a new connection is shown."""
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((host, int(port)), timeout=10) as plain,
        context.wrap_socket(plain) as secured,
    ):
        certificate = secured.getpeercert(binary_form=True)
    assert certificate is not None
    return ssl.DER_cert_to_PEM_cert(certificate)
