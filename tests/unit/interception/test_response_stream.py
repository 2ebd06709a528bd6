"""`ResponseStream`: what a broker sends, matched with what it owes, whatever the chunks."""

import struct
import tracemalloc
from collections import deque
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.response_stream import LARGEST_HELD_PRODUCE_BYTES, ResponseStream
from kproxy.interception.turns.turn_share import TurnShare
from kproxy.wire import codecs
from kproxy.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    NodeEndpoint,
    PartitionData,
)
from kproxy.wire.messages.produce_response import NodeEndpoint as ProduceEndpoint
from kproxy.wire.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

FORWARD, REWRITE, LOCAL = SlotKind.FORWARD, SlotKind.REWRITE, SlotKind.LOCAL


def response(correlation_id: int, body: bytes = b"") -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


class Heard:
    """A stream over given slots; a REWRITE response leaves in brackets."""

    def __init__(self, *kinds: SlotKind, is_stuck: bool = False, max_held_bytes: int = 1 << 20) -> None:
        self.slots = deque(ResponseSlot(kind, 3, 9, number) for number, kind in enumerate(kinds, start=1))
        self.is_stuck = is_stuck
        self.stream = ResponseStream(self.slots, max_held_bytes, self._rewrite, self._settle, TurnShare())

    def _rewrite(self, slot: ResponseSlot, frame: memoryview) -> bool:
        assert slot is self.slots[0]
        if self.is_stuck:
            return False
        self.stream.for_client.append(b"[" + bytes(frame) + b"]")
        self.slots.popleft()
        self._settle()
        return True

    def _settle(self) -> None:
        while self.slots and self.slots[0].buffers is not None:
            self.stream.for_client.extend(self.slots.popleft().buffers or ())

    @property
    def sent(self) -> bytes:
        return b"".join(self.stream.for_client)


def fetched(records: bytes) -> tuple[bytes, int]:
    """Return a Fetch response for slot 1, and where its records end."""
    partition = PartitionData(records=records)
    message = FetchResponse(responses=[FetchableTopicResponse(topic_id=bytes(16), partitions=[partition])])
    # Behind the records: tags of the partition, of the topic, of the response.
    frame = b"".join(codecs.encode_response(1, 17, 1, message))
    return frame, len(frame) - 3


RESPONSES = [
    response(1, b"a" * 300),
    response(2, b"bb"),
    response(4, b"d" * 50),
    response(5),
    response(6, b"f" * 40),
]


@given(cuts=st.lists(st.integers(0, sum(map(len, RESPONSES))), max_size=30))
def test_any_chunking_of_the_same_bytes_gives_the_same_responses_in_the_order_of_the_requests(
    cuts: list[int],
) -> None:
    """Slot 3 is kproxy's own and ready: it leaves between the broker's second and fourth."""
    heard, data = Heard(FORWARD, REWRITE, LOCAL, FORWARD, FORWARD, REWRITE), b"".join(RESPONSES)
    heard.slots[2].buffers = [b"own"]

    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        if start < end:
            heard.stream.receive(data[start:end])

    assert heard.sent == (
        RESPONSES[0]
        + b"["
        + RESPONSES[1][4:]
        + b"]own"
        + RESPONSES[2]
        + RESPONSES[3]
        + b"["
        + RESPONSES[4][4:]
        + b"]"
    )
    assert not heard.slots
    assert not heard.stream.is_mid_frame


def test_a_ready_answer_of_kproxy_leaves_right_behind_a_forwarded_response() -> None:
    heard = Heard(FORWARD, LOCAL, FORWARD)
    heard.slots[1].buffers = [b"own"]

    heard.stream.receive(response(1, b"x") + response(3, b"y"))

    assert heard.sent == response(1, b"x") + b"own" + response(3, b"y")


