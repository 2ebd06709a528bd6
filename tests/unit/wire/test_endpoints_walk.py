"""`EndpointsWalk`: a response passes in any pieces, and no address of a broker is understood any more."""

import sys
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.wire import codecs
from kproxy.wire.endpoints_walk import UNKNOWN_TAG, EndpointsWalk
from kproxy.wire.messages.fetch_response import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from kproxy.wire.messages.produce_response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kproxy.wire.messages.produce_response import LeaderIdAndEpoch as ProduceLeader
from kproxy.wire.messages.produce_response import NodeEndpoint as ProduceEndpoint
from tests.unit.wire.kafka_varints import expected, five_bytes

partitions = st.builds(
    PartitionData,
    partition_index=st.integers(0, 9),
    error_code=st.sampled_from([0, 6]),
    high_watermark=st.integers(-1, 1 << 40),
    current_leader=st.builds(LeaderIdAndEpoch, leader_id=st.integers(-1, 3), leader_epoch=st.integers(-1, 3)),
    aborted_transactions=st.none()
    | st.lists(st.builds(AbortedTransaction, producer_id=st.integers(0, 9)), max_size=3),
    records=st.none() | st.binary(max_size=300),
)
responses = st.builds(
    FetchResponse,
    throttle_time_ms=st.integers(0, 9),
    session_id=st.integers(0, 9),
    responses=st.lists(
        st.builds(
            FetchableTopicResponse,
            topic_id=st.binary(min_size=16, max_size=16),
            partitions=st.lists(partitions, max_size=3),
        ),
        max_size=3,
    ),
    node_endpoints=st.lists(
        st.builds(NodeEndpoint, node_id=st.integers(0, 9), host=st.just("broker-host"), port=st.just(9092)),
        max_size=3,
    ),
)


def frame_of(response: FetchResponse, version: int = 17) -> bytes:
    return b"".join(codecs.encode_response(1, version, 7, response))[4:]


def walked(
    frame: bytes, cuts: list[int], *, api_key: int = 1, version: int = 16, most_steps: int = sys.maxsize
) -> bytes:
    walk = EndpointsWalk(len(frame), api_key, version)
    edges = [0, *sorted(cut % (len(frame) + 1) for cut in cuts), len(frame)]
    passed = b""
    for piece in (memoryview(frame)[start:end] for start, end in pairwise(edges)):
        while piece:
            parts, piece = walk.take(piece, most_steps)  # noqa: PLW2901 - what is left of it
            assert walk.step_count <= most_steps + 1
            passed += b"".join(parts)
    return passed


@given(
    response=responses,
    version=st.sampled_from([16, 17, 18]),
    cuts=st.lists(st.integers(0, 5000), max_size=20),
)
def test_whatever_the_pieces_only_the_endpoints_become_an_unknown_field(
    response: FetchResponse, version: int, cuts: list[int]
) -> None:
    """The frame keeps its length, everything else its value, and the endpoints' bytes stand under another tag."""
    frame = frame_of(response, version)

    passed = walked(frame, cuts)

    _, message = codecs.decode_response(1, version, passed)
    assert isinstance(message, FetchResponse)
    assert len(passed) == len(frame)
    assert message.node_endpoints == []
    assert [tag for tag, _ in message.unknown_tagged_fields] == (
        [UNKNOWN_TAG] if response.node_endpoints else []
    )
    message.unknown_tagged_fields = ()
    response.node_endpoints = []
    assert frame_of(message, version) == frame_of(response, version)


def test_a_response_without_endpoints_passes_as_the_same_memory() -> None:
    frame = memoryview(frame_of(FetchResponse(responses=[])))

    parts = EndpointsWalk(len(frame), 1, 16).take(frame)

    assert [part.obj for part in parts if isinstance(part, memoryview)] == [frame.obj]


