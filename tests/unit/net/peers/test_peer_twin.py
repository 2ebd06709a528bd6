"""One connection to a peer: which bytes are whose answer, and what becomes of those who wait when it ends."""

import asyncio
import struct
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.interception.keepalive import KEEPALIVE_CORRELATION_ID
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.peer_twin import PeerTraffic, PeerTwin
from kproxy.net.peers.whole_answer import WholeAnswer
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.read_buffer import READ_BYTES, SPARING_READ_BYTES, ReadBuffer
from tests.event_loops import run
from tests.unit.net.peering import TakenAnswer
from tests.unit.net.relaying import response
from tests.worlds.waiting import until


class WrittenTransport:
    """Keeps what is written, and who is read."""

    def __init__(self) -> None:
        self.written = b""
        self.waiting_bytes = 0
        self.is_closed = False
        self.has_ended = False
        self._is_reading = True

    def set_write_buffer_limits(self, high: int) -> None:
        assert high > 0

    def write(self, data: bytes) -> None:
        self.written += data

    def writelines(self, parts: Sequence[bytes]) -> None:
        self.written += b"".join(parts)

    def get_write_buffer_size(self) -> int:
        return self.waiting_bytes

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.has_ended = True

    def is_closing(self) -> bool:
        return self.is_closed

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True

    def abort(self) -> None:
        self.is_closed = True


def twin_on(
    transport: WrittenTransport, traffic: PeerTraffic | None = None, budget: BufferBudget | None = None
) -> PeerTwin:
    twin = PeerTwin("b", PeerLimits(), traffic or PeerTraffic(), ReadBuffer(budget or BufferBudget(1 << 20)))
    twin.connection_made(cast("asyncio.Transport", transport))
    return twin


def ask(twin: PeerTwin, number: int) -> TakenAnswer:
    answer = TakenAnswer()
    twin.ask([struct.pack(">ihhi", 8, 78, 1, number)], answer, correlation_id=number)
    return answer


@given(
    bodies=st.lists(st.binary(max_size=40), min_size=1, max_size=5),
    cuts=st.lists(st.integers(1, 20), min_size=1),
    says_more=st.booleans(),
)
def test_however_the_bytes_are_cut_each_answer_goes_to_whom_it_belongs(
    bodies: list[bytes],
    cuts: list[int],
    says_more: bool,  # noqa: FBT001 - drawn
) -> None:
    async def example() -> None:
        twin = twin_on(WrittenTransport())
        answers = [ask(twin, number) for number in range(len(bodies))]
        sent = b"".join(response(number, body) for number, body in enumerate(bodies))
        if says_more:
            twin.say_more()
            sent += response(KEEPALIVE_CORRELATION_ID, b"dropped")
        position = index = 0
        while position < len(sent):
            size = cuts[index % len(cuts)]
            twin.data_received(sent[position : position + size])
            position, index = position + size, index + 1

        assert [answer.data for answer in answers] == [
            response(number, body) for number, body in enumerate(bodies)
        ]
        assert {(answer.ended, answer.failure) for answer in answers} == {(1, None)}

    run(example())


@pytest.mark.parametrize("data", [response(8), struct.pack(">ii", 3, 7), struct.pack(">ii", -1, 7)])
async def test_what_is_no_answer_ends_the_connection(data: bytes) -> None:
    transport = WrittenTransport()
    twin = twin_on(transport)
    answer = ask(twin, 7)

    twin.data_received(data)

    assert transport.is_closed
    assert answer.failure is not None
    assert answer.failure.reason == "unexpected_answer"


async def test_an_answer_that_nobody_waits_for_ends_the_connection() -> None:
    transport = WrittenTransport()

    twin_on(transport).data_received(response(7))

    assert transport.is_closed


async def test_more_is_said_once_for_each_request_and_for_none_without() -> None:
    transport = WrittenTransport()
    twin = twin_on(transport)
    twin.say_more()
    before = len(transport.written)
    ask(twin, 1)
    asked = len(transport.written)

    twin.say_more()
    once = len(transport.written)
    twin.say_more()

    assert (before, asked) == (0, 12)
    assert len(transport.written) == once > asked


