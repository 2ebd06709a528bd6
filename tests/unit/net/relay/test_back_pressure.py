"""`BackPressure`: whichever side is full stops the other."""

import asyncio
import struct
from contextlib import suppress

import pytest

from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.client_session import ClientSession
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.net.relay.back_pressure import MAX_BACKLOG_BYTES, MAX_OWED_RESPONSES, BackPressure
from kproxy.net.relay.client_connection import ClientConnection
from kproxy.wire import codecs
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import (
    SERVED,
    RelayUnderTest,
    request,
    response,
    settled,
    share_fetch,
    share_search,
)
from tests.worlds.waiting import until

UNKNOWN_API_VERSIONS = struct.pack(">ihhi", 8, 18, 99, 1)
"""Answered at once."""

METADATA = b"".join(codecs.encode_request(3, 12, 1, "client", MetadataRequest()))
"""Its response is held whole."""

LARGE_SHARE_FETCH = b"".join(
    codecs.encode_request(
        78,
        1,
        1,
        "client",
        ShareFetchRequest(
            group_id="g",
            member_id="m" * 32_000,
            topics=[FetchTopic(topic_id=bytes(16), partitions=[FetchPartition()] * 40_000)],
        ),
    )
)

LARGE_RESPONSE = b"".join(
    codecs.encode_response(3, 12, 1, MetadataResponse(topics=[MetadataResponseTopic(name="t" * 30_000)] * 20))
)

METADATA_RESPONSE = b"".join(
    codecs.encode_response(3, 12, 1, MetadataResponse(topics=[MetadataResponseTopic(name="t" * 30_000)] * 4))
)

NEW_BROKER_RESPONSE = b"".join(
    codecs.encode_response(3, 12, 1, MetadataResponse(brokers=[MetadataResponseBroker(node_id=2, host="b")]))
)


def a_session(received: bytes = b"") -> ClientSession:
    routes = RoutingTable(SERVED)
    rewriter = ResponseRewriter(BrokerAddresses(), lambda: routes.served)
    session = ClientSession(routes, rewriter, max_request_bytes=1 << 20, request_counts={})
    session.receive_from_client(received)
    return session


def a_session_that_is_owed(count: int) -> ClientSession:
    """Return one that has had its turns until so many answers were owed to it."""
    session = a_session(b"".join(request(number) for number in range(count)))
    while session.is_paused:
        session.go_on()
    return session


def wanted(pressure: BackPressure, session: ClientSession, *, has_twin: bool = True) -> tuple[bool, bool]:
    """Return whether client and broker are read."""
    return pressure.is_client_wanted(session, has_twin=has_twin), pressure.is_broker_wanted


def test_both_are_read_while_nothing_waits() -> None:
    assert wanted(BackPressure(), a_session()) == (True, True)


def test_a_broker_that_is_full_stops_the_client_only() -> None:
    pressure = BackPressure()
    pressure.is_broker_full = True

    assert wanted(pressure, a_session()) == (False, True)


def test_a_client_that_is_full_and_a_frame_without_room_stop_both() -> None:
    full, without_room = BackPressure(), BackPressure()
    full.is_client_full = without_room.awaits_room = True

    assert wanted(full, a_session()) == wanted(without_room, a_session()) == (False, False)


def test_nothing_more_is_taken_from_a_client_at_the_end_but_it_hears_its_answers() -> None:
    pressure = BackPressure()
    pressure.is_ending = True

    assert wanted(pressure, a_session()) == (False, True)


def test_a_client_is_not_read_while_its_first_requests_wait_for_the_broker_to_be_connected() -> None:
    assert wanted(BackPressure(), a_session(request(1)), has_twin=False) == (False, True)


def test_a_client_whose_answers_take_much_and_wait_for_the_broker_is_not_read_nor_gone_on_with() -> None:
    # Given
    pressure, session = BackPressure(), a_session(request(1) + share_search(2) + share_search(3))
    session.go_on()

    # When
    before = (
        session.slots.kept_bytes > MAX_BACKLOG_BYTES,
        wanted(pressure, session),
        pressure.makes_turn_due(session),
    )
    session.receive_from_broker(response(1))

    # Then
    assert before == (True, (False, True), False)
    assert session.slots.kept_bytes == 0
    assert pressure.makes_turn_due(session)


