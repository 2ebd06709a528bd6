"""What has taken too long on a connection, by the clock alone."""

import asyncio
import struct

import pytest

from kproxy.net.relay.client_connection import ClientConnection
from kproxy.net.relay.connection_times import ConnectionTimes
from kproxy.net.relay.limited_connection import LimitedConnection
from kproxy.net.relay.relay import RelayLimits
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import RelayUnderTest, ended, request, response, share_fetch, unreading_broker
from tests.worlds.waiting import until

MIB = 1 << 20

LIMITS = RelayLimits(
    max_request_bytes=1 << 20,
    connect_timeout_ms=1000,
    frame_deadline_ms=30_000,
    keepalive_ms=240_000,
    client_idle_ms=600_000,
)


def test_a_frame_stalls_when_its_client_was_silent_for_longer_than_the_deadline() -> None:
    times = ConnectionTimes(LIMITS, 1_000)

    in_time = times.stalled_frame(31_000, 0, is_client_awaited=True)
    late = times.stalled_frame(31_001, 0, is_client_awaited=True)
    between_frames = times.stalled_frame(99_000, 0, is_client_awaited=False)

    assert (in_time, between_frames) == ("", "")
    assert late == "nothing came for 30000 ms in the middle of a frame"


def test_a_frame_that_others_wait_for_has_ten_deadlines_in_all_however_it_drips() -> None:
    times = ConnectionTimes(LIMITS, 0)
    times.reserved_ms = 5_000
    times.client_ms = 305_001

    in_time = times.stalled_frame(305_000, 70_000, is_client_awaited=True)
    late = times.stalled_frame(305_001, 70_000, is_client_awaited=True)
    without_reservation = times.stalled_frame(305_001, 0, is_client_awaited=True)

    assert (in_time, without_reservation) == ("", "")
    assert late == "a frame of 70000 bytes is not whole after 300001 ms"


def test_a_connection_stands_still_when_what_waits_stays_the_same() -> None:
    times = ConnectionTimes(LIMITS, 0)
    moments = [(1_000, 50), (300_000, 50), (601_000, 50), (601_001, 50)]

    found = [times.stands_still(now_ms, unwritten_bytes) for now_ms, unwritten_bytes in moments]

    assert found == [False, False, False, True]


def test_a_connection_of_which_anything_was_taken_or_on_which_nothing_waits_does_not_stand_still() -> None:
    times = ConnectionTimes(LIMITS, 0)
    moments = [(1_000, 50), (600_000, 49), (1_200_000, 49), (5_000_000, 0), (9_000_000, 0)]

    found = [times.stands_still(now_ms, unwritten_bytes) for now_ms, unwritten_bytes in moments]

    assert found == [False] * 5


def test_a_client_is_gone_and_a_twin_silent_after_their_limits() -> None:
    times = ConnectionTimes(LIMITS, 0)
    times.client_ms, times.twin_ms = 10_000, 20_000

    gone = [times.is_client_gone(now_ms) for now_ms in (610_000, 610_001)]
    silent = [times.is_twin_silent(now_ms) for now_ms in (260_000, 260_001)]

    assert gone == silent == [False, True]
    assert times.idle_limit_ms == 600_000


def test_what_a_client_streamed_was_heard_of_it_and_passed_to_the_broker_at_the_moment_of_the_look() -> None:
    times = ConnectionTimes(LIMITS, 1_000)
    times.has_client_streamed = True

    times.note_streaming(5_000)
    times.note_streaming(9_000)

    assert (times.client_ms, times.twin_ms) == (5_000, 5_000)


def test_what_a_broker_streamed_is_no_sign_of_life_of_the_client() -> None:
    times = ConnectionTimes(LIMITS, 1_000)
    times.has_broker_streamed = True

    times.note_streaming(5_000)
    times.note_streaming(9_000)

    assert (times.client_ms, times.twin_ms) == (1_000, 5_000)


def test_a_connection_is_idle_when_neither_side_was_heard_for_as_long_as_that_may_be() -> None:
    times = ConnectionTimes(LIMITS, 0)
    times.twin_ms = 5

    assert [times.is_idle(now_ms) for now_ms in (600_005, 600_006)] == [False, True]


def test_a_connection_of_which_bytes_are_taken_is_not_idle_although_nothing_comes() -> None:
    times = ConnectionTimes(LIMITS, 0)
    times.stands_still(1_000, 50)
    times.stands_still(500_000, 0)
    times.stands_still(900_000, 0)

    assert [times.is_idle(now_ms) for now_ms in (1_100_000, 1_100_001)] == [False, True]


