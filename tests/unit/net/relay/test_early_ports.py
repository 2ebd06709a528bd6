"""Ports that listen before anybody serves them."""

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kproxy.interception.broker_addresses import BackingBroker
from kproxy.net.relay import listeners as net_listeners
from kproxy.net.relay.early_ports import EarlyPorts, client_addresses
from kproxy.net.relay.listeners import Listeners, PortPlan, PortUnavailable
from kproxy.settings import HostPort, Settings
from tests.event_loops import BOTH_LOOPS
from tests.real_kafka.ports import ReservedPort
from tests.unit.net.relaying import BIND_HOST, RelayUnderTest, ended, share_fetch


@pytest.fixture
def addresses() -> Iterator[tuple[HostPort, HostPort]]:
    """Two that nobody else gets while the test lasts."""
    with ReservedPort(BIND_HOST) as one, ReservedPort(BIND_HOST) as other:
        yield HostPort(BIND_HOST, one.number), HostPort(BIND_HOST, other.number)


def free_address() -> HostPort:
    with socket.socket() as probe:
        probe.bind((BIND_HOST, 0))
        return HostPort(BIND_HOST, int(probe.getsockname()[1]))


def test_the_ports_that_are_known_at_once_are_the_bootstrap_port_and_those_of_the_map() -> None:
    # Given
    settings = replace(Settings(), listen=HostPort(BIND_HOST, 19092), broker_port_map={1: 19101, 2: 19102})

    # Then
    assert client_addresses(settings) == [HostPort(BIND_HOST, port) for port in (19092, 19101, 19102)]


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_who_connects_early_is_served_when_the_port_is_taken_over(
    addresses: tuple[HostPort, HostPort],
) -> None:
    bootstrap, of_broker = addresses

    async with RelayUnderTest(upstream_port=1) as under_test:
        # Given
        early = EarlyPorts([bootstrap, of_broker])
        connections = [
            await asyncio.open_connection(address.host, address.port) for address in (bootstrap, of_broker)
        ]
        for _, writer in connections:
            writer.write(share_fetch(1))
        plan = PortPlan(BIND_HOST, bootstrap.port, 1, "kproxy", {5: of_broker.port})
        listeners = Listeners(plan, under_test.relay, under_test.addresses, early=early)
        under_test.apis.may_answer.set()

        # When
        listeners.hold_newcomers()
        await listeners.bind_bootstrap()
        under_test.tasks.spawn(listeners.admit_newcomers(), name="admit newcomers")
        await listeners.bind([BackingBroker(5, "broker-5", 9092)])

        # Then
        assert all([await reader.readexactly(4) for reader, _ in connections])
        assert sorted(context.node_id for context in under_test.apis.contexts) == [-1, 5]
        for _, writer in connections:
            writer.close()
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_port_of_a_broker_that_the_cluster_does_not_have_is_closed(
    addresses: tuple[HostPort, HostPort],
) -> None:
    bootstrap, of_nobody = addresses

    async with RelayUnderTest(upstream_port=1) as under_test:
        # Given
        early = EarlyPorts([bootstrap, of_nobody])
        plan = PortPlan(BIND_HOST, bootstrap.port, 1, "kproxy", {6: of_nobody.port})
        listeners = Listeners(plan, under_test.relay, under_test.addresses, early=early)
        await listeners.bind_bootstrap()

        # When
        await listeners.bind([])

        # Then
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(of_nobody.host, of_nobody.port)
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_while_the_cluster_is_away_nobody_waits_for_long_at_the_port_of_a_broker(
    addresses: tuple[HostPort, HostPort], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(net_listeners, "HOLD_SECONDS", 0.01)
    bootstrap, of_broker = addresses

    async with RelayUnderTest(upstream_port=1) as under_test:
        # Given
        early = EarlyPorts([bootstrap, of_broker])
        plan = PortPlan(BIND_HOST, bootstrap.port, 1, "kproxy", {5: of_broker.port})
        listeners = Listeners(plan, under_test.relay, under_test.addresses, early=early)
        listeners.hold_newcomers()
        await listeners.bind_bootstrap()
        reader, writer = await asyncio.open_connection(of_broker.host, of_broker.port)

        # When
        await listeners.admit_newcomers()

        # Then
        assert await ended(reader) == b""
        writer.close()
        await listeners.bind([BackingBroker(5, "broker-5", 9092)])
        assert set(listeners.bound_ports) == {-1, 5}
        await listeners.stop_accepting()


def test_what_cannot_be_bound_early_is_left_to_whoever_says_why() -> None:
    with socket.create_server((BIND_HOST, 0)) as occupant:
        taken = HostPort(BIND_HOST, occupant.getsockname()[1])
        unknown, any_port = HostPort("no-such-host.invalid", 19092), HostPort(BIND_HOST, 0)

        # When
        early = EarlyPorts([taken, unknown, any_port])

        # Then
        assert [address in early for address in (taken, unknown, any_port)] == [False, False, False]
        assert early.take(taken.host, taken.port) is None


def test_ports_that_nobody_took_are_closed() -> None:
    # Given
    address = free_address()
    early = EarlyPorts([address])
    was_there = address in early

    # When
    early.close()

    # Then
    assert was_there
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.host, address.port), timeout=1)


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_of_ipv6_leaves_that_of_ipv4_alone_as_the_ports_bound_later_do() -> None:
    # Given
    of_ipv4 = free_address()
    early = EarlyPorts([HostPort("::", of_ipv4.port)])

    # When
    with socket.socket() as other:
        other.bind((of_ipv4.host, of_ipv4.port))

    # Then
    assert HostPort("::", of_ipv4.port) in early
    early.close()


def test_a_name_that_is_none_is_left_to_whoever_binds_it_later() -> None:
    # Given
    address = HostPort("a..b", 19092)

    # When
    early = EarlyPorts([address])

    # Then
    assert address not in early


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_name_that_is_none_cannot_be_listened_on_and_says_so() -> None:
    async with RelayUnderTest(upstream_port=1) as under_test:
        listeners = Listeners(PortPlan("a..b", 19092, 1, "kproxy"), under_test.relay, under_test.addresses)

        with pytest.raises(PortUnavailable, match=r"a\.\.b:19092"):
            await listeners.bind_bootstrap()


def test_ports_of_another_kind_are_split_off_and_outlive_the_others() -> None:
    # Given
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        first, second = (HostPort("127.0.0.1", probe.getsockname()[1]) for probe in (one, other))
    early = EarlyPorts([first, second])

    # When
    part = early.split_off([second])
    early.close()

    # Then
    assert second in part
    assert second not in early
    part.close()


def test_ports_with_tls_are_known_before_the_cluster_is_asked() -> None:
    # When
    settings = Settings(
        listen=HostPort("127.0.0.1", 1), tls_listen=HostPort("127.0.0.1", 2), tls_broker_port_map={7: 3}
    )

    # Then
    assert client_addresses(settings)[1:] == [HostPort("127.0.0.1", 2), HostPort("127.0.0.1", 3)]
