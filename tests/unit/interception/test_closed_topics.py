"""What is answered about topics of kproxy's state log, by every API that could touch them."""

from dataclasses import replace
from typing import Any, Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import PeerViolation
from kproxy.interception.closed_topics import TOPIC_KEYS, ClosedTopics, deny_closed_topics
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages import alter_configs_request as legacy
from kproxy.wire.messages import create_partitions_request as creation
from kproxy.wire.messages import create_topics_request as making
from kproxy.wire.messages import delete_records_request as truncation
from kproxy.wire.messages import delete_topics_request as deletion
from kproxy.wire.messages import fetch_request as fetch
from kproxy.wire.messages import incremental_alter_configs_request as alter
from kproxy.wire.messages import list_offsets_request as offsets
from kproxy.wire.messages import offset_for_leader_epoch_request as epochs
from kproxy.wire.messages import produce_request as produce
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, NodeEndpoint
from kproxy.wire.messages.list_offsets_response import ListOffsetsResponse, ListOffsetsTopicResponse

STATE: Final = "__kproxy_share_state"
GROUPS: Final = "__kproxy_share_groups"
STATE_ID: Final = b"id-of-the-state-"
DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
RECORDS: Final = produce.PartitionProduceData(0, b"r")


def closed() -> tuple[ClosedTopics, list[int]]:
    """The closed topics, and what was refused of them."""
    topics, refused = ClosedTopics((STATE, GROUPS)), list[int]()
    topics.know([STATE_ID])
    topics.on_refused = refused.append
    return topics, refused


def request(api_key: int, version: int, message: Message) -> DecodedRequest:
    return DecodedRequest(api_key, version, 1, "client", message)


BOTH: Final[dict[str, tuple[int, int, Message, str, str]]] = {
    "produce": (
        ApiKey.PRODUCE,
        9,
        produce.ProduceRequest(
            acks=1,
            topic_data=[
                produce.TopicProduceData(STATE, partition_data=[RECORDS]),
                produce.TopicProduceData("orders", partition_data=[RECORDS]),
            ],
        ),
        "topic_data",
        "responses",
    ),
    "produce by id": (
        ApiKey.PRODUCE,
        13,
        produce.ProduceRequest(
            acks=1,
            topic_data=[
                produce.TopicProduceData("", STATE_ID, [RECORDS]),
                produce.TopicProduceData("", b"o" * 16, [RECORDS]),
            ],
        ),
        "topic_data",
        "responses",
    ),
    "fetch": (
        ApiKey.FETCH,
        11,
        fetch.FetchRequest(
            topics=[
                fetch.FetchTopic(GROUPS, partitions=[fetch.FetchPartition(0)]),
                fetch.FetchTopic("orders", partitions=[fetch.FetchPartition(0)]),
            ]
        ),
        "topics",
        "responses",
    ),
    "fetch by id": (
        ApiKey.FETCH,
        17,
        fetch.FetchRequest(
            topics=[
                fetch.FetchTopic("", STATE_ID, [fetch.FetchPartition(0)]),
                fetch.FetchTopic("", b"o" * 16, [fetch.FetchPartition(0)]),
            ]
        ),
        "topics",
        "responses",
    ),
    "offsets": (
        ApiKey.LIST_OFFSETS,
        7,
        offsets.ListOffsetsRequest(
            topics=[
                offsets.ListOffsetsTopic(STATE, [offsets.ListOffsetsPartition(0)]),
                offsets.ListOffsetsTopic("orders", [offsets.ListOffsetsPartition(0)]),
            ]
        ),
        "topics",
        "topics",
    ),
    "epochs": (
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        4,
        epochs.OffsetForLeaderEpochRequest(
            topics=[
                epochs.OffsetForLeaderTopic(STATE, [epochs.OffsetForLeaderPartition(0)]),
                epochs.OffsetForLeaderTopic("orders", [epochs.OffsetForLeaderPartition(0)]),
            ]
        ),
        "topics",
        "topics",
    ),
    "records": (
        ApiKey.DELETE_RECORDS,
        2,
        truncation.DeleteRecordsRequest(
            [
                truncation.DeleteRecordsTopic(STATE, [truncation.DeleteRecordsPartition(0, 9)]),
                truncation.DeleteRecordsTopic("orders", [truncation.DeleteRecordsPartition(0, 9)]),
            ]
        ),
        "topics",
        "topics",
    ),
    "topics by name": (
        ApiKey.DELETE_TOPICS,
        5,
        deletion.DeleteTopicsRequest(topic_names=[STATE, "orders"]),
        "topic_names",
        "responses",
    ),
    "topics by id": (
        ApiKey.DELETE_TOPICS,
        6,
        deletion.DeleteTopicsRequest(
            [deletion.DeleteTopicState(None, STATE_ID), deletion.DeleteTopicState("orders")]
        ),
        "topics",
        "responses",
    ),
    "partitions": (
        ApiKey.CREATE_PARTITIONS,
        3,
        creation.CreatePartitionsRequest(
            [creation.CreatePartitionsTopic(STATE, 99), creation.CreatePartitionsTopic("orders", 99)]
        ),
        "topics",
        "results",
    ),
    "new topics": (
        ApiKey.CREATE_TOPICS,
        7,
        making.CreateTopicsRequest([making.CreatableTopic(STATE), making.CreatableTopic("orders")]),
        "topics",
        "topics",
    ),
    "configs": (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        alter.IncrementalAlterConfigsRequest(
            [alter.AlterConfigsResource(2, STATE), alter.AlterConfigsResource(2, "orders")]
        ),
        "resources",
        "responses",
    ),
    "configs of old": (
        ApiKey.ALTER_CONFIGS,
        2,
        legacy.AlterConfigsRequest(
            [legacy.AlterConfigsResource(2, STATE), legacy.AlterConfigsResource(2, "orders")]
        ),
        "resources",
        "responses",
    ),
}


