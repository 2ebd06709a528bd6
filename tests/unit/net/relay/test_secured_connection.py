"""A client connection with TLS: who its client is, and how it ends."""

import asyncio

import pytest

from kproxy.net.relay.listeners import SecuredPorts
from kproxy.net.relay.relay import Relay
from kproxy.net.relay.secured_connection import PrincipalOf, SecuredConnection, SecuredConnectionBeside
from kproxy.net.tls import paced_transport
from kproxy.net.tls.peer_names import subject_of
from kproxy.security.principal import ANONYMOUS, Principal
from kproxy.security.principal_mapping import PrincipalMapping
from kproxy.settings.choices import ClientAuth
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import (
    RelayUnderTest,
    SecuredRelayUnderTest,
    request,
    response,
    share_fetch,
)
from tests.unit.net.tls_client import TlsClient
from tests.unit.net.tls_contexts import Fixed, dialling, listening, upstream_terms
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

LARGE_BYTES = 24 << 20
"""More than what sockets and TLS hold for a client that reads nothing."""

REQUESTED = listening(client_auth=ClientAuth.REQUESTED)


def principal_of(rules: str) -> PrincipalOf:
    mapping = PrincipalMapping(rules)
    return lambda certificate: mapping.principal_of(subject_of(certificate))


def ports(rules: str = "DEFAULT", kind: type[SecuredConnection] = SecuredConnection) -> SecuredPorts:
    def connection(relay: Relay, node_id: int) -> SecuredConnection:
        return kind(relay, node_id, principal_of(rules))

    return SecuredPorts(REQUESTED, connection)


def of_alice() -> Fixed:
    return dialling(upstream_terms("alice", "CN=alice,OU=Orders,O=Acme"))


async def connected(under_test: RelayUnderTest, tls: Fixed | None = None) -> TlsClient:
    """A client that leaves nothing of TLS to the loop: how a connection ends is what this is about."""
    return await TlsClient.connected(under_test.listeners.bound_ports[-1], tls)


async def principal_seen(rules: str, tls: Fixed) -> Principal:
    """Who the share APIs were told had asked."""
    async with ScriptedBroker() as broker, SecuredRelayUnderTest(broker.port, ports(rules)) as under_test:
        client = await connected(under_test, tls)
        await client.send(share_fetch(1))
        await under_test.apis.was_asked.wait()
        client.close()
        return under_test.apis.contexts[0].principal


async def test_a_client_is_who_its_certificate_says() -> None:
    assert await principal_seen("DEFAULT", of_alice()) == Principal("User", "CN=alice,OU=Orders,O=Acme")


async def test_rules_make_its_name_shorter() -> None:
    assert await principal_seen("RULE:^CN=(.*?),OU=Orders.*$/$1/U", of_alice()) == Principal("User", "ALICE")


async def test_a_client_without_a_certificate_is_anonymous() -> None:
    assert await principal_seen("DEFAULT", dialling()) == ANONYMOUS


async def test_a_client_whom_no_rule_fits_is_closed_and_counted() -> None:
    async with (
        ScriptedBroker() as broker,
        SecuredRelayUnderTest(broker.port, ports("RULE:^CN=bob$/bob/")) as under_test,
    ):
        client = await connected(under_test, of_alice())

        # When
        await client.send(share_fetch(1))

        # Then
        assert await client.read_to_end() == b""
        assert under_test.counted.of("connection_errors", "client", "principal_unmapped") == 1
        assert not under_test.apis.requests
        client.close()


@pytest.mark.parametrize("is_told", [False, True])
async def test_a_client_that_closes_ends_its_connection_and_its_twin(*, is_told: bool) -> None:
    async with ScriptedBroker() as broker, SecuredRelayUnderTest(broker.port, ports()) as under_test:
        client = await connected(under_test)
        await client.send(request(1))
        await broker.until_received(len(request(1)))

        # When
        if is_told:
            await client.say_last_word()
        client.close()

        # Then
        await until(lambda: not under_test.relay.connections and not under_test.relay.traffic.open_twins)
        assert not under_test.counted.of("connection_errors", "client", "stands_still")


async def test_a_client_that_says_its_last_word_with_an_answer_owed_makes_no_noise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Under TLS asyncio warns when a protocol wants to go on after that."""
    async with ScriptedBroker() as broker, SecuredRelayUnderTest(broker.port, ports()) as under_test:
        end = await connected(under_test)
        await end.send(request(1))
        await broker.until_received(len(request(1)))

        # When
        await end.say_last_word()

        # Then
        await until(lambda: not under_test.relay.connections)
        end.close()
    assert not [record for record in caplog.records if "has no effect" in record.message]


async def test_a_broker_that_leaves_takes_its_answers_along_and_the_client_is_told() -> None:
    async with ScriptedBroker() as broker, SecuredRelayUnderTest(broker.port, ports()) as under_test:
        client = await connected(under_test)
        await client.send(request(1))
        await broker.until_received(len(request(1)))

        # When
        broker.send(response(1))
        broker.writers[0].close()

        # Then
        assert await client.read_to_end() == response(1)
        client.close()


async def test_beside_ports_in_plaintext_nothing_is_told_of_those() -> None:
    async with (
        ScriptedBroker() as broker,
        SecuredRelayUnderTest(broker.port, ports(kind=SecuredConnectionBeside)) as under_test,
    ):
        client = await connected(under_test)
        await client.send(share_fetch(1))
        await under_test.apis.was_asked.wait()
        assert under_test.apis.contexts[0].is_relayed
        client.close()


async def test_an_answer_that_its_client_does_not_take_counts_and_the_client_is_let_go() -> None:
    # Given
    async with (
        ScriptedBroker() as broker,
        SecuredRelayUnderTest(broker.port, ports(), client_idle_ms=500, frame_deadline_ms=500) as under_test,
    ):
        under_test.apis.records = bytes(LARGE_BYTES)
        under_test.apis.may_answer.set()
        client = await connected(under_test)

        # When
        await client.send(share_fetch(1))

        # Then
        await until(lambda: under_test.relay.budget.held_bytes > LARGE_BYTES / 2)
        await until(lambda: not under_test.relay.connections)
        stands_still = under_test.counted.of("connection_errors", "client", "stands_still")
        assert stands_still + under_test.counted.of("connections_expired", "idle") == 1
        client.close()


async def test_a_client_that_does_not_answer_the_end_holds_up_no_drain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(paced_transport, "LOOK_SECONDS", 0.01)
    async with ScriptedBroker() as broker, SecuredRelayUnderTest(broker.port, ports()) as under_test:
        end = await connected(under_test)
        await until(lambda: bool(under_test.relay.connections))

        # When
        async with asyncio.timeout(5):
            await under_test.sweeper.drain()

        # Then
        assert not under_test.relay.connections
        end.close()


async def test_a_client_that_is_slow_gets_all_of_an_answer_behind_which_its_connection_is_closed() -> None:
    # Given
    async with (
        ScriptedBroker() as broker,
        SecuredRelayUnderTest(broker.port, ports(), frame_deadline_ms=60_000) as under_test,
    ):
        under_test.apis.records = bytes(LARGE_BYTES)
        under_test.apis.may_answer.set()
        client = await connected(under_test)
        await client.send(share_fetch(1))
        received = len(await client.read_exactly(1))
        (connection,) = under_test.relay.connections

        # When
        connection.close()
        await asyncio.sleep(2.2)  # time itself is what this is about
        connection.sweep(1)
        connection.sweep(200_000)

        # Then
        received += len(await client.read_to_end())
        assert received > LARGE_BYTES
        client.close()
