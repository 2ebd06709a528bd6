"""What time does to relayed connections: silence, stalls, and the way out."""

import asyncio
import gc
from contextlib import suppress
from itertools import pairwise

import pytest

from kproxy.net.relay.client_connection import ClientConnection
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.sweeper import Sweeper
from kproxy.wire import codecs
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import RelayUnderTest, ended, request, response, settled, share_fetch
from tests.worlds.waiting import until

# Time is the subject and costs time, so only the loop that kproxy runs on.
pytestmark = pytest.mark.parametrize("loop_kind", ["uvloop"])

MIB = 1 << 20
METADATA = b"".join(codecs.encode_request(3, 12, 1, "client", MetadataRequest()))
LONG_METADATA = b"".join(
    codecs.encode_response(
        3, 12, 1, MetadataResponse(topics=[MetadataResponseTopic(name="t" * 30_000)] * 140)
    )
)
"""Of 4 MiB; it is held until it is whole."""


def answer_versions(data: bytes) -> bytes:
    """Answer one ApiVersions request, as a broker does to a keepalive."""
    head = codecs.decode_request(data[4:])
    return b"".join(codecs.encode_response(18, 0, head.correlation_id, ApiVersionsResponse()))


def connections_in_memory() -> int:
    """Return how many client connections are kept by anybody."""
    gc.collect()
    return sum(isinstance(each, ClientConnection) for each in gc.get_objects())


async def drain(under_test: RelayUnderTest, seconds: float) -> int:
    """Drain for so long at most; return how many connections had to be cut off."""
    with suppress(TimeoutError):
        await asyncio.wait_for(under_test.sweeper.drain(), seconds)
    return under_test.sweeper.cut_off()


async def test_the_twin_of_a_share_member_is_kept_alive_while_it_holds_records() -> None:
    async with (
        ScriptedBroker(answer_versions) as broker,
        RelayUnderTest(broker.port, keepalive_ms=100) as under_test,
    ):
        reader, writer = await under_test.connect()
        writer.write(share_fetch(1))
        under_test.apis.may_answer.set()
        length = int.from_bytes(await reader.readexactly(4), "big")
        await reader.readexactly(length)
        await broker.until_received(3 * 30)

        assert under_test.counted.of("keepalives") >= 2
        writer.write_eof()
        assert await ended(reader) == b""
        writer.close()


async def test_a_connection_that_serves_no_share_member_is_left_to_fall_silent() -> None:
    """A broker closes idle connections, and what is gone without a word would stay for ever otherwise."""
    async with (
        ScriptedBroker(answer_versions) as broker,
        RelayUnderTest(broker.port, keepalive_ms=50) as under_test,
    ):
        reader, writer = await under_test.connect()
        await until(lambda: under_test.relay.open_twins == 1)
        # Several times as long as a share member's twin may be silent: time itself is what this is about.
        await asyncio.sleep(0.3)
        kept_alive = under_test.counted.of("keepalives")
        broker.writers[0].close()

        assert await ended(reader) == b""
        assert kept_alive == 0
        writer.close()


async def test_the_twin_of_a_share_member_that_vanished_is_kept_alive_no_more() -> None:
    async with (
        ScriptedBroker(answer_versions) as broker,
        RelayUnderTest(broker.port, keepalive_ms=50, client_idle_ms=1_000) as under_test,
    ):
        _, writer = await under_test.connect()
        writer.write(share_fetch(1))
        await until(lambda: under_test.counted.of("keepalives") >= 1)
        # Longer than it takes to be found silent: time itself is what this is about.
        await asyncio.sleep(1.2)
        kept = under_test.counted.of("keepalives")
        await asyncio.sleep(0.2)

        assert under_test.counted.of("keepalives") == kept
        writer.close()


async def test_what_leaves_of_a_connection_that_is_being_closed_counts_no_more() -> None:
    """Or it would be taken for one that stands still, and cut off, while others wait for room."""
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, max_request_bytes=8 * MIB) as under_test,
    ):
        # Given
        client = await under_test.connect_unread()
        (connection,) = under_test.relay.connections
        await client.send(METADATA)
        await broker.until_received(len(METADATA))
        broker.send(LONG_METADATA)
        await until(lambda: connection.buffered_bytes > 3 * MIB and not connection.session.is_busy)
        connection.close()
        counted = [under_test.relay.budget.held_bytes]

        # When
        await client.read_exactly(2 * MIB)
        connection.sweep(0)
        counted.append(under_test.relay.budget.held_bytes)

        # Then
        assert counted[0] > 3 * MIB
        assert counted[1] == connection.buffered_bytes < 3 * MIB
        client.close()