@given(response=responses, cuts=st.lists(st.integers(0, 5000), max_size=20))
def test_what_may_pass_the_walk_by_needs_no_walk(response: FetchResponse, cuts: list[int]) -> None:
    frame = frame_of(response)
    walk, passed = EndpointsWalk(len(frame), 1, 16), b""
    edges = [0, *sorted(cut % (len(frame) + 1) for cut in cuts), len(frame)]

    for start, end in pairwise(edges):
        piece = memoryview(frame)[start:end]
        passed += bytes(piece) if walk.passes(len(piece)) else b"".join(walk.take(piece)[0])

    assert passed == walked(frame, [])
    assert walk.bytes_left == 0


def test_tags_that_nobody_knows_stay_as_they_are() -> None:
    frame = frame_of(FetchResponse(unknown_tagged_fields=((5, b"five"),)))

    assert walked(frame, []) == frame


@given(response=responses, missing=st.integers(1, 400))
def test_a_response_that_ends_too_early_is_refused(response: FetchResponse, missing: int) -> None:
    frame = frame_of(response)
    cut = frame[: max(1, len(frame) - missing)]

    with pytest.raises(PeerViolation, match="middle of a field"):
        walked(cut, [])


def test_bytes_behind_a_response_are_refused() -> None:
    with pytest.raises(PeerViolation, match="2 bytes behind"):
        walked(frame_of(FetchResponse()) + b"xx", [])


@given(garbage=st.binary(min_size=1, max_size=500))
def test_garbage_is_refused_or_passes_in_full_length_and_nothing_else_happens(garbage: bytes) -> None:
    with suppress(PeerViolation):
        assert len(walked(garbage, [])) == len(garbage)


produced_partitions = st.builds(
    PartitionProduceResponse,
    index=st.integers(0, 9),
    error_code=st.sampled_from([0, 6]),
    record_errors=st.lists(st.builds(BatchIndexAndErrorMessage, st.integers(0, 9), st.text()), max_size=2),
    error_message=st.none() | st.text(max_size=200),
    current_leader=st.builds(ProduceLeader, leader_id=st.integers(-1, 3), leader_epoch=st.integers(-1, 3)),
)
produce_responses = st.builds(
    ProduceResponse,
    responses=st.lists(
        st.builds(
            TopicProduceResponse,
            name=st.text(max_size=200),
            topic_id=st.binary(min_size=16, max_size=16),
            partition_responses=st.lists(produced_partitions, max_size=3),
        ),
        max_size=3,
    ),
    throttle_time_ms=st.integers(0, 9),
    node_endpoints=st.lists(
        st.builds(
            ProduceEndpoint, node_id=st.integers(0, 9), host=st.just("broker-host"), port=st.just(9092)
        ),
        max_size=3,
    ),
)


@given(
    response=produce_responses,
    version=st.sampled_from([10, 11, 12, 13]),
    cuts=st.lists(st.integers(0, 5000), max_size=20),
)
def test_of_a_produce_response_too_only_the_endpoints_become_an_unknown_field(
    response: ProduceResponse, version: int, cuts: list[int]
) -> None:
    def produce_frame(message: ProduceResponse) -> bytes:
        return b"".join(codecs.encode_response(0, version, 7, message))[4:]

    frame = produce_frame(response)

    passed = walked(frame, cuts, api_key=0, version=version)

    _, message = codecs.decode_response(0, version, passed)
    assert isinstance(message, ProduceResponse)
    assert len(passed) == len(frame)
    assert message.node_endpoints == []
    message.unknown_tagged_fields = ()
    response.node_endpoints = []
    assert produce_frame(message) == produce_frame(response)


@given(five_bytes)
def test_a_number_is_read_as_clients_of_kafka_read_it_or_refused(encoded: bytes) -> None:
    # Correlation id, then a number of tags that is what the varint says.
    walk = EndpointsWalk(1 << 40, 1, 16)
    has_refused = False

    for byte in bytes(4) + encoded:
        try:
            walk.take(memoryview(bytes([byte])))
        except PeerViolation:
            has_refused = True
            break

    assert has_refused is (expected(encoded) is None)
