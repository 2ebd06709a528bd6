"""However many connections are busy at the same moment, a turn of the loop does little, on uvloop as well.

uvloop reads a socket up to 32 times in a turn, and all sockets: what `tests.hostile` measures is read once.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kproxy.interception.client_session import ClientSession
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.interception.produce_topics import ProduceTopics
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.turns.turn_share import WORK_A_TURN
from kproxy.net.relay.limits.turn_shares import TurnShares
from kproxy.net.relay.relay import WRITE_HIGH_WATER_BYTES
from kproxy.wire import codecs
from kproxy.wire.endpoints_walk import EndpointsWalk
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import RelayUnderTest, ended, request, response, share_search
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

STATE = b"__kproxy_share_state"
SEARCH = b"".join(codecs.encode_request(10, 4, 1, "client", FindCoordinatorRequest(coordinator_keys=["g"])))


def found(count: int) -> bytes:
    """Return an answer to that with so many coordinators, each of which kproxy changes."""
    coordinators = [Coordinator("g", 1, "broker-1", 9092, 0, "")] * count
    return b"".join(codecs.encode_response(10, 4, 1, FindCoordinatorResponse(coordinators=coordinators)))


async def ten_that_search(
    under_test: RelayUnderTest, broker: ScriptedBroker, times: int
) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Return clients whose broker has been asked so many times by each."""
    clients = [await under_test.connect() for _ in range(10)]
    await until(lambda: under_test.relay.open_twins == len(clients))
    for _, writer in clients:
        writer.write(SEARCH * times)
    await broker.until_received(len(clients) * times * len(SEARCH))
    return clients


class Turns:
    """Counts what a method does in each turn of the loop."""

    def __init__(self) -> None:
        self.done: Counter[int] = Counter()
        self._number = 0

    def count(
        self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, weigh: Callable[..., int]
    ) -> None:
        """Add up what `weigh` says of the arguments of each call."""
        method = getattr(owner, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            self.done[self._number] += weigh(*arguments)
            return method(*arguments, **named)

        monkeypatch.setattr(owner, name, counted)
        asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._number += 1
        asyncio.get_running_loop().call_soon(self._next_turn)


async def test_searches_of_many_connections_that_are_answered_at_once_are_spread_over_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    turns, search = Turns(), share_search(1, key_count=2_000, key_bytes=0)
    turns.count(monkeypatch, ClientSession, "_answer_at_once", lambda *_: 1)
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        clients = [await under_test.connect() for _ in range(20)]
        await until(lambda: under_test.relay.open_twins == len(clients))

        # When
        for _, writer in clients:
            writer.write(search * 2)
        answers = [await reader.readexactly(4) for reader, _ in clients]
        await until(lambda: sum(turns.done.values()) == 40)
        for _, writer in clients:
            writer.close()

    # Then
    assert len(set(answers)) == 1
    assert max(turns.done.values()) <= 2


async def test_what_brokers_answer_to_many_connections_is_changed_in_many_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    turns = Turns()
    turns.count(monkeypatch, ResponseRewriter, "rewrite", lambda _self, _key, _version, frame: len(frame))
    answer = found(1_500)
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        clients = await ten_that_search(under_test, broker, 5)

        # When
        for writer in broker.writers:
            writer.write(answer * 5)
        await until(lambda: sum(turns.done.values()) == 50 * (len(answer) - 4))
        for _, writer in clients:
            writer.close()

    # Then
    assert len(answer) < 64 * 1024
    assert max(turns.done.values()) <= 2 * len(answer)


async def test_what_brokers_answered_that_are_lost_together_is_changed_in_many_turns_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    turns = Turns()
    turns.count(monkeypatch, ResponseRewriter, "rewrite", lambda *_: 1)
    answer = found(5_000)
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        clients = await ten_that_search(under_test, broker, 2)

        # When
        for writer in broker.writers:
            writer.write(answer * 2)
            writer.close()
        came = await asyncio.gather(*(ended(reader) for reader, _ in clients))
        for _, writer in clients:
            writer.close()

    # Then
    sizes = {len(each) for each in came}
    assert len(sizes) == 1
    assert sizes.pop() > 2 * 64 * 1024
    assert sum(turns.done.values()) == 20
    assert max(turns.done.values()) == 1


async def test_a_client_that_reads_nothing_is_closed_in_time_though_answers_of_a_lost_broker_wait_for_it() -> (
    None
):
    # Given a client that is full, behind which a second answer waits
    answer = found(15_000)
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, frame_deadline_ms=200) as under_test:
        client = await under_test.connect_unread()
        await under_test.until_twins(1)
        await client.send(SEARCH * 2)
        await broker.until_received(2 * len(SEARCH))
        (connection,) = under_test.relay.connections
        broker.writers[0].write(answer * 2)
        await until(lambda: connection.session.responses.is_client_full)

        # When
        for twin in tuple(under_test.relay.twins):
            twin.abort()
        await until(lambda: not under_test.relay.connections)
        client.close()

    # Then
    assert len(answer) > WRITE_HIGH_WATER_BYTES
    assert under_test.counted.of("connection_errors", "client", "stands_still") == 0