async def test_a_drain_answers_what_is_owed_and_then_closes() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1))
        await broker.until_received(len(request(1)))
        await under_test.listeners.stop_accepting()
        drained = asyncio.ensure_future(drain(under_test, 5.0))  # noqa: TID251 - awaited below
        broker.send(response(1))

        assert await ended(reader) == response(1)
        assert await drained == 0
        writer.close()


async def test_a_drain_lets_a_reader_go_on_whose_answer_had_filled_every_buffer() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        client = await under_test.connect_unread()
        await client.send(request(1))
        await broker.until_received(len(request(1)))
        whole = response(1, bytes(4 * MIB))
        broker.send(whole)
        await settled(under_test.relay.buffered_bytes)
        draining = asyncio.ensure_future(drain(under_test, 8.0))  # noqa: TID251 - awaited below
        received = await client.read_exactly(len(whole))

        assert received == whole
        assert await draining == 0
        client.close()


async def test_those_who_take_nothing_do_not_hold_up_the_drain_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kproxy.net.relay.sweeper._DRAIN_WAVE", 1)

    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        stuck = [await under_test.connect_unread() for _ in range(3)]
        await broker.until_connections(3)
        for client, writer in zip(stuck, broker.writers, strict=True):
            await client.send(request(1))
            writer.write(response(1, bytes(200_000)))
        await until(lambda: under_test.relay.buffered_bytes() > 3 * 100_000)
        idle = [await under_test.connect() for _ in range(3)]
        await until(lambda: len(under_test.relay.connections) == 6)
        draining = asyncio.ensure_future(drain(under_test, 1.0))  # noqa: TID251 - awaited below

        async with asyncio.timeout(0.9):
            said = [await ended(reader) for reader, _ in idle]

        assert said == [b""] * 3
        assert await draining == 3
        for client in stuck:
            client.close()
        for _, writer in idle:
            writer.close()


async def test_a_drain_answers_what_waited_behind_a_share_request() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(share_fetch(1) + request(2))
        await under_test.apis.was_asked.wait()
        await broker.until_connections(1)
        await until(lambda: under_test.relay.open_twins == 1)
        draining = asyncio.ensure_future(drain(under_test, 5.0))  # noqa: TID251 - awaited below
        under_test.apis.may_answer.set()
        length = int.from_bytes(await reader.readexactly(4), "big")
        await reader.readexactly(length)
        await broker.until_received(len(request(2)))
        broker.send(response(2))

        assert await ended(reader) == response(2)
        assert await draining == 0
        writer.close()


async def test_a_client_that_was_cut_off_has_ended_when_what_it_held_is_released() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        under_test.apis.may_answer.set()
        under_test.apis.may_release.clear()
        _, writer = await under_test.connect()
        writer.write(share_fetch(1) + request(2))
        await broker.until_received(len(request(2)))
        cut_off_count = await drain(under_test, 0.01)

        # When
        ending = asyncio.ensure_future(under_test.sweeper.all_ended())  # noqa: TID251 - awaited below
        await under_test.apis.was_closed.wait()
        await asyncio.wait({ending}, timeout=0.05)
        had_ended = ending.done()
        under_test.apis.may_release.set()
        await ending

        # Then
        assert (cut_off_count, had_ended) == (1, False)
        assert not under_test.relay.ending
        writer.close()


async def test_what_a_client_had_sent_when_it_went_is_served_before_it_has_ended() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        _, writer = await under_test.connect()
        writer.write(share_fetch(1) + share_fetch(2))
        await under_test.apis.was_asked.wait()
        writer.close()
        await until(lambda: not under_test.relay.connections)

        # When
        ending = asyncio.ensure_future(under_test.sweeper.all_ended())  # noqa: TID251 - awaited below
        under_test.apis.may_answer.set()
        await ending

        # Then
        assert len(under_test.apis.requests) == 2
        assert len(under_test.apis.closed) == 1