def codes(part: Any) -> list[int]:
    """The error code of an element of an answer, or of its partitions."""
    for name in ("partition_responses", "partitions"):
        if hasattr(part, name):
            return [each.error_code for each in getattr(part, name)]
    return [part.error_code]


@pytest.mark.parametrize("case", BOTH)
def test_a_closed_topic_is_denied_and_the_rest_goes_to_the_broker(case: str) -> None:
    # Given
    api_key, version, message, field, answers = BOTH[case]
    topics, refused = closed()

    # When
    denied = deny_closed_topics(request(api_key, version, message), topics)

    # Then
    assert denied is not None
    assert denied.left is not None
    [left] = denied.left.requests
    assert getattr(left, field) == getattr(message, field)[1:]
    merged = denied.left.merge([type(denied.answer)()])
    [answer] = getattr(merged, answers)
    assert codes(answer) == [DENIED]
    assert refused == [api_key]


@pytest.mark.parametrize("case", BOTH)
def test_what_is_left_when_nothing_else_is_named(case: str) -> None:
    # Given
    api_key, version, message, field, answers = BOTH[case]
    alone = replace(message, **{field: getattr(message, field)[:1]})  # type: ignore[type-var]  # a dataclass
    topics, _ = closed()

    # When
    denied = deny_closed_topics(request(api_key, version, alone), topics)

    # Then: a fetch may be about its session alone
    assert denied is not None
    assert (denied.left is not None) is (api_key == ApiKey.FETCH)
    assert [codes(each) for each in getattr(denied.answer, answers)] == [[DENIED]]


@pytest.mark.parametrize("case", BOTH)
def test_a_request_that_names_no_closed_topic_after_all_goes_on(case: str) -> None:
    api_key, version, message, field, _ = BOTH[case]
    others = replace(message, **{field: getattr(message, field)[1:]})  # type: ignore[type-var]  # a dataclass
    topics, refused = closed()
    assert deny_closed_topics(request(api_key, version, others), topics) is None
    assert not refused