def test_a_large_request_is_read_when_nothing_is_owed_before_it_and_its_client_takes_answers() -> None:
    # Given
    session, pressure = a_session(request(1) + share_search(2)[:100_000]), BackPressure()
    pressure.is_broker_full = True

    # When
    wanted = [pressure.is_client_wanted(session, has_twin=True)]
    session.receive_from_broker(response(1))
    wanted.append(pressure.is_client_wanted(session, has_twin=True))
    session.responses.is_client_full = True
    wanted.append(pressure.is_client_wanted(session, has_twin=True))
    session.responses.is_client_full, pressure.awaits_room = False, True
    wanted.append(pressure.is_client_wanted(session, has_twin=True))

    # Then
    assert wanted == [False, True, False, False]


def test_a_small_frame_is_no_reason_to_read_on() -> None:
    session = a_session_that_is_owed(MAX_OWED_RESPONSES + 1)

    session.receive_from_client(share_search(2, key_count=1)[:10_000])

    assert not BackPressure().is_client_wanted(session, has_twin=True)


def test_a_large_response_that_has_room_is_read_to_its_end_though_its_client_is_slow() -> None:
    # Given
    session, pressure = a_session(METADATA), BackPressure()
    pressure.is_client_full = True

    # When
    before = pressure.is_response_wanted(session)
    session.receive_from_broker(response(1, bytes(100_000))[:50_000])
    with_room = pressure.is_response_wanted(session)
    pressure.awaits_room = True

    # Then
    assert (before, with_room) == (False, True)
    assert not pressure.is_response_wanted(session)


def test_a_response_that_begins_when_its_client_is_full_already_is_not_read_to_its_end() -> None:
    """Or the answers of one client that pipelines small requests would all be read, one behind the other."""
    # Given
    session, pressure = a_session(METADATA + METADATA), BackPressure()
    session.receive_from_broker(METADATA_RESPONSE[:-10])
    pressure.is_client_full = session.responses.is_client_full = True

    # When
    session.receive_from_broker(METADATA_RESPONSE[-10:] + METADATA_RESPONSE[:70_000])
    while_full = pressure.is_response_wanted(session), session.responses.stuck_bytes
    pressure.is_client_full = False
    session.responses.resume()

    # Then
    assert while_full == (False, 70_000)
    assert len(session.held_frames[1].came) == 70_000
    assert pressure.is_response_wanted(session)


def test_nothing_is_read_behind_a_response_that_waits_for_a_port() -> None:
    session = a_session(METADATA)

    session.receive_from_broker(NEW_BROKER_RESPONSE)

    assert session.take_new_brokers()
    assert not BackPressure().is_response_wanted(session)


def test_a_whole_answer_has_its_turn_though_a_request_of_the_same_client_waits_for_room() -> None:
    pressure, session = BackPressure(), a_session()
    pressure.awaits_room = session.responses.awaits_turn = True

    assert pressure.makes_turn_due(session)


def test_a_client_that_has_too_many_answers_to_come_is_not_read() -> None:
    most, more = (a_session_that_is_owed(count) for count in (MAX_OWED_RESPONSES, MAX_OWED_RESPONSES + 1))

    assert [wanted(BackPressure(), session)[0] for session in (most, more)] == [True, False]


def test_a_client_that_sent_too_much_behind_an_answer_is_not_read() -> None:
    session = a_session(share_fetch(1) + request(2, bytes(MAX_BACKLOG_BYTES)))

    assert wanted(BackPressure(), session) == (False, True)


def test_requests_that_wait_for_a_turn_are_gone_on_with_once_and_where_there_is_room() -> None:
    # Given
    session = a_session(UNKNOWN_API_VERSIONS * 1_000)
    at_ease, client_full, broker_full, under_way = (BackPressure() for _ in range(4))
    client_full.is_client_full = broker_full.is_broker_full = under_way.is_turn_due = True

    # When
    due = [
        pressure.makes_turn_due(session)
        for pressure in (at_ease, at_ease, client_full, broker_full, under_way)
    ]

    # Then
    assert session.is_paused
    assert due == [True, False, False, False, False]
    assert not BackPressure().makes_turn_due(a_session())


def test_a_turn_is_due_for_a_large_answer_although_the_broker_takes_no_requests() -> None:
    # Given
    broker_full, client_full = BackPressure(), BackPressure()
    broker_full.is_broker_full = client_full.is_client_full = True
    session = a_session()
    session.responses.awaits_turn = True

    # When
    due = [pressure.makes_turn_due(session) for pressure in (broker_full, broker_full, client_full)]

    # Then
    assert due == [True, False, False]


