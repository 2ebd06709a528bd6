"""A backing broker that is not there, goes away, or answers what it was not asked."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Final, Self

import pytest

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_request import MetadataRequest
from tests.real_kafka import accounts, administration
from tests.real_kafka.accounts import misaccounted
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.consumption import accept, consume_together, settled
from tests.real_kafka.faulty_forwarder import Fault, FaultyForwarder
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.node_settings import CLIENT_LISTENER
from tests.real_kafka.ports import LOOPBACK, ReservedPort
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.share_endpoint import SHORT_LOCK_MS, ShareEndpoint
from tests.real_kafka.share_members import MEMBER_KINDS, ConfluentShareMember, ShareMemberFactory

METADATA_VERSION: Final = 12
SERVICE_UNAVAILABLE: Final = 503
LOST_SECONDS: Final = 30.0
"""How long it may take at most until it is seen that Kafka is gone: 10 s are promised, and this machine may be busy."""

every_client = pytest.mark.parametrize("start_member", MEMBER_KINDS.values(), ids=MEMBER_KINDS)


@pytest.fixture(scope="module")
def forwarder() -> Iterator[FaultyForwarder]:
    with FaultyForwarder() as forwarder:
        yield forwarder


@pytest.fixture(scope="module")
def endpoint(forwarder: FaultyForwarder) -> Iterator[ShareEndpoint]:
    """A kproxy whose broker is reached through the forwarder."""
    advertised = {"advertised.listeners": f"{CLIENT_LISTENER}://{forwarder.address}"}
    with KafkaCluster(broker_settings=advertised) as cluster:
        forwarder.target = cluster.broker_address(1)
        with KproxyProcess(cluster.bootstrap_servers) as kproxy:
            kproxy.wait_until_ready()
            yield ShareEndpoint(kproxy.bootstrap_servers, cluster, kproxy)


@pytest.mark.parametrize(
    ("fault", "event", "reason"),
    [
        (Fault.GARBAGE, "connection_refused", "frame_too_short"),
        (Fault.TLS_ALERT, "connection_refused", "tls_on_plaintext"),
        (Fault.CUT_MID_FRAME, "broker_disconnected", "lost_mid_frame"),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else None,
)
def test_a_broker_that_breaks_the_protocol_costs_one_connection_a_log_line_and_a_count(
    endpoint: ShareEndpoint, forwarder: FaultyForwarder, fault: Fault, event: str, reason: str
) -> None:
    # Given
    kproxy = _kproxy_of(endpoint)
    labels = {"side": "broker", "reason": reason}
    counted_before = kproxy.metrics().value("kproxy_connection_errors_total", **labels)
    forwarder.fault = fault
    with RawConnection(kproxy.broker_addresses[1]) as connection:
        # When
        connection.send_request(ApiKey.METADATA, METADATA_VERSION, MetadataRequest(topics=[]))

        # Then
        assert connection.is_closed_by_peer()
        peer = connection.own_address
    forwarder.fault = Fault.NONE
    [line] = kproxy.log_events(event, peer=peer)
    assert line["reason"] == reason
    assert kproxy.metrics().value("kproxy_connection_errors_total", **labels) == counted_before + 1


@every_client
def test_a_share_group_loses_nothing_when_every_connection_to_its_broker_drops(
    endpoint: ShareEndpoint, forwarder: FaultyForwarder, start_member: ShareMemberFactory
) -> None:
    # Given
    topic, group = endpoint.new_topic(), endpoint.new_group(lock_ms=SHORT_LOCK_MS)
    bootstrap_servers = endpoint.bootstrap_servers
    produced = accounts.produce_to_every_partition(bootstrap_servers, topic, each=30, batches=3)
    with start_member(bootstrap_servers, group=group, topics=[topic]) as member:
        deliveries = consume_together([member], accept, until=settled(len(produced)))

        # When
        forwarder.drop_connections()

        # Then
        more = accounts.produce_to_every_partition(bootstrap_servers, topic, each=30, batches=3, label="more")
        deliveries += consume_together([member], accept, until=settled(len(more)))
    assert misaccounted(deliveries, produced | more) == {}


@pytest.mark.soak
def test_kproxy_says_that_the_broker_is_down_and_serves_once_it_is_up() -> None:
    # Given
    with KafkaCluster() as cluster:
        cluster.stop_broker(1)
        with KproxyProcess(cluster.bootstrap_servers) as kproxy:
            unmet, is_alive = _first_unmet_checks(kproxy), kproxy.is_alive()

            # When
            cluster.start_broker(1)

            # Then
            kproxy.wait_until_ready()
            line = kproxy.start_line()
            endpoint = ShareEndpoint(kproxy.bootstrap_servers, cluster, kproxy)
            topic, group = endpoint.new_topic(), endpoint.new_group()
            administration.produce(kproxy.bootstrap_servers, topic, "abc")
            with ConfluentShareMember(kproxy.bootstrap_servers, group=group, topics=[topic]) as member:
                values = accounts.receive_values(member, 3)
            [unreachable] = kproxy.log_events("backing_cluster_unreachable")
            [reached] = kproxy.log_events("backing_cluster_reached")
        broker_address = cluster.bootstrap_servers
    assert is_alive
    assert broker_address in unmet["metadata"]
    assert broker_address in unreachable["detail"]
    assert unreachable["ts"] < reached["ts"]
    assert "share groups on" in line
    assert values == ["a", "b", "c"]


def test_kproxy_is_not_ready_within_seconds_when_kafka_goes_away_and_ready_again_when_it_is_back() -> None:
    # Given
    with KafkaCluster() as cluster, KproxyProcess(cluster.bootstrap_servers) as kproxy:
        kproxy.wait_until_ready()

        # When
        cluster.stop_broker(1)

        # Then
        kproxy.wait_until(
            lambda: kproxy.readiness().status == SERVICE_UNAVAILABLE, timeout_seconds=LOST_SECONDS
        )
        unmet = {item["check"]: item["detail"] for item in kproxy.readiness().items if not item["passed"]}
        lost, is_alive = kproxy.status(), kproxy.is_alive()
        cluster.start_broker(1)
        kproxy.wait_until_ready()
        back = kproxy.status()
        [line] = kproxy.log_events("backing_cluster_lost", level="error")
    assert "last reached" in unmet["metadata"]
    assert (lost["state"], lost["shareGroups"]["state"]) == ("not-ready", "unavailable")
    assert "last reached" in lost["shareGroups"]["reason"]
    assert is_alive
    assert (back["state"], back["shareGroups"]["state"]) == ("ready", "on")
    assert "last reached" in line["detail"]


def test_a_bootstrap_address_where_nobody_listens_is_named_and_kproxy_can_be_stopped() -> None:
    # Given
    with ReservedPort() as nobody, KproxyProcess(nobody.address) as kproxy:
        # When
        unmet = _first_unmet_checks(kproxy)

        # Then
        exit_status = kproxy.drain()
        [unreachable] = kproxy.log_events("backing_cluster_unreachable")
    assert nobody.address in unmet["metadata"]
    assert nobody.address in unreachable["detail"]
    assert unreachable["level"] == "warning"
    assert exit_status == 0


def test_a_bootstrap_name_that_does_not_resolve_is_named() -> None:
    # Given
    with KproxyProcess("kafka.invalid:9092") as kproxy:
        # When
        unmet = _first_unmet_checks(kproxy)

        # Then
        exit_status = kproxy.drain()
    assert "kafka.invalid" in unmet["metadata"]
    assert "resolved" in unmet["metadata"]
    assert exit_status == 0


def test_a_bootstrap_address_that_speaks_something_else_is_named() -> None:
    # Given
    with (
        _TalkingServer(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server,
        KproxyProcess(server.address) as kproxy,
    ):
        # When
        unmet = _first_unmet_checks(kproxy)

        # Then
        exit_status = kproxy.drain()
    assert server.address in unmet["metadata"]
    assert "HTTP" in unmet["metadata"]
    assert exit_status == 0


def _kproxy_of(endpoint: ShareEndpoint) -> KproxyProcess:
    assert endpoint.kproxy is not None
    return endpoint.kproxy


def _first_unmet_checks(kproxy: KproxyProcess) -> dict[str, str]:
    """What `/readyz` says of the backing cluster once it was tried."""
    kproxy.wait_until(lambda: bool(kproxy.log_events("backing_cluster_unreachable")))
    readiness = kproxy.readiness()
    assert readiness.status == SERVICE_UNAVAILABLE
    return {item["check"]: item["detail"] for item in readiness.items if not item["passed"]}


class _TalkingServer:
    """Accepts connections and answers whatever comes with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        self._answer = answer
        self.address = f"{LOOPBACK}:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._talk, name="talking server")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _talk(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                with client:
                    client.recv(1000)
                    client.sendall(self._answer)