async def test_whoever_waits_when_it_is_lost_hears_it_and_nobody_hears_it_twice() -> None:
    twin = twin_on(WrittenTransport())
    first, second = ask(twin, 1), ask(twin, 2)
    twin.data_received(response(1))

    twin.connection_lost(ConnectionResetError("reset"))

    assert (first.ended, first.failure) == (1, None)
    assert second.failure is not None
    assert second.failure.detail == "b closed the connection before it had answered: reset"
    assert not twin.is_open


async def test_a_client_that_went_is_heard_of_no_more_but_what_it_had_sent_is_sent() -> None:
    transport = WrittenTransport()
    twin = twin_on(transport)
    answer = ask(twin, 1)
    twin.read(is_wanted=False)

    twin.send_left([b"leave"])
    twin.data_received(response(1) + b"anything")

    assert (answer.data, answer.ended) == (b"", 0)
    assert answer.failure is not None
    assert answer.failure.reason == "given_up"
    assert transport.written.endswith(b"leave")
    assert transport.is_reading()


async def test_a_close_leaves_the_peer_time_to_serve_what_was_sent() -> None:
    transport = WrittenTransport()
    twin = twin_on(transport)
    ask(twin, 1)

    twin.close()

    assert transport.has_ended
    assert not transport.is_closed
    assert not twin.is_open


async def test_a_peer_that_does_not_close_either_is_cut_off() -> None:
    transport = WrittenTransport()
    twin = PeerTwin("b", PeerLimits(farewell_ms=1), PeerTraffic(), ReadBuffer(BufferBudget(1 << 20)))
    twin.connection_made(cast("asyncio.Transport", transport))

    twin.close()
    await asyncio.sleep(0.01)

    assert transport.is_closed


async def test_a_peer_is_read_again_when_its_answer_is_whole() -> None:
    """Whether the client of that answer is slow does not concern the next one."""
    transport = WrittenTransport()
    twin = twin_on(transport)

    class Slow(TakenAnswer):
        def receive(self, data: bytes | memoryview) -> None:
            super().receive(data)
            twin.read(is_wanted=False)

    answer: Any = Slow()
    twin.ask([b"request"], answer, correlation_id=1)
    half = response(1)[:6]

    twin.data_received(half + response(1)[6:8])
    was_reading = transport.is_reading()
    twin.data_received(response(1)[8:])

    assert not was_reading
    assert transport.is_reading()


async def test_bytes_and_connections_are_counted() -> None:
    traffic = PeerTraffic()
    twin = twin_on(WrittenTransport(), traffic)
    ask(twin, 1)
    twin.data_received(response(1))

    assert traffic == PeerTraffic(to_peers=12, from_peers=len(response(1)), open_twins=1)
    twin.connection_lost(None)
    assert traffic.open_twins == 0


async def test_an_answer_that_has_begun_is_heard_to_its_end_from_a_peer_that_left() -> None:
    transport = WrittenTransport()
    twin = twin_on(transport)
    first, second = ask(twin, 1), ask(twin, 2)
    twin.data_received(response(1, b"body")[:10])

    twin.fail_behind_answer("departed", "serves no group any more")
    in_the_middle = (twin.is_open, transport.is_closed, first.failure)
    twin.data_received(response(1, b"body")[10:])

    assert in_the_middle == (False, False, None)
    assert (first.data, first.ended, first.failure) == (response(1, b"body"), 1, None)
    assert second.failure is not None
    assert (second.failure.reason, second.failure.detail) == ("departed", "b serves no group any more")
    assert transport.is_closed


@pytest.mark.parametrize("came", [b"", response(1)[:5]])
async def test_an_answer_that_has_not_begun_is_not_waited_for_from_a_peer_that_left(came: bytes) -> None:
    transport = WrittenTransport()
    twin = twin_on(transport)
    answer = ask(twin, 1)
    twin.data_received(came)

    twin.fail_behind_answer("departed", "serves no group any more")

    assert answer.failure is not None
    assert answer.failure.reason == "departed"
    assert transport.is_closed


