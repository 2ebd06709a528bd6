"""The relay on real sockets, between a client and a broker that both may lie. On asyncio and on uvloop."""

import asyncio
import logging
import struct

import pytest

from kproxy.interception.request_stream import HELD_BYTES_A_TURN
from kproxy.interception.topic_changes import TopicChange
from kproxy.net.relay.back_pressure import MAX_OWED_RESPONSES
from kproxy.settings import HostPort
from kproxy.wire import codecs
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.real_kafka.ports import ReservedPort
from tests.unit.net.relaying import BIND_HOST, RelayUnderTest, ended, request, response, settled, share_fetch
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

SHORTEST_DELAY_SECONDS = 0.04
"""Before a faulty connection is closed; a little less than the relay's, for clocks that tick in milliseconds."""
METADATA_RESPONSE = b"".join(codecs.encode_response(3, 9, 2, MetadataResponse()))
METADATA_REQUEST = b"".join(codecs.encode_request(3, 9, 2, "client", MetadataRequest()))


async def test_requests_and_responses_pass_byte_for_byte() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1) + request(2))
        received = await broker.until_received(2 * len(request(1)))
        broker.send(response(1) + response(2))
        answer = await reader.readexactly(2 * len(response(1)))
        writer.close()

        assert received == request(1) + request(2)
        assert answer == response(1) + response(2)


async def test_an_answer_that_tells_of_changed_topics_is_told_of_when_it_has_passed() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        told: list[TopicChange] = []
        under_test.relay.on_topic_change = told.append
        reader, writer = await under_test.connect()
        deletion = struct.pack(">ihhi", 12, 20, 4, 1) + b"topi"
        writer.write(deletion)
        received = await broker.until_received(len(deletion))

        # When
        broker.send(response(1))
        answer = await reader.readexactly(len(response(1)))
        writer.close()

        # Then
        assert (received, answer) == (deletion, response(1))
        assert told == [TopicChange()]


async def test_frames_of_many_chunks_pass_byte_for_byte_and_every_byte_is_counted() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        asked = b"".join(request(number, bytes([number]) * 1_000_000) for number in (1, 2, 3))
        answers = b"".join(response(number, bytes([number]) * 3_000_000) for number in (1, 2, 3))
        writer.write(asked)
        received = await broker.until_received(len(asked))
        broker.send(answers)
        answer = await reader.readexactly(len(answers))
        writer.close()

        traffic = under_test.relay.traffic
        assert received == asked
        assert answer == answers
        assert (traffic.from_clients, traffic.to_brokers) == (len(asked), len(asked))
        assert (traffic.from_brokers, traffic.to_clients) == (len(answers), len(answers))


async def test_requests_sent_before_the_broker_is_connected_are_not_lost() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        _, writer = await under_test.connect()
        many = b"".join(request(number, bytes(1000)) for number in range(500))
        writer.write(many)

        assert await broker.until_received(len(many)) == many
        writer.close()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "tls_on_plaintext"),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "http_on_kafka_port"),
        (b"\x00\x00\x00\x02xx", "frame_too_short"),
        (b"\xff\xff\xff\xf0", "frame_length_negative"),
        (b"\x00\x20\x00\x00" + bytes(8), "frame_too_large"),
        (struct.pack(">ihhi", 8, 4711, 0, 1), "unknown_api_key"),
        (struct.pack(">ihhi", 8, 3, 99, 1), "version_not_advertised"),
        (struct.pack(">ihhi", 12, 78, 1, 1) + b"\xff\xff\xff\xff", "malformed_request"),
    ],
)
async def test_a_client_that_breaks_the_protocol_is_closed_and_nobody_else_notices(
    data: bytes, reason: str
) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        good_reader, good_writer = await under_test.connect()
        good_writer.write(request(1))
        await broker.until_received(len(request(1)))
        bad_reader, bad_writer = await under_test.connect()
        bad_writer.write(data)

        assert await ended(bad_reader) == b""

        broker.writers[0].write(response(1))
        assert await good_reader.readexactly(len(response(1))) == response(1)
        assert under_test.counted.of("connection_errors", "client", reason) == 1
        for writer in (good_writer, bad_writer):
            writer.close()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (response(99), "correlation_id_mismatch"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "tls_on_plaintext"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "http_on_kafka_port"),
        (b"\xff\xff\xff\xff\x00\x00\x00\x01", "frame_too_short"),
    ],
)
async def test_a_broker_that_answers_garbage_ends_the_connection(data: bytes, reason: str) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1))
        await broker.until_received(len(request(1)))
        broker.send(data)

        assert await ended(reader) == b""
        assert under_test.counted.of("connection_errors", "broker", reason) == 1
        writer.close()