def test_a_connection_is_not_idle_while_kproxy_was_at_work_for_it_or_had_no_room() -> None:
    times = ConnectionTimes(LIMITS, 0)
    times.resumed_ms = 500_000

    assert [times.is_idle(now_ms) for now_ms in (1_100_000, 1_100_001)] == [False, True]
    assert (times.is_client_gone(1_100_000), times.is_twin_silent(1_100_000)) == (True, True)


# ---- as connections have it


def now_ms() -> int:
    """Return the moment, by the clock of connections."""
    return int(asyncio.get_running_loop().time() * 1000)


def unread(under_test: RelayUnderTest) -> list[LimitedConnection]:
    """Return the connections of which kproxy reads nothing of what the client sends."""
    connections = [each for each in under_test.relay.connections if isinstance(each, LimitedConnection)]
    return [each for each in connections if each.transport is not None and not each.transport.is_reading()]


def ended_ones(under_test: RelayUnderTest) -> list[tuple[str, ...]]:
    """Return what was counted of connections that kproxy ended."""
    names = ("connections_expired", "connection_errors")
    return [key for key in under_test.counted.counts if key[0] in names]


def large_search_begun() -> bytes:
    """Return the beginning of a request of 200 kB that kproxy holds until it is whole."""
    return struct.pack(">ihhi", 200_000, 10, 4, 1) + b"\xff\xff"


async def test_a_frame_that_drips_in_while_others_wait_for_its_memory_is_cut_off() -> None:
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, frame_deadline_ms=50) as under_test,
    ):
        client = await under_test.connect_unread()
        await client.send(large_search_begun())

        async def drip() -> None:
            while True:
                await client.send(b"k")
                await asyncio.sleep(0.01)

        dripping = under_test.tasks.spawn(drip(), name="client")
        await until(lambda: under_test.counted.of("connection_errors", "client", "frame_stalled") == 1)
        dripping.cancel()
        client.close()

        await until(lambda: under_test.relay.budget.held_bytes == 0)


async def test_a_client_that_was_not_read_did_not_stall() -> None:
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, frame_deadline_ms=600) as under_test,
    ):
        _, writer = await under_test.connect()
        writer.write(request(1)[:-1])
        await broker.until_received(len(request(1)) - 1)
        (connection,) = under_test.relay.connections
        assert isinstance(connection, ClientConnection)
        connection.pause_for_broker()
        # Longer than the deadline: time itself is what this is about.
        await asyncio.sleep(0.8)
        connection.resume_for_broker()
        connection.sweep(now_ms())
        writer.write(request(1)[-1:])

        assert await broker.until_received(len(request(1))) == request(1)
        assert under_test.counted.of("connection_errors", "client", "frame_stalled") == 0
        writer.close()


async def test_a_client_that_waits_for_its_last_answer_for_ever_is_let_go() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, client_idle_ms=200) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1))
        writer.write_eof()
        await broker.until_received(len(request(1)))

        assert await ended(reader) == b""
        assert under_test.counted.of("connections_expired", "unanswered") == 1
        writer.close()


async def test_a_client_that_shut_its_writing_side_is_not_let_go_while_its_broker_sends() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        reader, writer = await under_test.connect()
        writer.write(request(1))
        writer.write_eof()
        await broker.until_received(len(request(1)))
        (connection,) = under_test.relay.connections
        shut_ms = now_ms()
        # The broker is heard later than the client was: time itself is what this is about.
        await asyncio.sleep(0.2)
        broker.send(response(1, bytes(1000))[:-1])
        await reader.readexactly(len(response(1, bytes(1000))) - 1)

        # When
        connection.sweep(shut_ms + under_test.relay.limits.client_idle_ms + 100)

        # Then
        assert under_test.counted.of("connections_expired", "unanswered") == 0
        broker.send(response(1, bytes(1000))[-1:])
        assert await ended(reader) == response(1, bytes(1000))[-1:]
        writer.close()


async def test_an_answer_for_which_there_was_no_room_is_not_owed_for_that_long() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        _, writer = await under_test.connect()
        writer.write(request(1))
        writer.write_eof()
        await broker.until_received(len(request(1)))
        (connection,) = under_test.relay.connections
        assert isinstance(connection, LimitedConnection)
        asked_ms = now_ms()
        connection.pause_writing()
        # There is room later than the client was heard: time itself is what this is about.
        await asyncio.sleep(0.2)
        connection.resume_writing()

        # When
        connection.sweep(asked_ms + under_test.relay.limits.client_idle_ms + 100)

        # Then
        assert under_test.counted.of("connections_expired", "unanswered") == 0
        writer.close()


