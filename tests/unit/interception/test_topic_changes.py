"""Answers to CreateTopics and the like pass untouched, and are a reason to look at the cluster's topics."""

import struct

import pytest

from kproxy.interception.topic_changes import LARGEST_READ_BYTES, TopicChange
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.delete_records_request import DeleteRecordsRequest
from kproxy.wire.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from tests.worlds.conversing import (
    Conversation,
    opaque_request,
    opaque_response,
    request,
    response,
)

DELETED_RECORDS = DeleteRecordsResponse(
    topics=[
        DeleteRecordsTopicResult(
            name="orders",
            partitions=[
                DeleteRecordsPartitionResult(partition_index=0, low_watermark=7),
                DeleteRecordsPartitionResult(partition_index=1, low_watermark=-1, error_code=6),
            ],
        )
    ]
)

TOPIC_CHANGES = [ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.DELETE_RECORDS]


def opaque_change(api_key: int, correlation_id: int) -> bytes:
    """A request in version 2, with a body that nobody looks at."""
    return struct.pack(">ihhi", 12, api_key, 2, correlation_id) + b"make"


@pytest.mark.parametrize("api_key", TOPIC_CHANGES)
def test_a_change_is_told_of_when_its_answer_passes_and_not_before(api_key: int) -> None:
    # Given
    talk = Conversation()
    sent, answer = opaque_change(api_key, 1), opaque_response(1)

    # When
    forwarded = talk.client_sends(sent)
    before = list(talk.topic_changes)
    passed = talk.broker_sends(answer)

    # Then
    assert (forwarded, passed) == (sent, answer)
    assert before == []
    assert talk.topic_changes == [TopicChange()]


def test_an_answer_in_pieces_between_others_passes_in_its_turn() -> None:
    # Given
    talk = Conversation()
    sent = opaque_request(1) + opaque_change(ApiKey.DELETE_TOPICS, 2) + opaque_request(3)
    answers = opaque_response(1) + opaque_response(2) + opaque_response(3)

    # When
    forwarded = b"".join(talk.client_sends(sent[at : at + 1]) for at in range(len(sent)))
    passed = b"".join(talk.broker_sends(answers[at : at + 1]) for at in range(len(answers)))

    # Then
    assert (forwarded, passed) == (sent, answers)
    assert talk.topic_changes == [TopicChange()]


def test_after_delete_records_it_is_told_where_the_logs_begin() -> None:
    # Given
    talk = Conversation()
    talk.client_sends(request(ApiKey.DELETE_RECORDS, 2, 1, DeleteRecordsRequest()))

    # When
    talk.broker_sends(response(ApiKey.DELETE_RECORDS, 2, 1, DELETED_RECORDS))

    # Then
    assert talk.topic_changes == [TopicChange({("orders", 0): 7})]


def test_an_answer_that_cannot_be_read_is_the_clients_to_judge() -> None:
    # Given
    talk = Conversation()
    talk.client_sends(request(ApiKey.DELETE_RECORDS, 2, 1, DeleteRecordsRequest()))

    # When
    passed = talk.broker_sends(opaque_response(1))

    # Then
    assert passed == opaque_response(1)
    assert talk.topic_changes == [TopicChange()]


def test_while_share_groups_are_off_nobody_cares() -> None:
    # Given
    talk = Conversation(served={})
    talk.client_sends(opaque_change(ApiKey.CREATE_TOPICS, 1))

    # When
    passed = talk.broker_sends(opaque_response(1))

    # Then
    assert passed == opaque_response(1)
    assert talk.topic_changes == []


def test_an_answer_about_very_many_partitions_is_not_read_because_nobody_else_has_a_turn_meanwhile() -> None:
    """Reads find out where the logs begin. Anybody may ask for records of partitions that do not exist."""
    # Given
    partitions = [DeleteRecordsPartitionResult(number, 7, 0) for number in range(LARGEST_READ_BYTES // 14)]
    answer = DeleteRecordsResponse(topics=[DeleteRecordsTopicResult("orders", partitions)])
    talk = Conversation()
    talk.client_sends(request(ApiKey.DELETE_RECORDS, 2, 1, DeleteRecordsRequest()))

    # When
    passed = talk.broker_sends(response(ApiKey.DELETE_RECORDS, 2, 1, answer))

    # Then
    assert passed == response(ApiKey.DELETE_RECORDS, 2, 1, answer)
    assert talk.topic_changes == [TopicChange()]
