"""What all relayed connections share: nobody takes more than a share, and nobody waits for somebody else's peer."""

import asyncio
import struct
import weakref
from array import array

import pytest

from kproxy.handlers.request_context import RequestContext
from kproxy.net.dialing import connect
from kproxy.net.relay.client_connection import ClientConnection
from kproxy.net.relay.relay import Relay
from kproxy.wire import codecs
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.share_fetch_response import (
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import RelayUnderTest, ended, request, response, settled, share_fetch
from tests.unit.net.tls_contexts import dialling, listening
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

MIB = 1 << 20


def too_new_a_question(count: int) -> bytes:
    """Return requests that kproxy answers at once, each with 20 bytes."""
    return struct.pack(">ihhi", 8, 18, 99, 1) * count


def large_search(key_bytes: int = 700_000) -> bytes:
    """Return a request that kproxy holds until it is whole, and then passes on."""
    message = FindCoordinatorRequest(coordinator_keys=["k" * 30_000] * (key_bytes // 30_000))
    return b"".join(codecs.encode_request(10, 4, 1, "client", message))


def test_connections_that_failed_are_closed_after_delays_that_differ(loop_kind: str) -> None:
    assert loop_kind
    delays = [Relay.close_delay_seconds() for _ in range(200)]

    assert all(0.05 <= delay <= 0.25 for delay in delays)
    assert max(delays) - min(delays) > 0.05


async def test_a_client_that_reads_no_answers_is_asked_for_no_more_requests() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        client = await under_test.connect_unread()
        await client.send(too_new_a_question(70_000))
        held = await settled(under_test.relay.buffered_bytes)
        answers = await client.read_exactly(70_000 * 20)
        client.close()

        assert held < MIB
        assert len(answers) == 70_000 * 20


async def test_share_requests_of_a_client_that_reads_nothing_are_not_served_ahead() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        under_test.apis.records = bytes(300_000)
        under_test.apis.may_answer.set()
        client = await under_test.connect_unread()
        await client.send(b"".join(share_fetch(number) for number in range(20)))
        held = await settled(under_test.relay.buffered_bytes)
        served = len(under_test.apis.contexts)
        one_answer = 4 + int.from_bytes(await client.read_exactly(4), "big")
        rest = await client.read_exactly(20 * one_answer - 4)
        client.close()

        assert held < MIB
        assert served <= 2
        assert len(rest) == 20 * one_answer - 4
        assert len(under_test.apis.contexts) == 20


async def test_what_waits_for_a_broker_that_is_being_dialled_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_connect = asyncio.Event()

    async def connect_late(*arguments: object, **options: object) -> object:
        await may_connect.wait()
        return await connect(*arguments, **options)  # type: ignore[arg-type]  # what it was called with

    monkeypatch.setattr("kproxy.net.relay.upstream_twin.connect", connect_late)

    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        client = await under_test.connect_unread()
        many = b"".join(request(number, bytes(100_000)) for number in range(40))
        sending = under_test.tasks.spawn(client.send(share_fetch(1) + many), name="client")
        await under_test.apis.was_asked.wait()
        held = await settled(under_test.relay.buffered_bytes)
        under_test.apis.may_answer.set()
        may_connect.set()
        await sending
        received = await broker.until_received(len(many))
        client.close()

        assert held < MIB
        assert received == many


async def test_a_reader_that_stands_still_slows_nobody_else() -> None:
    """Ten others get 2 MiB each from the same broker while 32 MiB wait for the one."""
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        stuck = await under_test.connect_unread()
        await stuck.send(request(1))
        await broker.until_received(len(request(1)))
        broker.send(response(1, bytes(32 * MIB)))
        await settled(under_test.relay.buffered_bytes)
        answer = response(2, bytes(2 * MIB))
        received: list[int] = []
        for _ in range(10):
            reader, writer = await under_test.connect()
            writer.write(request(2))
            await broker.until_connections(2 + len(received))
            broker.send(answer)
            received.append(len(await reader.readexactly(len(answer))))
            writer.close()
        held = under_test.relay.buffered_bytes()
        stuck.close()

        assert received == [len(answer)] * 10
        assert held < 2 * MIB


@pytest.mark.parametrize("security", ["plaintext", "tls"])
async def test_many_readers_that_stand_still_hold_little_more_than_the_budget(security: str) -> None:
    tls, broker_tls = (None, None) if security == "plaintext" else (listening().context, dialling())
    async with ScriptedBroker(tls=tls) as broker, RelayUnderTest(broker.port, budget_bytes=MIB) as under_test:
        under_test.relay.broker_tls = broker_tls
        stuck = [await under_test.connect_unread() for _ in range(40)]
        await broker.until_connections(len(stuck))

        # When
        for client, writer in zip(stuck, broker.writers, strict=True):
            await client.send(request(1))
            writer.write(response(1, bytes(8 * MIB)))
        await until(lambda: under_test.relay.buffered_bytes() > MIB)
        held = await settled(under_test.relay.buffered_bytes)

        # Then
        for client in stuck:
            client.close()
        assert MIB < held < 4 * MIB  # all of it is 320


async def test_readers_that_use_up_the_whole_budget_do_not_stop_the_others() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, budget_bytes=MIB) as under_test:
        stuck = [await under_test.connect_unread() for _ in range(6)]
        await broker.until_connections(6)
        for client, writer in zip(stuck, broker.writers, strict=True):
            await client.send(request(1))
            writer.write(response(1, bytes(16 * MIB)))
        await until(lambda: under_test.relay.budget.is_exceeded)
        await settled(under_test.relay.buffered_bytes)
        was_exceeded = under_test.relay.budget.is_exceeded
        reader = await under_test.connect_unread()
        await reader.send(request(2))
        await broker.until_connections(7)
        answer = response(2, bytes(4 * MIB))
        broker.send(answer)

        # At a chunk a second, which is what a pause until the next sweep would mean, this takes 16 seconds.
        async with asyncio.timeout(8):
            received = await reader.read_exactly(len(answer))
        for client in (reader, *stuck):
            client.close()

        assert was_exceeded
        assert received == answer


async def test_frames_that_are_only_announced_hold_up_nobody() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, budget_bytes=MIB) as under_test:
        whole = large_search()
        silent = [await under_test.connect_unread() for _ in range(32)]
        for client in silent:
            await client.send(whole[:100])
        await until(lambda: under_test.relay.buffered_bytes() >= 3200)
        left_bytes = under_test.relay.budget.left_bytes
        client = await under_test.connect_unread()
        await client.send(whole)
        received = await broker.until_received(len(whole))
        for each in (client, *silent):
            each.close()

        assert received == whole
        assert left_bytes > MIB // 3


async def test_a_frame_that_must_be_held_waits_until_another_one_has_left() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, budget_bytes=MIB) as under_test:
        whole = large_search()
        first, second, third = [await under_test.connect_unread() for _ in range(3)]
        for client in (first, second):
            await client.send(whole[:600_000])
        await settled(under_test.relay.buffered_bytes)
        sending = under_test.tasks.spawn(third.send(whole), name="third")
        held = await settled(under_test.relay.buffered_bytes)
        received_before = len(broker.received)
        for client in (first, second):
            await client.send(whole[600_000:])
        await sending
        await broker.until_received(3 * len(whole))
        for client in (first, second, third):
            client.close()

        assert received_before == 0
        assert held < MIB + len(whole)
        assert under_test.relay.budget.held_bytes == 0


