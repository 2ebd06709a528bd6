"""The broker's end of a relayed connection: late, lost, moved, or standing still."""

import asyncio
import socket
from collections.abc import Callable, Hashable

import pytest

from kproxy.net.dialing import connect
from kproxy.net.relay import upstream_twin
from kproxy.net.relay.upstream_twin import UpstreamTwin, dial
from kproxy.settings import HostPort
from kproxy.wire import codecs
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import (
    BIND_HOST,
    RelayUnderTest,
    ended,
    request,
    response,
    settled,
    share_fetch,
    unreading_broker,
)
from tests.unit.net.tls_contexts import dialling, listening
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

MIB = 1 << 20
UNANSWERED_PRODUCE = b"".join(codecs.encode_request(0, 9, 1, "client", ProduceRequest(acks=0)))


def produce_without_acks(size: int) -> bytes:
    """Return a Produce of so many bytes of records that is not answered."""
    records = [TopicProduceData("t", partition_data=[PartitionProduceData(records=bytes(size))])]
    return b"".join(codecs.encode_request(0, 9, 1, "client", ProduceRequest(acks=0, topic_data=records)))


@pytest.fixture
def may_connect(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set it to let the relay connect to its broker."""
    event = asyncio.Event()

    async def connect_late(*arguments: object, **options: object) -> object:
        await event.wait()
        return await connect(*arguments, **options)  # type: ignore[arg-type]  # what it was called with

    monkeypatch.setattr("kproxy.net.relay.upstream_twin.connect", connect_late)
    return event


@pytest.mark.parametrize("leave", [asyncio.StreamWriter.write_eof, asyncio.StreamWriter.close])
async def test_what_wants_no_answer_is_delivered_although_its_client_left_before_the_broker_was_there(
    leave: Callable[[asyncio.StreamWriter], None], may_connect: asyncio.Event
) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        _, writer = await under_test.connect()
        writer.write(UNANSWERED_PRODUCE)
        leave(writer)
        await until(lambda: under_test.relay.traffic.from_clients > 0)
        await settled(lambda: len(under_test.relay.connections))
        may_connect.set()

        assert await broker.until_received(len(UNANSWERED_PRODUCE)) == UNANSWERED_PRODUCE
        await until(lambda: under_test.relay.open_twins == 0)
        assert not under_test.relay.connections
        writer.close()


async def test_a_client_that_left_while_its_broker_was_dialled_leaves_no_connection_behind(
    may_connect: asyncio.Event,
) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        _, writer = await under_test.connect()
        await until(lambda: len(under_test.relay.connections) == 1)
        writer.close()
        await until(lambda: not under_test.relay.connections)
        may_connect.set()
        await broker.until_connections(1)
        await until(lambda: len(under_test.tasks) == 1)  # The sweeper's.

        assert under_test.relay.open_twins == 0


async def test_a_broker_that_closes_at_once_closes_its_client() -> None:
    async def close_at_once(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(close_at_once, BIND_HOST, 0)
    async with server, RelayUnderTest(server.sockets[0].getsockname()[1]) as under_test:
        reader, writer = await under_test.connect()

        assert await ended(reader) == b""
        await until(lambda: under_test.relay.open_twins == 0)
        writer.close()


async def test_a_broker_that_leaves_with_answers_owed_closes_its_client_at_once() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1) + request(2))
        await broker.until_received(2 * len(request(1)))
        broker.send(response(1))
        broker.writers[0].close()

        assert await ended(reader) == response(1)
        assert under_test.counted.of("connection_errors", "broker", "lost") == 1
        await until(lambda: not under_test.relay.connections)
        writer.close()


async def test_a_broker_that_closes_an_idle_connection_closes_its_client_and_that_is_no_error() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        await broker.until_connections(1)
        await until(lambda: under_test.relay.open_twins == 1)
        broker.writers[0].close()

        assert await ended(reader) == b""
        assert not [key for key in under_test.counted.counts if key[0] == "connection_errors"]
        writer.close()


async def test_a_broker_that_moved_is_dialled_at_its_new_address_by_new_connections_only() -> None:
    async with ScriptedBroker() as old, ScriptedBroker() as new, RelayUnderTest(old.port) as under_test:
        before_reader, before_writer = await under_test.connect()
        before_writer.write(request(1))
        await old.until_received(len(request(1)))
        under_test.relay.upstream_addresses = lambda _: [HostPort(BIND_HOST, new.port)]
        after_reader, after_writer = await under_test.connect()
        after_writer.write(request(2))
        await new.until_received(len(request(2)))
        old.send(response(1))
        new.send(response(2))

        assert await before_reader.readexactly(len(response(1))) == response(1)
        assert await after_reader.readexactly(len(response(2))) == response(2)
        for writer in (before_writer, after_writer):
            writer.close()


async def test_an_idle_client_of_a_broker_that_moved_is_closed_so_that_it_comes_to_the_new_address() -> None:
    """Another broker may be at the old one by now, and would answer for ever that it leads nothing."""
    async with (
        ScriptedBroker() as old,
        ScriptedBroker() as new,
        RelayUnderTest(old.port, keepalive_ms=100) as under_test,
    ):
        reader, writer = await under_test.connect()
        await until(lambda: under_test.relay.open_twins == 1)
        under_test.relay.upstream_addresses = lambda _: [HostPort(BIND_HOST, new.port)]

        assert await ended(reader) == b""
        await until(lambda: under_test.relay.open_twins == 0)
        assert not [key for key in under_test.counted.counts if key[0] == "connection_errors"]
        writer.close()


async def test_what_the_old_address_owes_comes_before_the_client_is_closed() -> None:
    async with (
        ScriptedBroker() as old,
        ScriptedBroker() as new,
        RelayUnderTest(old.port, keepalive_ms=100) as under_test,
    ):
        reader, writer = await under_test.connect()
        writer.write(request(1))
        await old.until_received(len(request(1)))
        (twin,) = under_test.relay.twins
        under_test.relay.upstream_addresses = lambda _: [HostPort(BIND_HOST, new.port)]
        await until(lambda: twin.is_parting)
        old.send(response(1))

        assert await ended(reader) == response(1)
        writer.close()


async def test_nothing_more_is_sent_to_an_old_address_though_brokers_may_disagree_about_it() -> None:
    async with (
        ScriptedBroker() as old,
        ScriptedBroker() as new,
        RelayUnderTest(old.port, keepalive_ms=100) as under_test,
    ):
        reader, writer = await under_test.connect()
        writer.write(request(1))
        await old.until_received(len(request(1)))
        (twin,) = under_test.relay.twins
        under_test.relay.upstream_addresses = lambda _: [HostPort(BIND_HOST, new.port)]
        await until(lambda: twin.is_parting)
        under_test.relay.upstream_addresses = lambda _: [HostPort(BIND_HOST, old.port)]
        writer.write(request(2))
        old.send(response(1))

        await ended(reader)
        assert old.received == request(1)
        writer.close()


async def test_an_old_address_that_owes_answers_and_says_nothing_keeps_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upstream_twin, "MOVED_PATIENCE_MS", 100)
    async with (
        ScriptedBroker() as old,
        ScriptedBroker() as new,
        RelayUnderTest(old.port, keepalive_ms=100) as under_test,
    ):
        reader, writer = await under_test.connect()
        writer.write(request(1))
        await old.until_received(len(request(1)))
        under_test.relay.upstream_addresses = lambda _: [HostPort(BIND_HOST, new.port)]

        assert await ended(reader) == b""
        assert under_test.counted.of("connection_errors", "broker", "lost") == 1
        writer.close()


@pytest.mark.parametrize("host", ["bad..host", "a" * 70 + ".example"])
async def test_a_broker_whose_host_can_be_no_name_closes_the_client_that_dialled_it(host: str) -> None:
    async with RelayUnderTest(1) as under_test:
        under_test.relay.upstream_addresses = lambda _: [HostPort(host, 9092)]
        reader, writer = await under_test.connect()

        assert await ended(reader) == b""
        assert under_test.counted.of("connection_errors", "broker", "unresolvable") == 1
        writer.close()


async def test_a_broker_that_takes_nothing_does_not_keep_the_bytes_of_a_client_that_left() -> None:
    with socket.create_server((BIND_HOST, 0)) as never_read:
        port = never_read.getsockname()[1]
        async with RelayUnderTest(port, frame_deadline_ms=200, client_idle_ms=300) as under_test:
            client = await under_test.connect_unread()
            sending = under_test.tasks.spawn(client.send(request(1, bytes(MIB // 2)) * 64), name="client")
            await until(lambda: under_test.relay.buffered_bytes() > 100_000)
            await settled(under_test.relay.buffered_bytes)
            sending.cancel()
            client.close()

            await until(lambda: not under_test.relay.connections)
            await until(lambda: under_test.relay.open_twins == 0)


async def test_what_a_client_that_left_had_sent_counts_until_its_broker_has_it_or_is_lost() -> None:
    async with unreading_broker() as port, RelayUnderTest(port) as under_test:
        # Given
        relay = under_test.relay
        _, writer = await under_test.connect()
        await under_test.until_twins(1)
        (twin,) = relay.twins
        assert isinstance(twin, UpstreamTwin)

        # When
        writer.write(produce_without_acks(200_000))
        await until(lambda: relay.traffic.from_clients > 200_000)
        writer.close()
        await until(lambda: not relay.connections)
        counted = relay.budget.held_bytes, twin.buffered_bytes
        twin.abort()
        await until(lambda: not relay.open_twins)

        # Then
        assert counted[0] == counted[1] > 100_000
        assert relay.budget.held_bytes == 0


async def test_a_client_that_takes_nothing_is_let_go_some_time_after_its_broker_left() -> None:
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, frame_deadline_ms=100) as under_test,
    ):
        client = await under_test.connect_unread()
        await client.send(request(1))
        await broker.until_received(len(request(1)))
        broker.send(response(1, bytes(200_000)))
        await until(lambda: under_test.relay.buffered_bytes() > 100_000)
        broker.writers[0].close()

        await until(lambda: not under_test.relay.connections)
        client.close()


async def test_a_client_that_reads_slowly_gets_everything_although_its_broker_left() -> None:
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, frame_deadline_ms=1_000) as under_test,
    ):
        client = await under_test.connect_unread()
        await client.send(request(1))
        await broker.until_received(len(request(1)))
        whole = response(1, bytes(200_000))
        broker.send(whole)
        await until(lambda: under_test.relay.buffered_bytes() > 100_000)
        broker.writers[0].close()
        received = b""
        while more := await client.read(20_000):
            received += more
            # The time between two reads is what this is about: shorter than the deadline, all together longer.
            await asyncio.sleep(0.03)
        client.close()

        assert received == whole


async def test_a_lost_broker_ends_a_share_request_of_its_client_too() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(share_fetch(1))
        await under_test.apis.was_asked.wait()
        await broker.until_connections(1)
        await until(lambda: under_test.relay.open_twins == 1)
        broker.writers[0].close()

        assert await ended(reader) == b""
        await under_test.apis.was_closed.wait()
        under_test.apis.may_answer.set()
        writer.close()


class OwnerOfTwin:
    """Notes whether its broker is slow."""

    def __init__(self) -> None:
        self.holder: Hashable = self
        self.pauses = 0
        self.resumptions = 0
        self.is_lost = False
        self.may_be_closed = True

    def stop_reading(self) -> None: ...

    def close(self) -> None: ...

    def look_again(self) -> None: ...

    def receive_from_broker(self, data: bytes) -> None: ...

    def pause_for_broker(self) -> None:
        self.pauses += 1

    def resume_for_broker(self) -> None:
        self.resumptions += 1

    def broker_lost(self, twin: UpstreamTwin, error: Exception | None) -> None:  # noqa: ARG002 - the protocol's own signature
        self.is_lost = True


async def test_what_a_broker_with_tls_has_not_taken_is_counted_and_slows_the_client_down() -> None:
    # Given
    may_read, whole = asyncio.Event(), bytes(24 * MIB)
    received: list[bytes] = []

    async def slow_broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await may_read.wait()
        received.append(await reader.readexactly(len(whole)))
        writer.close()

    server = await asyncio.start_server(slow_broker, BIND_HOST, 0, ssl=listening().context)
    under_test, owner = RelayUnderTest(server.sockets[0].getsockname()[1]), OwnerOfTwin()
    under_test.relay.broker_tls = dialling()
    twin = await dial(owner, under_test.relay, -1)

    # When
    twin.write([whole])

    # Then
    assert twin.buffered_bytes > 12 * MIB
    assert (owner.pauses, owner.resumptions) == (1, 0)
    may_read.set()
    await until(lambda: owner.is_lost)
    assert received == [whole]
    assert owner.resumptions == 1
    server.close()
