"""`may_name_brokers`: no Produce response with addresses passes for one without, and none without is decoded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.wire import codecs
from kproxy.wire.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kproxy.wire.produce_endpoints import may_name_brokers

VERSIONS = [10, 11, 12, 13]
CORRELATION_ID = b"\0\0\0\7"

texts = st.none() | st.sampled_from(["", "why", "w" * 126, "w" * 127, "w" * 128, "w" * 300])
leaders = st.builds(LeaderIdAndEpoch, leader_id=st.integers(-1, 3), leader_epoch=st.integers(-1, 3))
unknown_tags = st.just(()) | st.just(((5, b"five"), (200, b"x" * 200)))
record_errors = st.builds(
    BatchIndexAndErrorMessage, batch_index_error_message=texts, unknown_tagged_fields=unknown_tags
)
partitions = st.builds(
    PartitionProduceResponse,
    base_offset=st.integers(-1, 1 << 40),
    record_errors=st.lists(record_errors, max_size=3),
    error_message=texts,
    current_leader=leaders,
    unknown_tagged_fields=unknown_tags,
)
topics = st.builds(
    TopicProduceResponse,
    name=st.sampled_from(["jobs", "n" * 127, "n" * 249]),
    topic_id=st.binary(min_size=16, max_size=16),
    partition_responses=st.lists(partitions, max_size=3) | st.just([PartitionProduceResponse()] * 130),
    unknown_tagged_fields=unknown_tags,
)
responses = st.builds(
    ProduceResponse, responses=st.lists(topics, max_size=3), throttle_time_ms=st.integers(0, 9)
)


def frame_of(response: ProduceResponse, version: int) -> bytes:
    return b"".join(codecs.encode_response(0, version, 7, response))[4:]


@given(response=responses, version=st.sampled_from(VERSIONS))
def test_a_response_without_endpoints_names_nobody(response: ProduceResponse, version: int) -> None:
    assert not may_name_brokers(frame_of(response, version), version)


@given(response=responses, version=st.sampled_from(VERSIONS))
def test_a_response_with_endpoints_names_brokers(response: ProduceResponse, version: int) -> None:
    response.node_endpoints = [NodeEndpoint(node_id=1, host="broker", port=9092)]

    assert may_name_brokers(frame_of(response, version), version)


@given(response=responses, version=st.sampled_from(VERSIONS), missing=st.integers(1, 400))
def test_a_response_that_is_cut_is_left_to_who_decodes_it(
    response: ProduceResponse, version: int, missing: int
) -> None:
    frame = frame_of(response, version)

    assert may_name_brokers(frame[: max(0, len(frame) - missing)], version)


def test_a_response_that_is_longer_than_it_says_is_left_to_who_decodes_it() -> None:
    assert may_name_brokers(frame_of(ProduceResponse(), 10) + b"\0", 10)


@pytest.mark.parametrize(
    "count", [b"\xff\xff\xff\xff\xff\x01", b"\xff" * 1000], ids=["six bytes", "a thousand bytes"]
)
def test_a_count_of_more_than_five_bytes_is_left_to_who_decodes_it(count: bytes) -> None:
    assert may_name_brokers(CORRELATION_ID + b"\0" + count + bytes(100), 10)


@given(garbage=st.binary(max_size=500), version=st.sampled_from(VERSIONS))
def test_of_garbage_only_what_ends_in_no_tags_passes(garbage: bytes, version: int) -> None:
    assert may_name_brokers(garbage, version) or garbage.endswith(b"\0")
