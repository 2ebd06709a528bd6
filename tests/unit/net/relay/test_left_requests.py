"""What a client sent before its connection ended is served, as a broker serves what it has received."""

import asyncio
import socket
from typing import cast

import pytest

from kproxy.interception.turns.turn_share import WORK_A_TURN
from kproxy.net.relay import left_requests
from kproxy.net.relay.client_connection import ClientConnection
from kproxy.net.relay.left_requests import MOST_REQUESTS, MOST_SECONDS, LeftRequests
from kproxy.net.relay.upstream_twin import UpstreamTwin
from kproxy.wire import codecs
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.member_of_orders import acceptance, acquired_count, fetch_of_orders
from tests.unit.net.relaying import BIND_HOST, RelayUnderTest, request, response, settled, share_fetch
from tests.worlds.conversing import Conversation
from tests.worlds.heard_requests import TurnOfMany
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


def metadata_request(correlation_id: int) -> bytes:
    return b"".join(codecs.encode_request(3, 9, correlation_id, "client", MetadataRequest()))


def metadata_response(correlation_id: int) -> bytes:
    message = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="broker", port=9092)])
    return b"".join(codecs.encode_response(3, 9, correlation_id, message))


def heartbeat(correlation_id: int, member_epoch: int, *, size: int = 1) -> bytes:
    message = ShareGroupHeartbeatRequest(group_id="g", member_id="m" * size, member_epoch=member_epoch)
    return b"".join(codecs.encode_request(76, 1, correlation_id, "client", message))


def epochs_served(under_test: RelayUnderTest) -> list[int]:
    return [
        each.message.member_epoch
        for each in under_test.apis.requests
        if isinstance(each.message, ShareGroupHeartbeatRequest)
    ]


async def left_behind(under_test: RelayUnderTest, requests: bytes, *, by_reset: bool = False) -> None:
    """Let a client send a heartbeat and, while that is being served, `requests`, and go at once."""
    loop = asyncio.get_running_loop()
    client = socket.socket()
    client.setblocking(False)
    await loop.sock_connect(client, (BIND_HOST, under_test.listeners.bound_ports[-1]))
    await loop.sock_sendall(client, heartbeat(1, 3))
    await under_test.apis.was_asked.wait()
    await loop.sock_sendall(client, requests)
    if by_reset:
        await until(lambda: any(each.session.waiting_bytes for each in under_test.relay.connections))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    client.close()
    await until(lambda: not under_test.relay.connections)


@pytest.mark.parametrize("by_reset", [False, True])
async def test_a_leave_behind_a_heartbeat_that_waits_for_durability_is_served(*, by_reset: bool) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        await left_behind(under_test, heartbeat(2, -1), by_reset=by_reset)
        closed_before = list(under_test.apis.closed)

        # When
        under_test.apis.may_answer.set()
        await under_test.apis.was_closed.wait()

        # Then
        assert closed_before == []
        assert epochs_served(under_test) == [3, -1]
        assert all(each.caller.is_gone for each in under_test.apis.contexts)


async def test_a_leave_is_served_whose_turn_to_begin_had_not_come_when_its_client_was_gone() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        client = socket.create_connection((BIND_HOST, under_test.listeners.bound_ports[-1]))
        await until(lambda: under_test.relay.open_twins == 1)
        under_test.apis.may_answer.set()
        for number in range(2_000):
            under_test.tasks.spawn(under_test.relay.turns.begin(), name=f"request {number} of others")

        # When
        client.sendall(heartbeat(1, -1))
        client.close()
        await until(lambda: not under_test.relay.connections)
        waiting = len(under_test.relay.turns)
        await under_test.apis.was_closed.wait()

        # Then
        assert waiting > 0
        assert epochs_served(under_test) == [-1]


@pytest.mark.parametrize("size", [1, 3_000, 30_000])
async def test_a_leave_behind_a_request_that_the_broker_has_yet_to_answer_is_served(size: int) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        _, writer = await under_test.connect()
        writer.write(request(1) + heartbeat(2, -1, size=size))
        await broker.until_received(len(request(1)))
        writer.close()
        await until(lambda: not under_test.relay.connections)
        under_test.apis.may_answer.set()

        # When
        broker.send(response(1))

        # Then
        await under_test.apis.was_closed.wait()
        assert epochs_served(under_test) == [-1]


async def test_what_belongs_to_the_broker_reaches_it() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        await left_behind(under_test, request(2) + heartbeat(3, -1))

        under_test.apis.may_answer.set()

        assert await broker.until_received(len(request(2))) == request(2)
        broker.send(response(2))
        await under_test.apis.was_closed.wait()
        assert epochs_served(under_test) == [3, -1]


async def test_no_more_than_so_many_are_served() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        many = b"".join(heartbeat(number, number) for number in range(2, 2 * MOST_REQUESTS))
        await left_behind(under_test, many)

        under_test.apis.may_answer.set()
        await under_test.apis.was_closed.wait()

        assert len(under_test.apis.contexts) == 1 + MOST_REQUESTS


async def test_what_takes_too_long_keeps_nothing_of_the_member_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        monkeypatch.setattr(left_requests, "MOST_SECONDS", 0.05)
        await left_behind(under_test, heartbeat(2, -1))

        await under_test.apis.was_closed.wait()

        assert epochs_served(under_test) == [3]
        under_test.apis.may_answer.set()
        await until(lambda: under_test.relay.budget.held_bytes == 0)


async def test_garbage_behind_a_request_ends_it() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        await left_behind(under_test, b"\xff\xff\xff\xf0" + share_fetch(2))

        under_test.apis.may_answer.set()
        await under_test.apis.was_closed.wait()

        assert under_test.counted.of("connection_errors", "client", "frame_length_negative") == 1
        assert len(under_test.apis.contexts) == 1