async def test_a_broker_that_answers_garbage_and_leaves_is_counted_once_and_its_client_closed_after_the_delay() -> (
    None
):
    """As a TLS port does. A client that is closed at once comes back at once."""
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1))
        await broker.until_received(len(request(1)))
        began = asyncio.get_running_loop().time()
        broker.send(b"\x15\x03\x03\x00\x02\x02\x46")
        broker.writers[0].close()

        assert await ended(reader) == b""
        assert asyncio.get_running_loop().time() - began >= SHORTEST_DELAY_SECONDS
        assert under_test.counted.of("connection_errors", "broker", "tls_on_plaintext") == 1
        assert under_test.counted.of("connection_errors", "broker", "lost") == 0
        writer.close()


async def test_a_broker_that_drops_the_connection_mid_frame_closes_the_client_behind_what_came() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1))
        await broker.until_received(len(request(1)))
        half = response(1, bytes(1000))[:500]
        broker.send(half)
        broker.writers[0].close()

        assert await ended(reader) == half
        assert under_test.counted.of("connection_errors", "broker", "lost_mid_frame") == 1
        writer.close()


async def test_a_client_of_a_broker_that_is_down_is_closed_and_told_apart_in_the_counter() -> None:
    async with ScriptedBroker() as broker:
        port = broker.port
    async with RelayUnderTest(port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1))

        assert await ended(reader) == b""
        assert under_test.counted.of("connection_errors", "broker", "unreachable") == 1
        writer.close()


async def test_that_a_broker_is_down_is_a_warning_once_until_it_was_reached_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "kproxy.net.relay.relay"), ReservedPort(BIND_HOST) as reserved:
        nobody = [HostPort(BIND_HOST, reserved.number)]
        async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
            somebody = under_test.relay.upstream_addresses(1)
            for addresses in (nobody, nobody, somebody, nobody):
                under_test.relay.upstream_addresses = lambda _, found=addresses: found  # type: ignore[misc]
                reader, writer = await under_test.connect()
                if addresses is somebody:
                    await broker.until_connections(1)
                    await until(lambda: under_test.relay.unreachable == set())
                else:
                    await ended(reader)
                writer.close()
    refusals = [record for record in caplog.records if record.msg == "connection_refused"]
    assert [record.levelname for record in refusals] == ["WARNING", "WARNING"]


async def test_a_broker_for_which_no_port_can_be_bound_is_not_named_and_nobody_else_notices() -> None:
    """Its node id leads beyond the last port. The client comes back, and is told of it once there is a port."""
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        other_reader, other_writer = await under_test.connect()
        other_writer.write(request(1))
        await broker.until_received(len(request(1)))
        reader, writer = await under_test.connect()
        writer.write(METADATA_REQUEST)
        await broker.until_received(len(request(1) + METADATA_REQUEST))
        brokers = [MetadataResponseBroker(node_id=node_id, host="b", port=9092) for node_id in (1, 70_000)]
        answer = codecs.encode_response(3, 9, 2, MetadataResponse(brokers=brokers))
        broker.send(b"".join(answer))

        assert await ended(reader) == b""
        assert under_test.counted.of("connection_errors", "client", "port_unavailable") == 1
        broker.writers[0].write(response(1))
        assert await other_reader.readexactly(len(response(1))) == response(1)
        for each in (writer, other_writer):
            each.close()


async def test_a_frame_that_stalls_half_way_ends_the_connection_after_its_deadline() -> None:
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, frame_deadline_ms=100) as under_test,
    ):
        reader, writer = await under_test.connect()
        writer.write(request(1)[:-1])

        assert await ended(reader) == b""
        assert under_test.counted.of("connection_errors", "client", "frame_stalled") == 1
        writer.close()


async def test_a_client_that_shuts_its_writing_side_still_gets_its_answers() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1))
        writer.write_eof()
        await broker.until_received(len(request(1)))
        broker.send(response(1))

        assert await ended(reader) == response(1)
        writer.close()


async def test_a_client_that_shuts_its_writing_side_and_takes_no_answers_is_ended_as_one_that_stands_still() -> (
    None
):
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, frame_deadline_ms=100) as under_test,
    ):
        # Given all of its answers in kproxy's write buffer
        client = await under_test.connect_unread()
        (connection,) = under_test.relay.connections
        await client.send(request(1))
        await broker.until_received(len(request(1)))
        broker.send(response(1, bytes(200_000)))
        await until(lambda: connection.buffered_bytes > 0 and connection.session.owed_responses == 0)

        # When
        client.send_eof()

        # Then
        await until(lambda: not under_test.relay.connections)
        assert under_test.relay.budget.held_bytes == 0
        client.close()