def test_every_api_that_is_looked_into_is_here() -> None:
    assert {api_key for api_key, *_ in BOTH.values()} == TOPIC_KEYS


def test_a_produce_that_wants_no_answer_ends_its_connection() -> None:
    _, _, message, _, _ = BOTH["produce"]
    assert isinstance(message, produce.ProduceRequest)
    with pytest.raises(PeerViolation, match="state_topic: a Produce with acks=0"):
        deny_closed_topics(request(ApiKey.PRODUCE, 9, replace(message, acks=0)), closed()[0])


def test_the_brokers_part_of_an_answer_stays_but_for_addresses() -> None:
    # Given
    _, _, message, _, _ = BOTH["fetch by id"]
    denied = deny_closed_topics(request(ApiKey.FETCH, 17, message), closed()[0])
    assert denied is not None
    assert denied.left is not None
    theirs = FetchResponse(
        session_id=7,
        responses=[FetchableTopicResponse(topic_id=b"o" * 16)],
        node_endpoints=[NodeEndpoint(1, "broker", 9092)],
    )

    # When
    merged = denied.left.merge([theirs])

    # Then
    assert isinstance(merged, FetchResponse)
    assert (merged.session_id, merged.node_endpoints) == (7, [])
    assert [topic.topic_id for topic in merged.responses] == [b"o" * 16, STATE_ID]


def test_an_answer_without_addresses_is_merged_as_well() -> None:
    _, _, message, _, _ = BOTH["offsets"]
    denied = deny_closed_topics(request(ApiKey.LIST_OFFSETS, 7, message), closed()[0])
    assert denied is not None
    assert denied.left is not None
    merged = denied.left.merge([ListOffsetsResponse(topics=[ListOffsetsTopicResponse("orders")])])
    assert isinstance(merged, ListOffsetsResponse)
    assert [topic.name for topic in merged.topics] == ["orders", STATE]


def test_groups_beside_a_closed_topic_are_to_be_asked_for_alone() -> None:
    # Given
    resources = [alter.AlterConfigsResource(2, STATE), alter.AlterConfigsResource(32, "g")]
    message = alter.IncrementalAlterConfigsRequest(resources)

    # When
    denied = deny_closed_topics(request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, message), closed()[0])

    # Then
    assert denied is not None
    assert denied.left is None
    answer: Any = denied.answer
    assert [each.error_code for each in answer.responses] == [DENIED, ErrorCode.INVALID_REQUEST]


def test_configurations_of_what_is_called_alike_and_is_no_topic_are_not_closed() -> None:
    message = alter.IncrementalAlterConfigsRequest([alter.AlterConfigsResource(32, STATE)])
    assert deny_closed_topics(request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, message), closed()[0]) is None


def test_names_and_ids_are_what_is_looked_for() -> None:
    topics, _ = closed()
    assert topics.patterns == (GROUPS.encode(), STATE.encode(), STATE_ID)
    assert topics.may_be_in(memoryview(b"a" + STATE_ID), ApiKey.FETCH, 13)
    assert not topics.may_be_in(b"a" + STATE_ID, ApiKey.FETCH, 12)
    assert topics.may_be_in(STATE.encode(), ApiKey.FETCH, 12)
    assert not topics.may_be_in(STATE.encode(), ApiKey.FETCH, 13)
    assert topics.may_be_in(STATE.encode(), ApiKey.DELETE_TOPICS, 6)
    assert not topics.may_be_in(b"__kproxy_shar", ApiKey.FETCH, 12)
    assert not ClosedTopics().patterns


def test_names_that_begin_alike_are_looked_for_together_and_others_one_by_one() -> None:
    unlike = ClosedTopics(("state", "groups"))
    assert unlike.may_be_in(b"the groups", ApiKey.FETCH, 4)
    assert not unlike.may_be_in(b"the orders", ApiKey.FETCH, 4)
