"""Ports with TLS, on real sockets: who is let in, who is turned away, and what is said and counted of that."""

import asyncio
import errno
import socket
import ssl
from dataclasses import dataclass, field

import pytest

from kproxy.net.dialing import TlsContext
from kproxy.net.relay import tls_port
from kproxy.net.relay.limits import handshake_places
from kproxy.net.relay.limits.connection_quotas import ConnectionQuotas, OverQuota, QuotaLimits
from kproxy.net.relay.limits.handshake_places import HandshakePlaces
from kproxy.net.relay.listeners import SecuredPorts
from kproxy.net.relay.secured_connection import SecuredConnection
from kproxy.security.principal import ANONYMOUS
from kproxy.settings.choices import ClientAuth
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.open_files import no_files_left
from tests.unit.net.relaying import BIND_HOST, RelayUnderTest, SecuredRelayUnderTest, ended, request, response
from tests.unit.net.tls_contexts import Fixed, dialling, listener_terms, listening, upstream_terms
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


def ports(tls: TlsContext) -> SecuredPorts:
    return SecuredPorts(tls, lambda relay, node_id: SecuredConnection(relay, node_id, lambda _: ANONYMOUS))


async def connected(
    under_test: RelayUnderTest, client: Fixed | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    number = under_test.listeners.bound_ports[-1]
    context = (client or dialling()).context
    return await asyncio.open_connection(BIND_HOST, number, ssl=context, server_hostname="localhost")


async def test_requests_pass_over_tls() -> None:
    async with (
        ScriptedBroker() as broker,
        SecuredRelayUnderTest(broker.port, ports(listening())) as under_test,
    ):
        reader, writer = await connected(under_test)
        many = b"".join(request(number, bytes(1000)) for number in range(300))

        # When
        writer.write(many)
        assert await broker.until_received(len(many)) == many
        broker.send(response(0, bytes(500_000)))

        # Then
        assert await reader.readexactly(500_008) == response(0, bytes(500_000))
        writer.close()


async def test_plaintext_at_a_port_with_tls_is_closed_and_counted() -> None:
    async with SecuredRelayUnderTest(1, ports(listening())) as under_test:
        reader, writer = await under_test.connect()

        # When
        writer.write(request(1))

        # Then: an alert at most, which is no answer of Kafka's
        assert len(await ended(reader)) <= 7
        assert under_test.counted.of("connection_errors", "client", "plaintext_on_tls") == 1
        assert not under_test.relay.connections
        writer.close()


async def test_who_only_looks_whether_the_port_is_open_is_no_trouble(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with SecuredRelayUnderTest(1, ports(listening())) as under_test:
        # When
        _, writer = await under_test.connect()
        writer.close()

        # Then
        await until(lambda: under_test.counted.of("connection_errors", "client", "handshake_abandoned") == 1)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


async def test_a_handshake_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(tls_port, "HANDSHAKE_SECONDS", 0.1)
    async with SecuredRelayUnderTest(1, ports(listening())) as under_test:
        # When
        reader, writer = await under_test.connect()

        # Then
        assert await ended(reader) == b""
        await until(lambda: under_test.counted.of("connection_errors", "client", "handshake_timeout") == 1)
        writer.close()


async def test_a_client_without_a_certificate_is_turned_away_where_it_is_required() -> None:
    async with SecuredRelayUnderTest(1, ports(listening(client_auth=ClientAuth.REQUIRED))) as under_test:
        # When: in TLSv1.3 the client's own handshake is over before it is judged
        reader, writer = await connected(under_test)

        # Then
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
            await reader.read()
        assert under_test.counted.of("connection_errors", "client", "certificate_missing") == 1
        writer.close()


async def silent_ones(under_test: RelayUnderTest, count: int) -> list[asyncio.StreamWriter]:
    """Connections that say nothing, the oldest first."""
    made: list[asyncio.StreamWriter] = []
    for number in range(count):
        made.append((await under_test.connect())[1])
        await until(lambda wanted=number + 1: len(under_test.relay.handshakes) == wanted)  # type: ignore[misc]
    return made


async def test_the_oldest_silent_handshake_gives_way_to_a_newcomer_and_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(handshake_places, "SILENT_MS", 0)
    async with ScriptedBroker() as broker:
        under_test = SecuredRelayUnderTest(broker.port, ports(listening()))
        under_test.relay.handshakes = HandshakePlaces(2)
        async with under_test:
            silent = await silent_ones(under_test, 2)

            # When
            _, writer = await connected(under_test)
            writer.write(request(1))

            # Then
            assert await broker.until_received(len(request(1))) == request(1)
            assert under_test.counted.of("connections_expired", "handshake_crowded") == 1
            assert len(under_test.relay.handshakes) == 1
            for each in (*silent, writer):
                each.close()


async def test_a_handshake_that_comes_byte_by_byte_gives_way_to_a_newcomer_when_it_has_had_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(handshake_places, "SLOW_MS", 0)
    async with ScriptedBroker() as broker:
        under_test = SecuredRelayUnderTest(broker.port, ports(listening()))
        under_test.relay.handshakes = HandshakePlaces(2)
        async with under_test:
            slow = await silent_ones(under_test, 2)
            for each in slow:
                each.write(b"\x16")

            # When
            _, writer = await connected(under_test)
            writer.write(request(1))

            # Then
            assert await broker.until_received(len(request(1))) == request(1)
            assert under_test.counted.of("connections_expired", "handshake_crowded") == 1
            for each in (*slow, writer):
                each.close()


async def test_a_client_whose_handshake_has_just_been_done_gives_way_to_nobody_and_counts_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(handshake_places, "SLOW_MS", 0)
    turned_away: list[bool] = []

    class Crowded(SecuredConnection):
        """Meets a newcomer in the very turn in which its handshake is done."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            turned_away.append(self._relay.handshakes.turn_away(self._now_ms()))

    crowded = SecuredPorts(listening(), lambda relay, node_id: Crowded(relay, node_id, lambda _: ANONYMOUS))
    async with ScriptedBroker() as broker, SecuredRelayUnderTest(broker.port, crowded) as under_test:
        under_test.relay.quotas = ConnectionQuotas(QuotaLimits(in_all=1))

        # When
        _, writer = await connected(under_test)
        writer.write(request(1))
        assert await broker.until_received(len(request(1))) == request(1)

        # Then
        assert turned_away == [False]
        newcomer = SecuredConnection(under_test.relay, 1, lambda _: ANONYMOUS)
        assert under_test.relay.quotas.admit(newcomer, "10.0.0.1") is OverQuota.IN_ALL
        writer.close()


async def test_silent_handshakes_leave_room_to_clients_that_have_yet_to_prove_who_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(handshake_places, "SILENT_MS", 0)
    async with (
        ScriptedBroker() as broker,
        SecuredRelayUnderTest(broker.port, ports(listening())) as under_test,
    ):
        under_test.relay.quotas = ConnectionQuotas(
            QuotaLimits(unauthenticated=2), has_proved=lambda _connection: False
        )
        silent = await silent_ones(under_test, 2)

        # When
        _, writer = await connected(under_test)
        writer.write(request(1))

        # Then
        assert await broker.until_received(len(request(1))) == request(1)
        assert under_test.counted.of("connections_expired", "handshake_crowded") == 1
        assert not under_test.counted.of("connections_refused", "max_unauthenticated_connections")
        assert under_test.relay.quotas.unauthenticated_count == 2
        for each in (*silent, writer):
            each.close()


def refuses(number: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((BIND_HOST, number)) == errno.ECONNREFUSED


@dataclass
class Changing:
    """A `TlsContext` that a test changes."""

    context: ssl.SSLContext = field(default_factory=lambda: listening().context)


async def test_a_new_context_serves_the_next_connection_and_leaves_the_last_one() -> None:
    # Given
    changing = Changing()
    async with (
        ScriptedBroker(lambda _: response(1)) as broker,
        SecuredRelayUnderTest(broker.port, ports(changing)) as under_test,
    ):
        before, before_writer = await connected(under_test)

        # When
        changing.context = listening(listener_terms("renewed")).context
        _, after = await connected(under_test)

        # Then
        names = [
            dict(part[0] for part in writer.get_extra_info("peercert")["subject"])["commonName"]
            for writer in (before_writer, after)
        ]
        assert names == ["listener", "renewed"]
        before_writer.write(request(1))
        assert await before.readexactly(len(response(1))) == response(1)
        for writer in (before_writer, after):
            writer.close()


async def test_who_connects_before_newcomers_are_admitted_waits_and_is_served() -> None:
    async with (
        ScriptedBroker() as broker,
        SecuredRelayUnderTest(broker.port, ports(listening())) as under_test,
    ):
        await under_test.listeners.stop_accepting()
        under_test.listeners.hold_newcomers()
        await under_test.listeners.bind_bootstrap()

        # When
        connecting = asyncio.get_running_loop().create_task(connected(under_test))
        await asyncio.sleep(0)
        await under_test.listeners.bind([])
        await under_test.listeners.admit_newcomers()

        # Then
        _, writer = await connecting
        writer.write(request(1))
        assert await broker.until_received(len(request(1))) == request(1)
        writer.close()


async def test_a_port_that_is_closed_refuses_and_leaves_its_connections() -> None:
    async with (
        ScriptedBroker() as broker,
        SecuredRelayUnderTest(broker.port, ports(listening())) as under_test,
    ):
        _, writer = await connected(under_test, dialling(upstream_terms("client")))

        # When
        await under_test.listeners.stop_accepting()

        # Then
        number = under_test.listeners.bound_ports[-1]
        await until(lambda: refuses(number))
        writer.write(request(1))
        assert await broker.until_received(len(request(1))) == request(1)
        writer.close()


async def test_a_connection_counts_for_its_address_before_its_handshake_and_no_more_when_that_fails() -> None:
    async with (
        ScriptedBroker() as broker,
        SecuredRelayUnderTest(broker.port, ports(listening())) as under_test,
    ):
        under_test.relay.quotas = ConnectionQuotas(QuotaLimits(of_address=1))
        _, silent = await under_test.connect()
        refused, beyond = await under_test.connect()

        # When
        said_to_refused = await ended(refused)
        silent.close()
        await until(lambda: under_test.counted.of("connection_errors", "client", "handshake_abandoned") == 1)
        _, writer = await connected(under_test)
        writer.write(request(1))

        # Then
        assert await broker.until_received(len(request(1))) == request(1)
        assert said_to_refused == b""
        assert under_test.counted.of("connections_refused", "max_connections_per_ip") == 1
        beyond.close()
        writer.close()


async def test_without_open_files_a_port_waits_and_counts_and_tells_once_and_then_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tls_port, "_PAUSE_SECONDS", 0.01)
    async with (
        ScriptedBroker(lambda _: response(1)) as broker,
        SecuredRelayUnderTest(broker.port, ports(listening())) as under_test,
    ):
        # Given
        address = (BIND_HOST, under_test.listeners.bound_ports[-1])
        with socket.socket() as client, no_files_left():
            client.setblocking(False)
            await asyncio.get_running_loop().sock_connect(client, address)
            await until(lambda: under_test.counted.of("connection_errors", "client", "accept_failed") >= 3)

        # When
        reader, writer = await connected(under_test)
        writer.write(request(1))

        # Then
        assert await reader.readexactly(len(response(1))) == response(1)
        assert [record.msg for record in caplog.records].count("accept_failed") == 1
        writer.close()
