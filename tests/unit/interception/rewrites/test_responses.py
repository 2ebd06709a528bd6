"""`ResponseRewriter`: from a broker's frame to the frame that leaves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses
from kproxy.interception.rewrites.address_rewrites import rewrite_metadata
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.wire import codecs
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kproxy.wire.messages.produce_response import (
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.worlds.conversing import SERVED, joined, response
from tests.worlds.message_values import messages_of


def versions_frame(correlation_id: int, highest: int = 4) -> memoryview:
    entries = [ApiVersion(api_key=12, min_version=0, max_version=highest)]
    return memoryview(response(18, 3, correlation_id, ApiVersionsResponse(api_keys=entries)))[4:]


def told(frame: list[bytes | memoryview]) -> tuple[int, dict[int, tuple[int, int]]]:
    """Return the correlation id and the versions of a frame that leaves."""
    correlation_id, message = codecs.decode_response(18, 3, joined(frame)[4:])
    assert isinstance(message, ApiVersionsResponse)
    return correlation_id, {
        entry.api_key: (entry.min_version, entry.max_version) for entry in message.api_keys
    }


def test_metadata_leaves_with_its_length_and_its_correlation_id() -> None:
    rewriter = ResponseRewriter(BrokerAddresses({1: AdvertisedAddress("kproxy", 19101)}), dict)
    asked = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="broker", port=9092)])

    frame = rewriter.rewrite(3, 9, memoryview(response(3, 9, 7, asked))[4:])

    virtual = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="kproxy", port=19101)])
    assert joined(frame) == response(3, 9, 7, virtual)


@pytest.mark.parametrize("version", range(14))
@given(data=st.data())
def test_metadata_leaves_as_if_all_of_it_had_been_decoded(version: int, data: st.DataObject) -> None:
    # Given
    asked = data.draw(messages_of(MetadataResponse, version))
    for broker in asked.brokers:
        broker.node_id = abs(broker.node_id) % 3
    addresses = BrokerAddresses(
        {number: AdvertisedAddress(f"kproxy-{number}", number) for number in range(3)}
    )
    frame = memoryview(response(3, version, 7, asked))[4:]

    # When
    left = ResponseRewriter(addresses, dict).rewrite(3, version, frame)

    # Then
    assert joined(left) == response(3, version, 7, rewrite_metadata(asked, addresses))


def test_the_topics_of_a_metadata_response_are_the_bytes_that_came() -> None:
    # Given
    rewriter = ResponseRewriter(BrokerAddresses({1: AdvertisedAddress("kproxy", 19101)}), dict)
    named = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="broker", port=9092)])
    topics = b"no decoder would accept this"

    # When
    left = rewriter.rewrite(3, 12, memoryview(response(3, 12, 7, named) + topics)[4:])

    # Then
    assert joined(left).endswith(topics)


@pytest.mark.parametrize("version", [0, 12])
def test_metadata_that_ends_within_its_brokers_is_no_response(version: int) -> None:
    # Given
    rewriter = ResponseRewriter(BrokerAddresses({1: AdvertisedAddress("kproxy", 19101)}), dict)
    named = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="broker", port=9092)])

    # Then
    with pytest.raises(PeerViolation, match="ends within its brokers"):
        rewriter.rewrite(3, version, memoryview(response(3, version, 7, named))[4:20])


def test_a_produce_response_that_names_no_broker_leaves_as_it_came() -> None:
    rewriter = ResponseRewriter(BrokerAddresses(), dict)
    stored = TopicProduceResponse(name="jobs", partition_responses=[PartitionProduceResponse(base_offset=5)])
    asked = response(0, 11, 7, ProduceResponse(responses=[stored]))

    frame = rewriter.rewrite(0, 11, memoryview(asked)[4:])

    assert joined(frame) == asked


def test_a_produce_response_that_names_a_broker_leaves_with_its_address_replaced() -> None:
    rewriter = ResponseRewriter(BrokerAddresses({1: AdvertisedAddress("kproxy", 19101)}), dict)
    asked = ProduceResponse(node_endpoints=[NodeEndpoint(node_id=1, host="broker", port=9092)])

    frame = rewriter.rewrite(0, 11, memoryview(response(0, 11, 7, asked))[4:])

    virtual = ProduceResponse(node_endpoints=[NodeEndpoint(node_id=1, host="kproxy", port=19101)])
    assert joined(frame) == response(0, 11, 7, virtual)


def test_connections_that_were_told_the_same_share_what_they_remember_of_it() -> None:
    rewriter = ResponseRewriter(BrokerAddresses(), lambda: SERVED)

    answers = [rewriter.rewrite_api_versions(3, versions_frame(number)) for number in (7, 8)]

    assert [told(answer.buffers) for answer in answers] == [
        (7, {12: (0, 4), 74: (1, 1), **SERVED}),
        (8, {12: (0, 4), 74: (1, 1), **SERVED}),
    ]
    assert answers[0].advertised is answers[1].advertised
    assert answers[0].upstream is answers[1].upstream


def test_what_was_told_before_is_not_told_again_when_share_groups_are_switched() -> None:
    served = dict(SERVED)
    rewriter = ResponseRewriter(BrokerAddresses(), lambda: served)
    rewriter.rewrite_api_versions(3, versions_frame(7))
    served.clear()

    answer = rewriter.rewrite_api_versions(3, versions_frame(8))

    assert told(answer.buffers) == (8, {12: (0, 4)})


def test_no_number_of_different_answers_is_remembered_for_ever() -> None:
    rewriter = ResponseRewriter(BrokerAddresses(), dict)
    for number in range(1000):
        rewriter.rewrite_api_versions(3, versions_frame(1, highest=number))

    assert len(rewriter._versions_answers) <= 64


@pytest.mark.parametrize("frame", [b"", b"\0\0\0\7", b"\0\0\0\7\0", b"\0\0\0\7\0\x23\xff"])
def test_an_answer_to_api_versions_that_is_none_is_refused(frame: bytes) -> None:
    rewriter = ResponseRewriter(BrokerAddresses(), dict)

    with pytest.raises(PeerViolation) as refusal:
        rewriter.rewrite_api_versions(3, memoryview(frame))

    assert refusal.value.reason == "malformed_response"