async def test_a_client_that_goes_in_the_last_answer_of_a_peer_that_left_leaves_no_connection() -> None:
    transport = WrittenTransport()
    twin = twin_on(transport)
    ask(twin, 1)
    twin.data_received(response(1, b"body")[:10])
    twin.fail_behind_answer("departed", "serves no group any more")

    twin.forsake()

    assert transport.is_closed


@pytest.mark.parametrize("is_lost", [False, True])
async def test_what_the_peer_has_not_taken_yet_of_a_request_is_in_the_budget(*, is_lost: bool) -> None:
    budget, transport = BufferBudget(1 << 20), WrittenTransport()
    twin = twin_on(transport, budget=budget)

    transport.waiting_bytes = 300_000
    ask(twin, 1)
    held_bytes = budget.held_bytes
    transport.waiting_bytes = 0
    if is_lost:
        twin.connection_lost(None)
    else:
        twin.resume_writing()

    assert (held_bytes, budget.held_bytes) == (300_000, 0)


async def test_an_answer_tells_that_the_peer_has_taken_its_request() -> None:
    budget, transport = BufferBudget(1 << 20), WrittenTransport()
    twin = twin_on(transport, budget=budget)
    transport.waiting_bytes = 300
    ask(twin, 1)

    transport.waiting_bytes = 0
    twin.data_received(response(1))

    assert budget.held_bytes == 0


async def test_little_is_read_of_a_peer_at_once_where_the_budget_is_used_up() -> None:
    # Given
    budget = BufferBudget(1 << 20)
    twin = twin_on(WrittenTransport(), budget=budget)
    answer = ask(twin, 1)
    budget.note_waiting("slow clients", 2 << 20)

    # When
    room = twin.get_buffer(-1)
    size = len(room)
    room[: len(response(1))] = response(1)
    twin.buffer_updated(len(response(1)))

    # Then
    assert size == SPARING_READ_BYTES
    assert (answer.data, answer.ended) == (response(1), 1)


async def a_twin_that_gave_an_answer_up(limits: PeerLimits) -> tuple[PeerTwin, bytes]:
    """Return one that had too large an answer to hold, and what of that has yet to come."""
    budget = BufferBudget(1 << 20)
    twin = PeerTwin("b", limits, PeerTraffic(), ReadBuffer(budget))
    twin.connection_made(cast("asyncio.Transport", WrittenTransport()))
    whole, too_large = response(1, bytes(500)), WholeAnswer(100, budget)
    twin.ask([b"first"], too_large, correlation_id=1)
    twin.data_received(whole[:100])
    with pytest.raises(PeerFailure, match="is not held"):
        await too_large.frame()
    return twin, whole[100:]


@pytest.mark.parametrize("extra_patience_ms", [0, 200])
async def test_a_request_behind_an_answer_that_was_given_up_has_its_own_patience(
    extra_patience_ms: int,
) -> None:
    # Given
    twin, rest = await a_twin_that_gave_an_answer_up(PeerLimits(patience_ms=30, stall_ms=10))
    second, loop = TakenAnswer(), asyncio.get_running_loop()
    asked_at = loop.time()

    # When
    twin.ask([b"second"], second, correlation_id=2, extra_patience_ms=extra_patience_ms)
    twin.data_received(rest)
    await until(lambda: second.failure is not None)

    # Then
    assert second.failure is not None
    assert second.failure.reason == "silent"
    assert (loop.time() - asked_at) * 1000 >= extra_patience_ms


async def test_a_twin_whose_bytes_nobody_wants_is_not_read_on_after_a_full_read() -> None:
    # Given
    transport = WrittenTransport()
    twin = twin_on(transport)
    ask(twin, 1)
    twin.get_buffer(-1)[:8] = struct.pack(">ii", 2 * READ_BYTES, 1)

    # When
    twin.buffer_updated(READ_BYTES)
    read = [transport.is_reading()]
    twin.read(is_wanted=False)
    await asyncio.sleep(0)
    read.append(transport.is_reading())
    twin.read(is_wanted=True)
    read.append(transport.is_reading())

    # Then
    assert read == [False, False, True]
