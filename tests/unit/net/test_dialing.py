import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import pytest

from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.dialing import connect
from kproxy.net.name_lookups import NameLookups
from kproxy.settings.addresses import HostPort
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.answering_broker import AnsweringBroker

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def port_that_swallows(host: str, port: int) -> Iterator[int]:
    """A port whose queue of connections is full: what comes is dropped, as by a firewall."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind((host, port))
        listener.listen(0)
        bound_port = int(listener.getsockname()[1])
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex((host, bound_port))
        yield bound_port


async def broker_behind_an_address_that_swallows(stack: AsyncExitStack) -> AnsweringBroker:
    """A broker whose port swallows what comes to 127.0.0.2."""
    while True:
        broker = await stack.enter_async_context(AnsweringBroker())
        try:
            stack.enter_context(port_that_swallows("127.0.0.2", broker.address.port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:  # by somebody who listens to every address
                raise
        else:
            return broker


@pytest.fixture
def full_port() -> Iterator[int]:
    with port_that_swallows("127.0.0.1", 0) as port:
        yield port


async def test_a_connection_is_made() -> None:
    # Given
    async with AnsweringBroker() as broker:
        made: list[asyncio.Protocol] = []

        def protocol() -> asyncio.Protocol:
            made.append(asyncio.Protocol())
            return made[-1]

        # When
        connected = await connect(broker.address, protocol, timeout_ms=2000)

        # Then
        assert made == [connected]


async def test_every_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    async def two_addresses(_: HostPort, __: int) -> list[tuple[str, int]]:
        return [("127.0.0.2", socket.AF_INET), ("127.0.0.1", socket.AF_INET)]

    monkeypatch.setattr("kproxy.net.dialing._resolve", two_addresses)
    async with AnsweringBroker() as broker:
        # When
        connected = await connect(broker.address, asyncio.Protocol, timeout_ms=2000)

        # Then
        assert isinstance(connected, asyncio.Protocol)


async def test_an_address_that_swallows_packets_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    async def two_addresses(_: HostPort, __: int) -> list[tuple[str, int]]:
        return [("127.0.0.2", socket.AF_INET), ("127.0.0.1", socket.AF_INET)]

    monkeypatch.setattr("kproxy.net.dialing._resolve", two_addresses)
    async with AsyncExitStack() as stack:
        broker = await broker_behind_an_address_that_swallows(stack)

        # When
        connected = await connect(broker.address, asyncio.Protocol, timeout_ms=2000)

        # Then
        assert isinstance(connected, asyncio.Protocol)


async def test_a_name_none_of_whose_addresses_answers_is_told_with_all_of_them(
    closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    async def two_addresses(_: HostPort, __: int) -> list[tuple[str, int]]:
        return [("127.0.0.2", socket.AF_INET), ("127.0.0.1", socket.AF_INET)]

    monkeypatch.setattr("kproxy.net.dialing._resolve", two_addresses)

    # When
    with pytest.raises(BrokerFailure) as failure:
        await connect(HostPort("kafka", closed_port), asyncio.Protocol, timeout_ms=2000)

    # Then
    tried = "127.0.0.2: connection refused; 127.0.0.1: connection refused"
    assert str(failure.value) == f"kafka:{closed_port} cannot be reached ({tried})"


async def test_a_port_that_nobody_listens_on_is_named_with_the_reason(closed_port: int) -> None:
    # When
    with pytest.raises(BrokerFailure) as failure:
        await connect(HostPort("127.0.0.1", closed_port), asyncio.Protocol, timeout_ms=2000)

    # Then
    reason = f"127.0.0.1:{closed_port} cannot be reached (127.0.0.1: connection refused)"
    assert str(failure.value) == reason
    assert failure.value.reason == "unreachable"


async def test_a_name_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    def unknown(_: str) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("kproxy.net.dialing.lookups_of_this_loop", lambda: NameLookups(unknown))

    # When
    with pytest.raises(BrokerFailure) as failure:
        await connect(HostPort("no-such-host.invalid", 9092), asyncio.Protocol, timeout_ms=10_000)

    # Then
    reason = "the name 'no-such-host.invalid' cannot be resolved: Name or service not known"
    assert str(failure.value) == reason
    assert failure.value.reason == "unresolvable"


async def test_a_peer_that_swallows_packets_costs_no_more_than_the_timeout(full_port: int) -> None:
    # When
    with pytest.raises(BrokerFailure) as failure:
        await connect(HostPort("127.0.0.1", full_port), asyncio.Protocol, timeout_ms=100)

    # Then
    assert str(failure.value) == f"127.0.0.1:{full_port} cannot be reached within 100 ms"
    assert failure.value.reason == "connect_timeout"


async def test_a_name_that_can_be_none_is_named() -> None:
    # When
    with pytest.raises(BrokerFailure) as failure:
        await connect(HostPort("broker..example", 9092), asyncio.Protocol, timeout_ms=10_000)

    # Then
    assert str(failure.value).startswith("'broker..example' can be no host name: ")
    assert failure.value.reason == "unresolvable"


async def test_a_name_is_resolved_anew_at_each_dial(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    async with AnsweringBroker() as broker:
        hosts = ["127.0.0.2", "127.0.0.1"]

        async def moving(_: HostPort, __: int) -> list[tuple[str, int]]:
            return [(hosts.pop(0), socket.AF_INET)]

        monkeypatch.setattr("kproxy.net.dialing._resolve", moving)
        with pytest.raises(BrokerFailure):
            await connect(broker.address, asyncio.Protocol, timeout_ms=2000)

        # When
        connected = await connect(broker.address, asyncio.Protocol, timeout_ms=2000)

        # Then
        assert isinstance(connected, asyncio.Protocol)