async def test_clients_that_leave_half_way_leave_their_room_to_those_who_wait() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, budget_bytes=MIB) as under_test:
        whole = large_search()
        first, second, third = [await under_test.connect_unread() for _ in range(3)]
        for client in (first, second):
            await client.send(whole[:600_000])
        await settled(under_test.relay.buffered_bytes)
        sending = under_test.tasks.spawn(third.send(whole), name="third")
        await settled(under_test.relay.buffered_bytes)
        received_before = len(broker.received)
        for client in (first, second):
            client.close()
        await sending
        received = await broker.until_received(len(whole))
        third.close()

        assert received_before == 0
        assert received == whole


@pytest.mark.parametrize("is_failure", [False, True])
async def test_a_frame_that_will_never_be_whole_is_given_back_although_the_connection_goes_on(
    *, is_failure: bool
) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, budget_bytes=MIB) as under_test:
        # Given
        budget = under_test.relay.budget
        client = await under_test.connect_unread()
        await client.send(request(1) + large_search(60_000)[:20_000])
        await broker.until_received(len(request(1)))
        await until(lambda: budget.held_bytes >= 20_000)
        (connection,) = under_test.relay.connections

        # When
        if is_failure:
            broker.send(response(7))
        else:
            client.send_eof()
        await until(lambda: budget.held_bytes == 0)

        # Then
        assert connection in under_test.relay.connections
        assert connection.session.buffered_bytes == 0
        client.close()


