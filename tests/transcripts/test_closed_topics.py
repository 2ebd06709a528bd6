"""Whole conversations about topics that clients must not touch."""

from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import PeerViolation
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.wire import codecs
from kproxy.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kproxy.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kproxy.wire.messages.produce_response import ProduceResponse
from tests.worlds.conversing import Conversation, opaque_request, opaque_response, request, response

STATE: Final = "__kproxy_share_state"
PRODUCE, FETCH, CREATE_PARTITIONS = 0, 1, 37


def a_conversation() -> tuple[Conversation, list[int]]:
    """A client, and the API keys of what was refused because of a closed topic."""
    conversation, refused = Conversation(), list[int]()
    conversation.routes.closed_topics = ClosedTopics([STATE])
    conversation.routes.closed_topics.on_refused = refused.append
    return conversation, refused


def fetch(correlation_id: int, *topics: str, rack_id: str = "") -> bytes:
    named = [FetchTopic(name, partitions=[FetchPartition(0)]) for name in topics]
    return request(FETCH, 11, correlation_id, FetchRequest(topics=named, rack_id=rack_id))


def produce(correlation_id: int, *topics: str, acks: int = 1, size: int = 10) -> bytes:
    data = [TopicProduceData(name, partition_data=[PartitionProduceData(0, b"r" * size)]) for name in topics]
    return request(PRODUCE, 9, correlation_id, ProduceRequest(acks=acks, topic_data=data))


def test_a_fetch_of_a_closed_topic_is_denied_and_the_rest_is_fetched_in_order() -> None:
    # Given
    conversation, refused = a_conversation()

    # When
    sent = conversation.client_sends(opaque_request(1) + fetch(2, STATE, "orders") + opaque_request(3))

    # Then: the broker hears nothing of it
    assert sent == opaque_request(1) + fetch(2, "orders") + opaque_request(3)
    theirs = FetchResponse(session_id=7, responses=[FetchableTopicResponse("orders")])
    answered = conversation.broker_sends(
        opaque_response(1) + response(FETCH, 11, 2, theirs) + opaque_response(3)
    )
    assert answered.startswith(opaque_response(1))
    assert answered.endswith(opaque_response(3))
    middle = answered[len(opaque_response(1)) + 4 : -len(opaque_response(3))]
    correlation_id, answer = codecs.decode_response(FETCH, 11, middle)
    assert isinstance(answer, FetchResponse)
    assert correlation_id == 2
    assert {topic.topic: [part.error_code for part in topic.partitions] for topic in answer.responses} == {
        "orders": [],
        STATE: [ErrorCode.TOPIC_AUTHORIZATION_FAILED],
    }
    assert refused == [FETCH]


def test_a_request_about_closed_topics_alone_never_reaches_the_broker() -> None:
    # Given
    conversation, refused = a_conversation()

    # When
    extension = CreatePartitionsRequest([CreatePartitionsTopic(STATE, 99)])
    sent = conversation.client_sends(request(CREATE_PARTITIONS, 3, 5, extension) + produce(6, STATE))

    # Then
    assert sent == b""
    answers = b"".join(conversation.session.take_for_client())
    assert answers.count(STATE.encode()) == 2
    assert refused == [CREATE_PARTITIONS, PRODUCE]


@pytest.mark.parametrize("piece", [1, 50, 10_000])
def test_everything_else_goes_on_byte_for_byte_in_whatever_pieces(piece: int) -> None:
    # Given: names in records, which may have to be looked into, and a Produce that wants no answer
    conversation, refused = a_conversation()
    data = [TopicProduceData("orders", partition_data=[PartitionProduceData(0, STATE.encode())])]
    mentioned = request(PRODUCE, 9, 2, ProduceRequest(acks=1, topic_data=data))
    unanswered = request(PRODUCE, 9, 3, ProduceRequest(acks=0, topic_data=data))
    last = fetch(5, "payments", rack_id=STATE)
    stream = fetch(1, "orders") + mentioned + unanswered + produce(4, "orders", size=40_000) + last

    # When
    sent = b"".join(
        conversation.client_sends(stream[begin : begin + piece]) for begin in range(0, len(stream), piece)
    )

    # Then
    assert sent == stream
    assert conversation.session.owed_responses == 4
    assert sum(conversation.counts.values()) == 4
    assert not refused
    passed = response(PRODUCE, 9, 2, ProduceResponse())
    fetched = response(FETCH, 11, 1, FetchResponse())
    assert conversation.broker_sends(fetched + passed) == fetched + passed


@pytest.mark.parametrize(("acks", "owed"), [(1, 2), (0, 1)])
def test_a_produce_that_is_held_in_vain_is_owed_an_answer_only_if_it_wants_one(acks: int, owed: int) -> None:
    # Given: so much without records that the rest is searched for the name, which stands in a record
    conversation, refused = a_conversation()
    nothing = [PartitionProduceData(index) for index in range(100)]
    mentioned = PartitionProduceData(100, STATE.encode())
    data = [TopicProduceData("orders", partition_data=[*nothing, mentioned])]
    stream = request(PRODUCE, 9, 1, ProduceRequest(acks=acks, topic_data=data)) + fetch(2, "orders")

    # When
    sent = conversation.client_sends(stream)

    # Then
    assert sent == stream
    assert conversation.session.owed_responses == owed
    assert not refused
    if not acks:
        fetched = response(FETCH, 11, 2, FetchResponse())
        assert conversation.broker_sends(fetched) == fetched


def test_a_large_produce_that_names_one_before_it_is_sent_on_is_answered() -> None:
    conversation, refused = a_conversation()
    sent = conversation.client_sends(produce(1, "orders", STATE, size=50_000))
    assert sent == produce(1, "orders", size=50_000)
    assert refused == [PRODUCE]


def test_a_produce_of_which_a_part_has_gone_out_ends_the_connection() -> None:
    # Given
    conversation, refused = a_conversation()
    frame = produce(1, "orders", STATE, size=50_000)
    conversation.client_sends(frame[:1_000])
    assert conversation.session.passes_from_client(10_000)

    # When, then
    with pytest.raises(PeerViolation, match="state_topic"):
        conversation.client_sends(frame[11_000:])
    assert refused == [PRODUCE]


def test_a_produce_without_an_answer_to_a_closed_topic_ends_the_connection() -> None:
    conversation, refused = a_conversation()
    with pytest.raises(PeerViolation, match="state_topic"):
        conversation.client_sends(produce(1, STATE, acks=0))
    assert refused == [PRODUCE]


def test_what_nobody_can_look_into_ends_the_connection() -> None:
    """A Fetch of version 3, of which there is no codec any more."""
    conversation, _ = a_conversation()
    body = b"\x00\x01\x00\x03\x00\x00\x00\x01\xff\xff" + STATE.encode()
    with pytest.raises(PeerViolation, match="malformed_request"):
        conversation.client_sends(len(body).to_bytes(4, "big") + body)


def test_configurations_of_groups_are_served_as_ever() -> None:
    """A request that is held anyway, and mentions the name of a topic as that of a group."""
    conversation, refused = a_conversation()
    altered = IncrementalAlterConfigsRequest([AlterConfigsResource(32, STATE)])
    assert conversation.client_sends(request(44, 1, 3, altered)) == b""
    assert conversation.session.take_call() is not None
    assert not refused