def test_a_forwarded_response_streams_on_before_it_is_whole() -> None:
    heard, whole = Heard(FORWARD), response(1, bytes(1000))

    heard.stream.receive(whole[:400])

    assert heard.sent == whole[:400]
    assert heard.stream.held_bytes == 0
    assert heard.stream.is_mid_frame


def test_the_middle_of_a_forwarded_response_may_pass_the_stream_by_but_never_its_end() -> None:
    heard, whole = Heard(FORWARD, LOCAL), response(1, bytes(1000))
    heard.slots[1].buffers = [b"own"]
    heard.stream.receive(whole[:400])
    heard.stream.for_client.clear()

    answers = [heard.stream.passes(size) for size in (609, 608, 300, 308, 307)]
    heard.stream.receive(whole[-1:])

    assert answers == [False, False, True, False, True]
    assert heard.sent == whole[-1:] + b"own"


def test_nothing_passes_by_what_has_yet_to_be_sent_on() -> None:
    heard = Heard(FORWARD)
    heard.stream.receive(response(1, bytes(1000))[:400])

    assert not heard.stream.passes(100)


def test_the_records_of_a_neutralised_response_may_pass_the_stream_by_but_not_what_follows_them() -> None:
    fetch, records_end = fetched(bytes(1000))
    heard = Heard(SlotKind.NEUTRALISE)
    heard.stream.receive(fetch[: records_end - 800])
    heard.stream.for_client.clear()

    answers = [heard.stream.passes(size) for size in (801, 800, 700)]
    heard.stream.receive(fetch[records_end - 100 :])

    assert answers == [False, False, True]
    assert not heard.stream.is_mid_frame
    assert not heard.slots


@pytest.mark.parametrize("is_stuck", [False, True])
@pytest.mark.parametrize(
    "received", [b"", response(1, b"x")[:-1], response(1, b"x") + response(2, b"yy")[:9]]
)
def test_nothing_passes_by_a_response_that_begins_or_is_held(received: bytes, *, is_stuck: bool) -> None:
    heard = Heard(REWRITE, REWRITE, is_stuck=is_stuck)
    heard.stream.receive(received)
    heard.stream.for_client.clear()

    assert not heard.stream.passes(1)


def test_what_comes_behind_a_stuck_response_waits_and_leaves_after_it() -> None:
    heard = Heard(REWRITE, FORWARD, is_stuck=True)
    heard.stream.receive(response(1, b"x") + response(2, b"y"))
    heard.stream.receive(b"")
    before = heard.sent
    heard.is_stuck = False

    heard.stream.release()

    assert before == b""
    assert heard.sent == b"[" + response(1, b"x")[4:] + b"]" + response(2, b"y")


@given(cuts=st.lists(st.integers(0, 400), max_size=10))
def test_a_neutralised_response_passes_between_others_whatever_the_chunks(cuts: list[int]) -> None:
    endpoints = [NodeEndpoint(node_id=1, host="broker", port=9092)]
    fetched = FetchResponse(throttle_time_ms=3, node_endpoints=endpoints)
    fetch = b"".join(codecs.encode_response(1, 17, 2, fetched))
    data = response(1, b"x") + fetch + response(3, b"y")
    heard = Heard(FORWARD, SlotKind.NEUTRALISE, FORWARD)
    edges = [0, *sorted(cut % len(data) for cut in cuts), len(data)]

    for start, end in pairwise(edges):
        if start < end:
            heard.stream.receive(data[start:end])

    neutralised = heard.sent[len(response(1, b"x")) : -len(response(3, b"y"))]
    _, message = codecs.decode_response(1, 17, neutralised[4:])
    assert isinstance(message, FetchResponse)
    assert (message.throttle_time_ms, message.node_endpoints) == (3, [])
    assert len(heard.sent) == len(data)
    assert not heard.slots