async def test_a_client_that_waited_long_for_an_answer_of_kproxys_own_is_not_idle_when_it_has_it() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        reader, writer = await under_test.connect()
        writer.write(share_fetch(1))
        await until(lambda: bool(under_test.apis.contexts))
        (connection,) = under_test.relay.connections
        asked_ms = now_ms()
        # The answer is later than the question: time itself is what this is about.
        await asyncio.sleep(0.2)
        under_test.apis.may_answer.set()
        await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))

        # When
        connection.sweep(asked_ms + under_test.relay.limits.client_idle_ms + 100)

        # Then
        assert under_test.counted.of("connections_expired", "idle") == 0
        writer.close()


@pytest.mark.parametrize("has_shut_its_side", [False, True])
async def test_a_client_that_reads_nothing_for_as_long_as_brokers_bear_it_is_let_go(
    *, has_shut_its_side: bool
) -> None:
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, client_idle_ms=200, frame_deadline_ms=100) as under_test,
    ):
        client = await under_test.connect_unread()
        await client.send(request(1))
        if has_shut_its_side:
            client.send_eof()
        await broker.until_received(len(request(1)))
        broker.send(response(1, bytes(4 * MIB)))

        await until(lambda: under_test.relay.open_twins == 0)
        await until(lambda: not under_test.relay.connections)
        assert under_test.counted.of("connection_errors", "client", "stands_still") == 1
        client.close()


async def test_a_broker_that_takes_nothing_is_told_from_one_that_does_not_answer() -> None:
    async with (
        unreading_broker() as port,
        RelayUnderTest(port, client_idle_ms=200, frame_deadline_ms=100) as under_test,
    ):
        client = await under_test.connect_unread()
        await under_test.until_twins(1)
        await client.send(request(1, bytes(60_000)))

        await until(lambda: not under_test.relay.connections)
        assert under_test.counted.of("connection_errors", "broker", "stands_still") == 1
        client.close()


@pytest.mark.parametrize("has_shut_its_side", [False, True])
async def test_a_client_for_which_there_is_no_room_is_not_owed_an_answer_by_its_broker(
    *, has_shut_its_side: bool
) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        client = await under_test.connect_unread()
        await client.send(request(1))
        if has_shut_its_side:
            client.send_eof()
        await broker.until_received(len(request(1)))
        (connection,) = under_test.relay.connections
        assert isinstance(connection, LimitedConnection)
        connection.pause_writing()

        # When
        connection.sweep(now_ms() + 2 * under_test.relay.limits.client_idle_ms)

        # Then
        assert not ended_ones(under_test)
        client.close()


async def test_a_client_whose_request_waits_for_room_is_neither_idle_nor_late() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, budget_bytes=150_000) as under_test:
        # Given
        writers = []
        for number in (1, 2):
            reader, writer = await under_test.connect()
            writers.append(writer)
            writer.write(request(1))
            await broker.until_received(number * len(request(1)))
            broker.send(response(1))
            await reader.readexactly(len(response(1)))
            writer.write(large_search_begun() + bytes(100_000))
        await until(lambda: len(unread(under_test)) == 1)
        (waiting,) = unread(under_test)

        # When
        limits = under_test.relay.limits
        waiting.sweep(now_ms() + limits.client_idle_ms + 10 * limits.frame_deadline_ms + 1)

        # Then
        assert not ended_ones(under_test)
        for writer in writers:
            writer.close()


async def test_a_client_that_is_not_read_because_it_sent_too_many_requests_is_not_idle() -> None:
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, max_requests_per_second=10) as under_test,
    ):
        # Given
        reader, writer = await under_test.connect()
        writer.write(request(1) * 60)
        await broker.until_received(60 * len(request(1)))
        broker.send(response(1) * 60)
        await reader.readexactly(60 * len(response(1)))
        (throttled,) = unread(under_test)

        # When
        throttled.sweep(now_ms() + under_test.relay.limits.client_idle_ms + 1)

        # Then
        assert not ended_ones(under_test)
        writer.close()


async def test_a_client_that_ends_in_the_middle_of_a_request_is_let_go_of_after_a_frame_deadline() -> None:
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, frame_deadline_ms=100) as under_test,
    ):
        reader, writer = await under_test.connect()
        writer.write(request(1) + request(2, bytes(1000))[:-1])
        await broker.until_received(len(request(1)) + 500)
        writer.write_eof()

        assert await ended(reader) == b""
        await until(lambda: not under_test.relay.connections and not under_test.relay.open_twins)
        assert under_test.counted.of("connection_errors", "client", "frame_stalled") == 1
        writer.close()
