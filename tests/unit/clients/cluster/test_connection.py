"""A connection to a broker that says what a real one never does."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kproxy.clients.cluster.access import ClusterAccess
from kproxy.clients.cluster.connection import (
    MOST_RESPONSE_BYTES,
    BrokerAddress,
    BrokerConnection,
    ConnectionLost,
)
from kproxy.clients.cluster.deadline import Deadline
from kproxy.clients.failures import CannotConnect, ClientFailed
from kproxy.errors import ExitCode
from kproxy.security.logins import PlainLogin
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.in_memory.answering_broker import AnsweringBroker, Reply, response_bytes
from tests.in_memory.loop_in_a_thread import loop_in_a_thread

HERE = "127.0.0.1"
GROUPS = ListGroupsResponse(groups=[ListedGroup("workers", "share", "Stable", "share")])


@contextmanager
def connection_to(
    answer: Callable[[DecodedRequest], Reply], *, versions: tuple[int, int] = (0, 5), timeout_ms: int = 10_000
) -> Iterator[BrokerConnection]:
    """A connection to a broker that answers ListGroups so."""
    broker = AnsweringBroker({ApiKey.LIST_GROUPS: answer}, version_ranges={ApiKey.LIST_GROUPS: versions})
    with loop_in_a_thread() as loop:
        loop.run(broker.start())
        connection = None
        try:
            address = BrokerAddress(broker.address.host, broker.address.port)
            connection = BrokerConnection(address, Deadline(timeout_ms))
            yield connection
        finally:
            if connection is not None:
                connection.close()
            loop.run(broker.stop())


@contextmanager
def peer_that_says(said: bytes) -> Iterator[BrokerAddress]:
    """A peer that answers the first request with these bytes, and ends."""

    def serve() -> None:
        accepted, _ = listener.accept()
        with accepted:
            accepted.recv(65536)
            accepted.sendall(said)

    with socket.create_server((HERE, 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield BrokerAddress(HERE, listener.getsockname()[1])
        thread.join(10)


@pytest.mark.parametrize(("versions", "asked_in"), [((0, 5), 5), ((0, 3), 3), ((2, 90), 5)])
def test_a_request_goes_out_in_the_newest_version_that_both_sides_know(
    versions: tuple[int, int], asked_in: int
) -> None:
    # Given
    seen: list[DecodedRequest] = []

    def answer(request: DecodedRequest) -> Reply:
        seen.append(request)
        return ListGroupsResponse(groups=[ListedGroup("workers", "share")])

    # When
    with connection_to(answer, versions=versions) as connection:
        response = connection.ask(ListGroupsRequest(), ListGroupsResponse)

    # Then
    assert [group.group_id for group in response.groups] == ["workers"]
    assert [(request.api_version, request.client_id) for request in seen] == [(asked_in, "kproxy-groups")]


def test_a_connection_answers_one_request_after_the_other() -> None:
    with connection_to(lambda _: GROUPS) as connection:
        answers = [connection.ask(ListGroupsRequest(), ListGroupsResponse) for _ in range(3)]

        assert answers == [GROUPS] * 3
        assert connection.is_open


@pytest.mark.parametrize(("oldest", "newest"), [(5, 9), (0, 3)])
def test_an_api_that_the_broker_does_not_offer_is_said_to_need_a_newer_kafka(
    oldest: int, newest: int
) -> None:
    with connection_to(lambda _: GROUPS, versions=(4, 4)) as connection:
        with pytest.raises(
            ClientFailed, match=r"does not offer ListGroups .* Kafka does from 4\.2 on"
        ) as refusal:
            connection.ask(ListGroupsRequest(), ListGroupsResponse, oldest=oldest, newest=newest)

        assert refusal.value.exit_code is ExitCode.FAILED


def test_an_answer_that_is_no_such_message_ends_the_connection() -> None:
    with connection_to(
        lambda request: bytes([0, 0, 0, 4]) + (request.correlation_id).to_bytes(4)
    ) as connection:
        with pytest.raises(ClientFailed, match="answered what is no Kafka response"):
            connection.ask(ListGroupsRequest(), ListGroupsResponse)

        assert not connection.is_open


def test_an_answer_to_another_request_is_refused() -> None:
    def answer(request: DecodedRequest) -> Reply:
        request.correlation_id += 1
        return response_bytes(request, GROUPS)

    with (
        connection_to(answer) as connection,
        pytest.raises(ClientFailed, match="answered another request than ListGroups"),
    ):
        connection.ask(ListGroupsRequest(), ListGroupsResponse)


def test_a_message_of_another_class_is_refused() -> None:
    with connection_to(lambda _: GROUPS) as connection, pytest.raises(ClientFailed, match="another request"):
        connection.ask(ListGroupsRequest(), MetadataResponse)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x46", "its port speaks TLS"),
        (b"HTTP/1.1 400 Bad Request\r\n", "speaks HTTP"),
        ((-1).to_bytes(4, signed=True), "a response of -1 bytes was announced"),
        (
            (MOST_RESPONSE_BYTES + 1).to_bytes(4),
            f"announced a response of {MOST_RESPONSE_BYTES + 1} bytes to ApiVersions; at most {MOST_RESPONSE_BYTES}",
        ),
    ],
)
def test_a_peer_that_is_no_kafka_broker_is_said_to_be_none(said: bytes, told: str) -> None:
    with peer_that_says(said) as address, pytest.raises(ClientFailed) as refusal:
        BrokerConnection(address, Deadline(10_000))

    assert told in str(refusal.value)
    assert refusal.value.exit_code is ExitCode.FAILED


@pytest.mark.parametrize("said", [b"", b"\x00\x00", b"\x00\x00\x00\x40half"])
def test_a_peer_that_closes_instead_of_answering_is_a_lost_connection(said: bytes) -> None:
    with peer_that_says(said) as address, pytest.raises(ConnectionLost) as lost:
        BrokerConnection(address, Deadline(10_000))

    assert "closed the connection before it answered ApiVersions" in str(lost.value)
    assert "it may expect SASL or TLS, of which security.protocol" in str(lost.value)
    assert lost.value.exit_code is ExitCode.CANNOT_CONNECT


def test_a_peer_without_tls_is_told_of_in_the_words_of_whoever_made_the_context() -> None:
    # Given
    access = ClusterAccess(
        ssl.create_default_context(), words_of=lambda failure, host: f"{type(failure).__name__} with {host}"
    )

    # When
    with peer_that_says(b"HTTP/1.1 400 Bad Request\r\n") as address, pytest.raises(CannotConnect) as refusal:
        BrokerConnection(address, Deadline(10_000), access)

    # Then: to try again would not help
    assert str(refusal.value) == f"{address}: SSLError with {HERE}"
    assert not isinstance(refusal.value, ConnectionLost)


def test_a_tls_handshake_costs_no_more_than_the_timeout() -> None:
    access = ClusterAccess(ssl.create_default_context())
    with (
        socket.create_server((HERE, 0)) as silent,
        pytest.raises(ConnectionLost, match="the TLS handshake took too long"),
    ):
        BrokerConnection(BrokerAddress(HERE, silent.getsockname()[1]), Deadline(50), access)


def test_who_the_client_is_is_proved_before_anything_is_asked() -> None:
    # Given
    asked: list[DecodedRequest] = []

    def answer(request: DecodedRequest) -> Reply:
        asked.append(request)
        return {
            ApiKey.SASL_HANDSHAKE: SaslHandshakeResponse(mechanisms=["PLAIN"]),
            ApiKey.SASL_AUTHENTICATE: SaslAuthenticateResponse(),
        }.get(ApiKey(request.api_key), GROUPS)

    keys = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.LIST_GROUPS)
    ranges: dict[int, tuple[int, int]] = {
        ApiKey.SASL_HANDSHAKE: (0, 1),
        ApiKey.SASL_AUTHENTICATE: (0, 2),
        ApiKey.LIST_GROUPS: (0, 5),
    }
    broker = AnsweringBroker(dict.fromkeys(keys, answer), version_ranges=ranges)
    access = ClusterAccess(new_login=lambda: PlainLogin("alice", "wonderland"))

    # When
    with loop_in_a_thread() as loop:
        loop.run(broker.start())
        connection = BrokerConnection(BrokerAddress(HERE, broker.address.port), Deadline(10_000), access)
        connection.ask(ListGroupsRequest(), ListGroupsResponse)
        connection.close()
        loop.run(broker.stop())

    # Then
    assert [(request.api_key, request.api_version) for request in asked] == [(17, 1), (36, 2), (16, 5)]


def test_a_broker_that_does_not_answer_costs_no_more_than_the_timeout() -> None:
    with socket.create_server((HERE, 0)) as silent, pytest.raises(ConnectionLost) as lost:
        BrokerConnection(BrokerAddress(HERE, silent.getsockname()[1]), Deadline(50))

    assert "had not answered ApiVersions when the 50 ms of --timeout were over" in str(lost.value)


def test_a_port_where_nobody_listens_is_a_lost_connection() -> None:
    # Given
    with socket.create_server((HERE, 0)) as closed:
        port = closed.getsockname()[1]

    # When
    with pytest.raises(ConnectionLost) as lost:
        BrokerConnection(BrokerAddress(HERE, port), Deadline(10_000))

    # Then
    assert str(lost.value) == f"cannot reach {HERE}:{port}: Connection refused"


def test_a_name_that_no_host_can_have_is_a_lost_connection() -> None:
    with pytest.raises(ConnectionLost, match="no host has such a name"):
        BrokerConnection(BrokerAddress("a" * 64 + ".", 9092), Deadline(10_000))


def test_a_broker_that_refuses_to_say_what_it_speaks_is_a_failure() -> None:
    broker = AnsweringBroker({ApiKey.API_VERSIONS: lambda _: ApiVersionsResponse(error_code=42)})
    with loop_in_a_thread() as loop:
        loop.run(broker.start())
        with pytest.raises(ClientFailed, match="answered ApiVersions with error 42"):
            BrokerConnection(BrokerAddress(HERE, broker.address.port), Deadline(10_000))
        loop.run(broker.stop())


@pytest.mark.parametrize(("host", "text"), [("broker1", "broker1:9092"), ("::1", "[::1]:9092")])
def test_an_address_is_written_as_people_write_it(host: str, text: str) -> None:
    assert str(BrokerAddress(host, 9092)) == text