async def test_a_request_before_garbage_reaches_the_broker() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        await left_behind(under_test, request(2) + b"\xff\xff\xff\xf0")

        # When
        under_test.apis.may_answer.set()
        await under_test.apis.was_closed.wait()

        # Then
        assert await broker.until_received(len(request(2))) == request(2)
        assert under_test.counted.of("connection_errors", "client", "frame_length_negative") == 1


async def test_a_leave_of_a_client_that_did_not_read_is_served() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        client = await under_test.connect_unread()
        await client.send(request(1) + heartbeat(2, -1))
        await broker.until_received(len(request(1)))
        under_test.apis.may_answer.set()
        broker.send(response(1, bytes(8 << 20)))
        await settled(lambda: sum(each.buffered_bytes for each in under_test.relay.connections))

        # When
        client.close()

        # Then
        async with asyncio.timeout(MOST_SECONDS / 2):
            await under_test.apis.was_closed.wait()
        assert epochs_served(under_test) == [-1]
        assert under_test.relay.budget.held_bytes == 0


async def test_a_broker_that_is_lost_behind_its_client_holds_nothing_of_the_member() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        under_test.apis.may_answer.set()
        reader, writer = await under_test.connect()
        writer.write(heartbeat(0, 3))
        await reader.read(4)
        writer.write(request(1) + heartbeat(2, -1))
        await broker.until_received(len(request(1)))
        writer.close()
        await until(lambda: not under_test.relay.connections)

        # When
        broker.writers[-1].transport.abort()

        # Then
        async with asyncio.timeout(MOST_SECONDS / 2):
            await under_test.apis.was_closed.wait()
        assert epochs_served(under_test) == [3]


async def test_a_lost_broker_ends_nothing_that_it_had_no_part_in() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        await left_behind(under_test, heartbeat(2, -1))
        await broker.until_connections(1)
        broker.writers[-1].transport.abort()
        await until(lambda: under_test.relay.open_twins == 0)

        # When
        under_test.apis.may_answer.set()

        # Then
        await under_test.apis.was_closed.wait()
        assert epochs_served(under_test) == [3, -1]


async def test_acknowledgements_behind_a_fetch_that_waits_for_records_are_served() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.produce(5)
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        under_test.relay.apis = world.groups.apis
        reader, writer = await under_test.connect()
        writer.write(fetch_of_orders(1, 0, max_wait_ms=0))
        await reader.read(4)
        writer.write(fetch_of_orders(2, 1, max_wait_ms=0))
        await until(lambda: acquired_count(world) == 5)
        writer.write(fetch_of_orders(3, 2, max_wait_ms=60_000))
        await until(lambda: world.availability.waiter_count == 1)
        (connection,) = under_test.relay.connections

        # When
        writer.write(acceptance(4, 3, last_offset=2))
        await until(lambda: connection.session.waiting_bytes > 0)
        writer.close()

        # Then
        async with asyncio.timeout(MOST_SECONDS / 2):
            await until(lambda: acquired_count(world) == 0)
        durable = await world.state_log.load(world.key())
        assert durable is not None
        assert durable.start_offset == 3


async def test_an_opening_fetch_that_waits_for_the_broker_takes_nothing_from_its_member_on_a_new_connection() -> (
    None
):
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.produce(5)
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        under_test.relay.apis = world.groups.apis
        _, first = await under_test.connect()
        first.write(request(1) + fetch_of_orders(2, 0, max_wait_ms=0))
        await broker.until_received(len(request(1)))
        broker_of_first = broker.writers[-1]
        first.close()
        await until(lambda: not under_test.relay.connections)
        _, second = await under_test.connect()
        second.write(fetch_of_orders(1, 0, max_wait_ms=0) + fetch_of_orders(2, 1, max_wait_ms=0))
        await until(lambda: acquired_count(world) == 5)

        # When
        broker_of_first.write(response(1))
        await until(lambda: bool(world.observer.refusals))

        # Then
        assert acquired_count(world) == 5
        second.write(acceptance(3, 2, last_offset=4))
        await until(lambda: acquired_count(world) == 0)
        durable = await world.state_log.load(world.key())
        assert durable is not None
        assert durable.delivery_complete_count == 5
        second.close()


class LostTwin:
    """A connection to a broker that has closed."""

    is_open = False


async def test_what_stands_behind_the_last_answer_of_a_broker_is_not_over_while_that_waits_to_be_changed() -> (
    None
):
    # Given a request behind one whose answer came, and a turn with nothing left
    share = TurnOfMany()
    conversation = Conversation(share=share)
    conversation.client_sends(metadata_request(1) + share_fetch(2))
    left = LeftRequests(conversation.session, on_time_up=lambda: None)
    lost = cast("UpstreamTwin", LostTwin())
    share.left = 0
    before = left.is_over(lost)

    # When
    conversation.session.receive_from_broker(metadata_response(1))

    # Then
    assert (before, left.is_over(lost)) == (True, False)
    left.end()


async def test_what_was_put_off_when_its_client_closed_is_passed_on() -> None:
    """With TLS the last request and the end of the stream may come in one read, and the socket is closed at once."""
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        client = await under_test.connect_unread()
        await client.send(request(1))
        await broker.until_received(len(request(1)))
        [connection] = under_test.relay.connections
        assert isinstance(connection, ClientConnection)
        assert connection.transport is not None

        # When
        under_test.relay.shares.spend(3 * WORK_A_TURN)
        connection.data_received(request(2))
        is_put_off = connection.session.requests.is_put_off
        connection.eof_received()
        connection.transport.close()

        # Then
        assert is_put_off
        assert await broker.until_received(len(request(1) + request(2))) == request(1) + request(2)
        client.close()