async def test_a_fault_of_kproxys_own_while_it_answers_ends_the_connection_after_a_delay() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:

        async def fail(*_: object) -> None:
            raise ZeroDivisionError("a fault in kproxy")

        under_test.apis.serve = fail  # type: ignore[method-assign,assignment]  # a broken one
        reader, writer = await under_test.connect()
        writer.write(share_fetch(1))

        assert await ended(reader) == b""
        assert under_test.counted.of("connection_errors", "kproxy", "internal_error") == 1
        writer.close()


async def test_answers_that_come_after_their_clients_left_keep_nothing_of_the_budget() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        relay, contexts = under_test.relay, under_test.apis.contexts
        for count in range(1, 6):
            _, writer = await under_test.connect()
            writer.write(share_fetch(1))
            await until(lambda asked=count: len(contexts) == asked)  # type: ignore[misc]
            writer.write(request(2, bytes(100_000)))
            await until(lambda: any(each.session.waiting_bytes >= 100_000 for each in relay.connections))
            writer.transport.abort()
            await until(lambda: not relay.connections)

        # When
        under_test.apis.may_answer.set()
        await settled(lambda: len(under_test.tasks))

        # Then
        assert relay.budget.held_bytes == 0


async def test_answers_that_nobody_reads_keep_little_more_than_the_budget_is_told_of() -> None:
    """Each was cut from a read of 100,000 bytes, of which it is a hundred, or half."""
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        reads: list[weakref.ref[array[int]]] = []

        async def serve(_request: DecodedRequest, _context: RequestContext) -> ShareFetchResponse:
            read = array("b", bytes(100_000))
            records = memoryview(read).cast("B")[: 100 if len(reads) % 50 else 50_000]
            reads.append(weakref.ref(read))
            topic = ShareFetchableTopicResponse(partitions=[PartitionData(records=records)])
            return ShareFetchResponse(responses=[topic])

        under_test.apis.serve = serve  # type: ignore[assignment, method-assign]
        client = await under_test.connect_unread()

        # When
        await client.send(b"".join(share_fetch(number) for number in range(1, 3001)))
        await settled(lambda: len(reads))

        # Then
        kept = [number for number, each in enumerate(reads) if each() is not None]
        assert len(reads) > 100
        assert not [number for number in kept if number % 50]
        assert len(kept) * 100_000 <= under_test.relay.budget.held_bytes
        client.close()


async def test_some_connections_are_looked_at_in_a_turn_and_the_rest_in_those_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr("kproxy.net.relay.sweeper._SWEPT_A_TURN", 2)
    turn = 0
    swept: dict[ClientConnection, list[int]] = {}

    async def count_turns() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    def noted(connection: ClientConnection, now_ms: int) -> None:
        swept.setdefault(connection, []).append(turn)
        sweep(connection, now_ms)

    sweep = ClientConnection.sweep
    monkeypatch.setattr(ClientConnection, "sweep", noted)
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, keepalive_ms=100) as under_test:
        under_test.tasks.spawn(count_turns(), name="turns")
        clients = [await under_test.connect() for _ in range(7)]
        await until(lambda: len(under_test.relay.connections) == 7)
        swept.clear()

        # When
        await until(lambda: len(swept) == 7 and all(len(turns) > 1 for turns in swept.values()))

        # Then
        turns = [each for turns in swept.values() for each in turns]
        assert max(map(turns.count, turns)) == 2
        for _, writer in clients:
            writer.close()


async def test_a_connection_that_ends_while_others_are_looked_at_is_not_looked_at_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr("kproxy.net.relay.sweeper._SWEPT_A_TURN", 1)
    ended_then_swept: list[ClientConnection] = []
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, keepalive_ms=100) as under_test:
        open_now = under_test.relay.connections

        def end_the_others(connection: ClientConnection, _now_ms: int) -> None:
            if connection not in open_now:
                ended_then_swept.append(connection)
            for other in [each for each in open_now if each is not connection]:
                open_now.discard(other)
                other.abort()

        monkeypatch.setattr(ClientConnection, "sweep", end_the_others)

        # When
        clients = [await under_test.connect() for _ in range(3)]
        await until(lambda: len(open_now) == 1)
        await asyncio.sleep(0.2)

        # Then
        assert ended_then_swept == []
        for _, writer in clients:
            writer.close()
