"""`LastingParts`: equal for two answers with nothing changed in between, and different for any others."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import MalformedMessage
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kproxy.wire.metadata_frames import LastingParts

VERSIONS = [9, 10, 11, 12, 13]

unknown_tags = st.just(()) | st.just(((5, b"five"), (200, b"x" * 200)))
hosts = st.sampled_from(["", "broker-1", "h" * 126, "h" * 127, "h" * 300])
brokers = st.builds(
    MetadataResponseBroker,
    node_id=st.integers(0, 5),
    host=hosts,
    port=st.integers(0, 65_535),
    rack=st.none() | st.sampled_from(["", "rack-a", "r" * 200]),
    unknown_tagged_fields=unknown_tags,
)
partitions = st.builds(
    MetadataResponsePartition,
    partition_index=st.integers(0, 3),
    leader_id=st.integers(-1, 3),
    leader_epoch=st.integers(-1, 9),
    replica_nodes=st.lists(st.integers(0, 3), max_size=3),
)
topics = st.builds(
    MetadataResponseTopic,
    name=st.sampled_from(["orders", "payments"]),
    partitions=st.lists(partitions, max_size=3),
)
responses = st.builds(
    MetadataResponse,
    brokers=st.lists(brokers, max_size=3) | st.just([MetadataResponseBroker(host="b")] * 130),
    cluster_id=st.none() | st.sampled_from(["", "cluster"]),
    topics=st.lists(topics, max_size=3),
)


def frame_of(response: MetadataResponse, version: int, correlation_id: int = 7) -> bytes:
    return b"".join(codecs.encode_response(ApiKey.METADATA, version, correlation_id, response))[4:]


@given(
    response=responses,
    version=st.sampled_from(VERSIONS),
    correlation_id=st.integers(0, 1 << 30),
    throttle_time_ms=st.integers(0, 1 << 30),
    controller_id=st.integers(-1, 1 << 30),
)
def test_correlation_id_throttle_time_and_controller_make_no_difference(
    response: MetadataResponse, version: int, correlation_id: int, throttle_time_ms: int, controller_id: int
) -> None:
    again = replace(response, throttle_time_ms=throttle_time_ms, controller_id=controller_id)

    parts = LastingParts.of(frame_of(response, version), version)

    assert parts.are_those_of(frame_of(again, version, correlation_id), version)


@given(first=responses, second=responses, version=st.sampled_from(VERSIONS))
def test_everything_else_makes_one(first: MetadataResponse, second: MetadataResponse, version: int) -> None:
    is_same_frame = frame_of(first, version) == frame_of(second, version)

    parts = LastingParts.of(frame_of(first, version), version)

    assert parts.are_those_of(frame_of(second, version), version) is is_same_frame


@given(response=responses, version=st.sampled_from(VERSIONS))
def test_a_frame_that_ends_before_its_topics_is_malformed(response: MetadataResponse, version: int) -> None:
    frame = frame_of(response, version)
    topics_at = len(frame) - len(LastingParts.of(frame, version).behind)

    for end in range(min(topics_at, 400)):
        with pytest.raises(MalformedMessage):
            LastingParts.of(frame[:end], version)


def test_versions_before_the_flexible_ones_are_not_compared() -> None:
    with pytest.raises(MalformedMessage, match="only 9 and above"):
        LastingParts.of(frame_of(MetadataResponse(), 8), 8)
