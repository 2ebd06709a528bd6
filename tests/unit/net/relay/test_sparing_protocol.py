"""How often a socket is read in a turn of the loop."""

import asyncio
from collections import Counter

import pytest

from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.peer_twin import PeerTraffic, PeerTwin
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.read_buffer import (
    READ_BYTES,
    SPARING_READ_BYTES,
    ReadBuffer,
)
from kproxy.net.relay.sparing_protocol import SparingProtocol
from kproxy.wire import codecs
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.peering import TakenAnswer
from tests.unit.net.relaying import (
    BIND_HOST,
    RelayUnderTest,
    request,
    response,
)
from tests.worlds.waiting import until

LIMIT_BYTES = 100_000
MIB = 1 << 20


class Noting(SparingProtocol):
    def __init__(self, reads: ReadBuffer) -> None:
        super().__init__(reads)
        self.came: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self.came.append(data)


async def test_what_was_read_elsewhere_and_decrypted_counts_likewise_and_arrives_whole() -> None:
    # Given
    budget = BufferBudget(LIMIT_BYTES)
    protocol = Noting(ReadBuffer(budget))

    # When
    protocol.take_read(bytes(60_000))
    of_this_turn = budget.held_bytes
    await asyncio.sleep(0)

    # Then
    assert protocol.came == [bytes(60_000)]
    assert (of_this_turn, budget.held_bytes) == (60_000, 0)


@pytest.fixture
def most_read(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How many bytes of sockets came in each turn of the loop."""
    turn, came = 0, Counter[int]()

    def next_turn() -> None:
        nonlocal turn
        turn += 1
        asyncio.get_running_loop().call_soon(next_turn)

    def noted(reads: ReadBuffer, count: int) -> bytes:
        if not came:
            next_turn()
        came[turn] += count
        return taken(reads, count)

    taken = ReadBuffer.taken
    monkeypatch.setattr(ReadBuffer, "taken", noted)
    return came


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
@pytest.mark.parametrize(
    ("is_budget_used_up", "most_bytes"), [(False, READ_BYTES), (True, SPARING_READ_BYTES)]
)
async def test_a_client_that_sends_without_end_is_read_once_in_a_turn_of_the_loop(
    most_read: Counter[int], most_bytes: int, *, is_budget_used_up: bool
) -> None:
    # Given
    records = [TopicProduceData("t", partition_data=[PartitionProduceData(records=bytes(8 * MIB))])]
    large = b"".join(codecs.encode_request(0, 9, 1, "client", ProduceRequest(acks=-1, topic_data=records)))
    async with (
        ScriptedBroker() as broker,
        RelayUnderTest(broker.port, max_request_bytes=16 * MIB) as under_test,
    ):
        under_test.relay.budget.note_waiting("others", (256 * MIB + 1) * is_budget_used_up)
        _, writer = await under_test.connect()

        # When
        writer.write(large)
        await broker.until_received(len(large))
        writer.close()

    # Then
    assert max(most_read.values()) <= most_bytes


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
@pytest.mark.parametrize(
    ("is_budget_used_up", "most_bytes"), [(False, 4 * READ_BYTES), (True, SPARING_READ_BYTES)]
)
async def test_a_broker_that_sends_without_end_is_read_a_few_times_in_a_turn_of_the_loop(
    most_read: Counter[int], most_bytes: int, *, is_budget_used_up: bool
) -> None:
    # Given
    large = response(1, bytes(16 * MIB))
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        under_test.relay.budget.note_waiting("others", (256 * MIB + 1) * is_budget_used_up)
        reader, writer = await under_test.connect()
        writer.write(request(1))
        await broker.until_received(len(request(1)))

        # When
        broker.send(large)
        came = await reader.readexactly(len(large))
        writer.close()

    # Then
    assert came == large
    assert max(most_read.values()) <= most_bytes


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_peer_that_sends_without_end_is_read_once_in_a_turn_of_the_loop(
    most_read: Counter[int],
) -> None:
    # Given
    large, answer = response(1, bytes(16 * MIB)), TakenAnswer()
    async with ScriptedBroker() as peer:
        _, twin = await asyncio.get_running_loop().create_connection(
            lambda: PeerTwin("b", PeerLimits(), PeerTraffic(), ReadBuffer(BufferBudget(64 * MIB))),
            BIND_HOST,
            peer.port,
        )
        twin.ask([request(1)], answer, correlation_id=1)
        await peer.until_received(len(request(1)))

        # When
        peer.send(large)
        await until(lambda: answer.ended == 1)
        twin.abort()

    # Then
    assert answer.data == large
    assert max(most_read.values()) <= READ_BYTES