async def exchange_versions(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Learn what is served, as every client does first."""
    writer.writelines(codecs.encode_request(18, 0, 1, "client", ApiVersionsRequest()))
    length = int.from_bytes(await reader.readexactly(4), "big")
    await reader.readexactly(length)


async def test_a_client_that_was_told_of_other_share_apis_has_to_ask_again() -> None:
    async with (
        ScriptedBroker(answer_versions) as broker,
        RelayUnderTest(broker.port, keepalive_ms=100) as under_test,
    ):
        # Given
        told, teller = await under_test.connect()
        await exchange_versions(told, teller)
        _, silent = await under_test.connect()
        await until(lambda: len(under_test.relay.connections) == 2)

        # When
        under_test.relay.routes.serve({})

        # Then
        assert await ended(told) == b""
        assert len(under_test.relay.connections) == 1
        teller.close()
        silent.close()


async def test_a_fault_in_the_look_at_one_connection_ends_that_connection_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with (
        ScriptedBroker(answer_versions) as broker,
        RelayUnderTest(broker.port, keepalive_ms=100) as under_test,
    ):
        # Given
        under_test.apis.may_answer.set()
        _, sound_writer = await under_test.connect()
        sound_writer.write(share_fetch(1))
        await until(lambda: len(under_test.apis.contexts) == 1)
        (sound,) = under_test.relay.connections

        def broken(connection: ClientConnection, now_ms: int) -> None:
            if connection is not sound:
                raise RuntimeError("broken")
            sweep(connection, now_ms)

        sweep = ClientConnection.sweep
        monkeypatch.setattr(ClientConnection, "sweep", broken)

        # When
        faulty_reader, faulty_writer = await under_test.connect()

        # Then
        assert await ended(faulty_reader) == b""
        await until(lambda: under_test.counted.of("keepalives") > 1)
        assert under_test.counted.of("task_faults", "sweeper") == 1
        for writer in (sound_writer, faulty_writer):
            writer.close()


async def test_who_others_wait_for_is_looked_at_while_thousands_of_connections_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where others keep the event loop busy, a sweep of many turns takes seconds."""
    # Given a connection a turn, and looks that are always due
    monkeypatch.setattr("kproxy.net.relay.sweeper._SWEPT_A_TURN", 1)
    monkeypatch.setattr("kproxy.net.relay.sweeper._LOOK_SECONDS", 0)
    seen = list[str]()
    monkeypatch.setattr(BufferBudget, "look_at_place", lambda *_: seen.append("who others wait for"))
    monkeypatch.setattr(ClientConnection, "sweep", lambda *_: seen.append("a connection"))

    # When
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, keepalive_ms=100) as under_test:
        writers = [(await under_test.connect())[1] for _ in range(3)]
        await until(lambda: len(under_test.relay.connections) == 3)
        seen.clear()
        await until(lambda: seen.count("a connection") >= 6)
        for writer in writers:
            writer.close()

    # Then
    assert ("a connection", "a connection") not in set(pairwise(seen))


async def test_what_stands_in_memory_for_clients_counts_for_the_budget_of_all() -> None:
    async with RelayUnderTest(1, keepalive_ms=100) as under_test:
        sweeper = Sweeper(under_test.relay, standing_bytes=lambda: 12_345)
        under_test.tasks.keep_up(sweeper.run, name="another sweeper")

        await until(lambda: under_test.relay.budget.held_bytes == 12_345)


async def test_a_connection_that_was_looked_at_is_not_kept_when_it_has_ended() -> None:
    # Given
    async with (
        ScriptedBroker(answer_versions) as broker,
        RelayUnderTest(broker.port, keepalive_ms=100) as under_test,
    ):
        kept_before = connections_in_memory()
        reader, writer = await under_test.connect()
        writer.write(share_fetch(1))
        under_test.apis.may_answer.set()
        await until(lambda: under_test.counted.of("keepalives") > 0)

        # When
        writer.write_eof()
        await ended(reader)
        writer.close()
        under_test.apis.contexts.clear()

        # Then
        await until(lambda: connections_in_memory() == kept_before)
