"""What of a Metadata response is read without decoding its topics.

`LastingParts` are equal for two answers with nothing changed in between, and different for any others. Brokers are
replaced as if the whole response had been decoded.
"""

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
from kproxy.wire.metadata_frames import LastingParts, MetadataBrokers
from tests.worlds.message_values import messages_of

VERSIONS = [9, 10, 11, 12, 13]
ALL_VERSIONS = range(
    MetadataResponse.SCHEMA.valid_versions.first, MetadataResponse.SCHEMA.valid_versions.last + 1
)

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


def view_of(response: MetadataResponse, version: int) -> memoryview:
    return memoryview(frame_of(response, version))


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


# ---- brokers


@pytest.mark.parametrize("version", ALL_VERSIONS)
@given(data=st.data())
def test_only_hosts_and_ports_are_replaced(version: int, data: st.DataObject) -> None:
    # Given
    response = data.draw(messages_of(MetadataResponse, version))
    told = [
        (data.draw(st.sampled_from(["", "kproxy", "h" * 126, "h" * 127, "ü" * 200])), number)
        for number, _ in enumerate(response.brokers)
    ]

    # When
    named = MetadataBrokers.of(view_of(response, version), version)

    # Then
    assert [(each.node_id, each.host, each.port) for each in named.brokers] == [
        (each.node_id, each.host, each.port) for each in response.brokers
    ]
    response.brokers = [
        replace(broker, host=host, port=port)
        for broker, (host, port) in zip(response.brokers, told, strict=True)
    ]
    assert b"".join(named.readdressed(told)) == view_of(response, version)


@pytest.mark.parametrize("version", [0, 1, 8, 9, 13])
def test_more_brokers_than_fit_a_byte_of_count(version: int) -> None:
    # Given
    brokers = [MetadataResponseBroker(node_id=number, host="b", port=1) for number in range(300)]
    told = [("kproxy", number) for number in range(300)]

    # When
    named = MetadataBrokers.of(view_of(MetadataResponse(brokers=brokers), version), version)

    # Then
    expected = [replace(each, host="kproxy", port=each.node_id) for each in brokers]
    assert b"".join(named.readdressed(told)) == view_of(MetadataResponse(brokers=expected), version)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_a_response_that_ends_within_its_brokers_is_malformed(version: int) -> None:
    # Given
    broker = MetadataResponseBroker(node_id=1, host="broker", port=9092, rack="a")
    frame = view_of(MetadataResponse(brokers=[broker]), version)
    end = len(frame) - len(MetadataBrokers.of(frame, version).after)

    # Then
    for size in range(end):
        with pytest.raises(MalformedMessage, match="ends within its brokers"):
            MetadataBrokers.of(frame[:size], version)


@pytest.mark.parametrize(
    ("version", "body", "complaint"),
    [
        (0, b"\xff\xff\xff\xff", "brokers may not be null"),
        (9, b"\0" + bytes(4) + b"\0", "brokers may not be null"),
        (0, b"\0\0\0\1" + bytes(4) + b"\xff\xff" + bytes(4), "host of a broker may not be null"),
        (0, b"\0\0\0\1" + bytes(4) + b"\0\1\xff" + bytes(4), "no UTF-8"),
    ],
)
def test_brokers_that_cannot_be_are_malformed(version: int, body: bytes, complaint: str) -> None:
    with pytest.raises(MalformedMessage, match=complaint):
        MetadataBrokers.of(memoryview(bytes(4) + body), version)