def test_a_client_that_has_sent_too_many_requests_is_read_no_further_and_its_broker_is() -> None:
    pressure = BackPressure()
    pressure.is_throttled = True

    assert not pressure.is_client_wanted(a_session(), has_twin=True)
    assert pressure.is_broker_wanted


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_of_large_answers_back_to_back_a_client_that_reads_nothing_has_two_kept_and_gets_all_once_it_reads() -> (
    None
):
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, max_request_bytes=8 << 20) as under_test,
    ):
        # Given
        client = await under_test.connect_unread()
        (connection,) = under_test.relay.connections
        await client.send(METADATA * 40)
        await broker.until_received(40 * len(METADATA))

        # When
        broker.send(LARGE_RESPONSE * 40)
        held = await settled(lambda: connection.buffered_bytes)
        told = under_test.relay.budget.held_bytes
        received = [await client.read_frame() for _ in range(40)]
        client.close()

        # Then
        assert held < 3 * len(LARGE_RESPONSE)
        assert told >= held
        assert all(frame.count(b"t" * 30_000) == 20 for frame in received)


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_broker_that_leaves_while_its_client_is_full_has_all_that_came_of_it_passed_on() -> None:
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, max_request_bytes=8 << 20) as under_test,
    ):
        # Given
        client = await under_test.connect_unread()
        (connection,) = under_test.relay.connections
        assert isinstance(connection, ClientConnection)
        await client.send(METADATA + request(3))
        await broker.until_received(len(METADATA + request(3)))
        broker.send(LARGE_RESPONSE[:-100_000])
        await settled(lambda: connection.buffered_bytes)
        connection.pause_writing()  # by what was streamed to it before
        broker.send(LARGE_RESPONSE[-100_000:] + response(3))
        await until(lambda: connection.session.responses.is_put_by)

        # When
        broker.writers[0].close()

        # Then
        received = [await client.read_frame() for _ in range(2)]
        client.close()
        assert received[0].count(b"t" * 30_000) == 20
        assert received[1] == response(3)


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_an_answer_of_a_broker_does_not_wait_for_all_clients_that_drip() -> None:
    async with (
        ScriptedBroker(lambda data: LARGE_RESPONSE if data == METADATA else b"") as broker,
        RelayUnderTest(broker.port, budget_bytes=1, frame_deadline_ms=1_000) as under_test,
    ):
        # Given
        dripping = [await under_test.connect_unread() for _ in range(8)]
        for each in dripping:
            await each.send(share_search(1)[:100_000])
        sessions = [connection.session for connection in under_test.relay.connections]
        await until(lambda: all(session.held_frames[0].came for session in sessions))

        async def drip() -> None:
            while True:
                for each in dripping:
                    with suppress(ConnectionError):
                        await each.send(b"k")
                await asyncio.sleep(0.01)

        task = under_test.tasks.spawn(drip(), name="clients")

        # When
        client = await under_test.connect_unread()
        ended_before = under_test.counted.of("connection_errors", "client", "frame_stalled")
        await client.send(METADATA)
        answer = await client.read_frame()
        ended_count = under_test.counted.of("connection_errors", "client", "frame_stalled") - ended_before
        task.cancel()
        for each in (*dripping, client):
            each.close()

        # Then
        assert answer.count(b"t" * 30_000) == 20
        assert ended_count < len(dripping) // 2


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_requests_beyond_the_limit_are_answered_one_at_a_time_however_long_that_takes() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, budget_bytes=1) as under_test:
        # Given
        writers = [(await under_test.connect())[1] for _ in range(5)]

        # When
        for writer in writers:
            writer.write(LARGE_SHARE_FETCH)
        await under_test.apis.was_asked.wait()
        held = await settled(lambda: under_test.relay.budget.held_bytes)
        asked_count = len(under_test.apis.requests)
        under_test.apis.may_answer.set()

        # Then
        await until(lambda: len(under_test.apis.requests) == 5)
        assert asked_count == 1
        assert held < 40 * len(LARGE_SHARE_FETCH) + 4 * len(LARGE_SHARE_FETCH)
        for writer in writers:
            writer.close()