async def test_an_answer_that_is_walked_through_while_it_streams_takes_many_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    turns = Turns()
    turns.count(monkeypatch, EndpointsWalk, "_send", lambda *_: 1)
    fetch = b"".join(codecs.encode_request(1, 16, 1, "client", FetchRequest()))
    partitions = [PartitionData(index, records=b"") for index in range(60_000)]
    topic = FetchableTopicResponse(topic_id=bytes(16), partitions=partitions)
    answer = b"".join(codecs.encode_response(1, 16, 1, FetchResponse(responses=[topic])))
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        clients = [await under_test.connect() for _ in range(3)]
        for _, writer in clients:
            writer.write(fetch)
        await broker.until_received(3 * len(fetch))

        # When
        for writer in broker.writers:
            writer.write(answer)
        came = [await reader.readexactly(len(answer)) for reader, _ in clients]
        for _, writer in clients:
            writer.close()

    # Then
    assert came == [answer] * 3
    assert sum(turns.done.values()) > 1_000_000
    assert max(turns.done.values()) < 3 * WORK_A_TURN + 10_000


@pytest.mark.parametrize(("topic_count", "times"), [(12_000, 1), (60, 100)], ids=["one-large", "many"])
async def test_the_topics_of_what_many_connections_produce_are_read_in_many_turns(
    monkeypatch: pytest.MonkeyPatch, topic_count: int, times: int
) -> None:
    # Given requests of batches without records, in all of which a closed topic is mentioned, of clients that leave
    turns = Turns()
    turns.count(monkeypatch, ProduceTopics, "_partition", lambda *_: 1)
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, STATE.ljust(61))])] * topic_count
    sent = b"".join(codecs.encode_request(0, 9, 1, "client", ProduceRequest(acks=0, topic_data=data))) * times
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        under_test.relay.routes.closed_topics = ClosedTopics([STATE.decode()])
        clients = [await under_test.connect() for _ in range(5)]
        await until(lambda: under_test.relay.open_twins == len(clients))

        # When
        for _, writer in clients:
            writer.write(sent)
            writer.close()
        received = await broker.until_received(len(clients) * len(sent))

    # Then
    assert len(received) == len(clients) * len(sent)
    assert max(turns.done.values()) < WORK_A_TURN // 3


async def test_who_waits_for_a_turn_in_the_middle_of_a_produce_is_not_taken_for_stalled() -> None:
    # Given a Produce that has come whole, behind another request, the rest of which is given no turn
    deadline_ms = 60_000
    waiting: list[Callable[[], None]] = []
    patched = pytest.MonkeyPatch()
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(0, STATE.ljust(61))])
    message = ProduceRequest(acks=1, topic_data=[topic] * 3_000)
    sent = request(1) + b"".join(codecs.encode_request(0, 9, 2, "client", message))
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, frame_deadline_ms=deadline_ms) as under_test,
    ):
        under_test.relay.routes.closed_topics = ClosedTopics([STATE.decode()])
        patched.setattr(TurnShares, "wait", lambda _self, go_on, **_: waiting.append(go_on))
        _, writer = await under_test.connect()
        await until(lambda: under_test.relay.open_twins == 1)
        (connection,) = under_test.relay.connections
        writer.write(sent)
        await until(lambda: len(broker.received) + connection.session.requests.backlog_bytes == len(sent))

        # When
        connection.sweep(int(asyncio.get_running_loop().time() * 1_000) + deadline_ms + 1_000)

        # Then
        assert under_test.counted.of("connection_errors", "client", "frame_stalled") == 0
        patched.undo()
        waiting.pop()()
        assert await broker.until_received(len(sent)) == sent
        writer.close()


async def test_plain_requests_of_many_connections_share_a_turn_and_keep_their_order() -> None:
    # Given
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        clients = [await under_test.connect() for _ in range(5)]
        await until(lambda: under_test.relay.open_twins == len(clients))
        sent = b"".join(request(number) for number in range(800))

        # When
        for _, writer in clients:
            writer.write(sent)
        received = await broker.until_received(len(clients) * len(sent))
        for writer in broker.writers:
            writer.write(b"".join(response(number) for number in range(800)))
        came = [await reader.readexactly(800 * len(response(0))) for reader, _ in clients]

        # Then
        assert len(received) == len(clients) * len(sent)
        assert came == [b"".join(response(number) for number in range(800))] * len(clients)
        for _, writer in clients:
            writer.close()


@pytest.mark.parametrize("topic_count", [0, 50], ids=["small", "produces"])
async def test_what_very_many_connections_send_that_only_streams_on_is_passed_on_in_many_turns(
    monkeypatch: pytest.MonkeyPatch, topic_count: int
) -> None:
    # Given
    turns = Turns()
    turns.count(monkeypatch, TurnShares, "spend", lambda _self, work: work)
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, STATE.ljust(61))])] * topic_count
    produces = b"".join(codecs.encode_request(0, 9, 1, "client", ProduceRequest(acks=1, topic_data=data)))
    sent = produces if topic_count else request(1) * 8
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        under_test.relay.routes.closed_topics = ClosedTopics([STATE.decode()])
        clients = [await under_test.connect() for _ in range(600)]
        await until(lambda: under_test.relay.open_twins == len(clients))

        # When
        for _, writer in clients:
            writer.write(sent)
        received = await broker.until_received(len(clients) * len(sent))
        for _, writer in clients:
            writer.close()

    # Then two turns' work, and what was begun of the next one's
    assert len(received) == len(clients) * len(sent)
    assert sum(turns.done.values()) > 3 * WORK_A_TURN
    assert max(turns.done.values()) <= 3 * WORK_A_TURN + 500