@pytest.mark.parametrize(
    ("kinds", "data", "reason"),
    [
        ((FORWARD,), response(9), "correlation_id_mismatch"),
        ((), response(1), "unsolicited_response"),
        ((LOCAL,), response(1), "unsolicited_response"),
        ((FORWARD,), response(1) + response(2), "unsolicited_response"),
        ((FORWARD,), b"\xff\xff\xff\xff" + bytes(4), "frame_too_short"),
        ((FORWARD,), b"\x00\x00\x00\x03" + bytes(4), "frame_too_short"),
        ((FORWARD,), struct.pack(">ii", 3, 1), "frame_too_short"),
        ((FORWARD,), b"\x15\x03\x03\x00\x02\x02\x46", "tls_on_plaintext"),
        ((FORWARD,), b"\x15\x03\x03\x00\x02\x02\x46\x00", "tls_on_plaintext"),
        ((REWRITE,), b"\x7f\xff\xff\xff" + struct.pack(">i", 1), "frame_too_large"),
    ],
)
def test_what_no_broker_would_answer_is_refused_with_its_reason(
    kinds: tuple[SlotKind, ...], data: bytes, reason: str
) -> None:
    heard = Heard(*kinds)

    with pytest.raises(PeerViolation) as refusal:
        heard.stream.receive(data)

    assert refusal.value.reason == reason


def test_a_large_response_to_a_produce_is_not_held_and_its_endpoints_are_hidden() -> None:
    """To decode one about all partitions of a large cluster would hold up everybody else."""
    # Given
    partitions = [PartitionProduceResponse(index=number, error_code=6) for number in range(10_000)]
    produced = ProduceResponse(
        responses=[TopicProduceResponse("orders", partition_responses=partitions)],
        node_endpoints=[ProduceEndpoint(node_id=1, host="broker", port=9092)],
    )
    frame = b"".join(codecs.encode_response(0, 12, 1, produced))
    heard = Heard(REWRITE, FORWARD)
    heard.slots[0].api_key, heard.slots[0].api_version = 0, 12

    # When
    heard.stream.receive(frame[:100_000])
    sent_early = len(heard.sent)
    heard.stream.receive(frame[100_000:] + response(2, b"y"))

    # Then
    assert len(frame) > LARGEST_HELD_PRODUCE_BYTES
    assert sent_early == 100_000
    passed = heard.sent.removesuffix(response(2, b"y"))
    _, message = codecs.decode_response(0, 12, passed[4:])
    assert isinstance(message, ProduceResponse)
    assert (message.responses, message.node_endpoints) == (produced.responses, [])
    assert b"broker" in passed
    assert not heard.slots


def test_what_comes_behind_a_held_response_waits_while_the_client_is_full_and_no_further_one_begins() -> None:
    # Given
    heard, next_one = Heard(REWRITE, REWRITE, FORWARD), response(2, bytes(50_000))
    heard.stream.receive(response(1, b"a" * 1_000)[:500])
    heard.stream.is_client_full = True

    # When
    heard.stream.receive(response(1, b"a" * 1_000)[500:] + next_one[:40_000])
    while_full = heard.sent, heard.stream.is_put_by, heard.stream.is_mid_frame, heard.stream.stuck_bytes
    heard.stream.resume()
    heard.stream.receive(next_one[40_000:] + response(3))

    # Then
    first = b"[" + response(1, b"a" * 1_000)[4:] + b"]"
    assert while_full == (first, True, False, 40_000)
    assert heard.sent == first + b"[" + next_one[4:] + b"]" + response(3)
    assert (heard.stream.is_stuck, heard.stream.is_put_by) == (False, False)


def test_what_waits_for_the_client_keeps_no_more_than_its_own_bytes() -> None:
    heard = Heard(REWRITE, REWRITE)
    heard.stream.is_client_full = True
    heard.stream.held.begin(response(1, bytes(250_000))[:100], 250_008)

    tracemalloc.start()
    heard.stream.receive(response(1, bytes(250_000))[100:] + response(2, bytes(100))[:50])
    heard.stream.for_client.clear()
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert heard.stream.stuck_bytes == 50
    assert kept_bytes < 50_000