async def test_requests_of_one_chunk_are_all_answered_although_the_client_shuts_its_writing_side() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        count = 20 * HELD_BYTES_A_TURN // len(METADATA_REQUEST)
        writer.write(METADATA_REQUEST * count)
        writer.write_eof()

        answered = 0
        while answered < count:
            received = await broker.until_received((answered + 1) * len(METADATA_REQUEST))
            arrived = len(received) // len(METADATA_REQUEST)
            broker.send(METADATA_RESPONSE * (arrived - answered))
            answered = arrived

        assert await ended(reader) == METADATA_RESPONSE * count
        writer.close()


async def test_requests_that_came_already_wait_while_a_thousand_answers_are_owed() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given a broker that answers nothing
        reader, writer = await under_test.connect()
        (connection,) = under_test.relay.connections
        writer.write(METADATA_REQUEST * 5_000)
        owed = await settled(lambda: connection.session.owed_responses)

        # When
        broker.send(METADATA_RESPONSE * owed)
        await reader.readexactly(owed * len(METADATA_RESPONSE))
        owed_then = await settled(lambda: connection.session.owed_responses)
        writer.close()

        # Then
        a_turn = HELD_BYTES_A_TURN // 4  # of requests that are not held
        assert MAX_OWED_RESPONSES < owed <= MAX_OWED_RESPONSES + a_turn
        assert MAX_OWED_RESPONSES < owed_then <= MAX_OWED_RESPONSES + a_turn


async def test_a_slow_reader_stops_the_broker_before_memory_grows() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(request(1))
        await broker.until_received(len(request(1)))
        whole = response(1, bytes(64 << 20))
        broker.send(whole)
        # Every buffer on the way is full when the broker can send nothing more for a second.
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(broker.writers[0].drain(), timeout=1)
        waiting = broker.writers[0].transport.get_write_buffer_size()
        held = under_test.relay.buffered_bytes()
        received = await reader.readexactly(len(whole))
        writer.close()

        assert waiting > 32 << 20
        assert held < 2 << 20
        assert received == whole


async def test_a_share_request_is_answered_by_kproxy_and_holds_what_comes_behind_it() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        reader, writer = await under_test.connect()
        writer.write(share_fetch(1) + request(2))
        await under_test.apis.was_asked.wait()
        before = broker.received
        under_test.apis.may_answer.set()
        length = int.from_bytes(await reader.readexactly(4), "big")
        correlation_id, _ = codecs.decode_response(78, 1, await reader.readexactly(length))

        assert before == b""
        assert correlation_id == 1
        assert await broker.until_received(len(request(2))) == request(2)
        assert under_test.apis.contexts[0].client_host == "/127.0.0.1"
        writer.close()


async def test_bytes_behind_a_share_request_that_is_being_answered_are_told_of_and_shown() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        _, writer = await under_test.connect()
        writer.write(share_fetch(1))
        await under_test.apis.was_asked.wait()
        caller = under_test.apis.contexts[0].caller
        seen = [(caller.has_more, caller.is_gone)]
        writer.write(request(2))
        await under_test.apis.was_followed.wait()
        seen.append((caller.has_more, caller.is_gone))
        writer.close()
        await until(lambda: not under_test.relay.connections)
        seen.append((caller.has_more, caller.is_gone))

        assert seen == [(False, False), (True, False), (True, True)]
        assert under_test.apis.followed == [under_test.apis.contexts[0].connection_id]
        under_test.apis.may_answer.set()


async def test_a_client_that_goes_away_during_a_share_request_is_noticed_at_once() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        _, writer = await under_test.connect()
        writer.write(share_fetch(1))
        await under_test.apis.was_asked.wait()
        writer.close()
        await under_test.apis.was_closed.wait()

        assert under_test.apis.closed == [under_test.apis.contexts[0].connection_id]
        assert under_test.apis.forsaken == under_test.apis.closed
        under_test.apis.may_answer.set()


async def test_a_client_that_reads_steadily_is_counted_no_more_than_what_waits_for_it() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        under_test.apis.may_answer.set()
        under_test.apis.records = memoryview(bytes(87_000))[:30_000]
        client = await under_test.connect_unread()
        await client.send(b"".join(share_fetch(number) for number in range(300)))
        most_bytes = read_bytes = 0

        while read_bytes < 300 * 30_000:
            read_bytes += len(await client.read(1 << 16))
            most_bytes = max(most_bytes, under_test.relay.budget.held_bytes)

        client.close()
        assert 0 < most_bytes <= 20 * 87_000
