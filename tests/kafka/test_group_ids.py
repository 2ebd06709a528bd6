"""One name, one kind of group: what is a consumer group cannot become a share group, nor the other way round."""

from collections.abc import Mapping, Sequence
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kproxy.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kproxy.wire.messages.join_group_response import JoinGroupResponse
from kproxy.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kproxy.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.real_kafka.administration import unique_name
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    NATIVE,
    EndpointsOfSession,
    ShareEndpoint,
)

HEARTBEAT_VERSION: Final = 1
LEAVING: Final = -1
CLIENT_SECONDS: Final = 30.0
EVERYWHERE: Final = [NATIVE, KPROXY_REFERENCE, KPROXY_WITHOUT_SHARE_GROUPS, KPROXY_OLDEST]
WHERE_CONSUMER_GROUPS_ARE_NEW: Final = [NATIVE, KPROXY_REFERENCE]
"""Brokers with ConsumerGroupHeartbeat (KIP-848)."""


@pytest.mark.parametrize("behind", EVERYWHERE)
def test_the_id_of_a_consumer_group_is_refused_to_share_consumers(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), unique_name("consumers")
    commit(endpoint.bootstrap_servers, group=group, topic=topic)

    # When
    errors = {name: join(endpoint.bootstrap_servers, name, topic) for name in (group, unique_name("free"))}

    # Then
    assert list(errors.values()) == [ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NONE]


@pytest.mark.parametrize("behind", EVERYWHERE)
def test_the_id_of_a_share_group_is_refused_to_consumers(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic = endpoint.new_topic()
    group = share_group(endpoint, topic)

    # When
    told = [consume(endpoint.bootstrap_servers, name, topic) for name in (group, unique_name("free"))]

    # Then
    refused = [KafkaError.INCONSISTENT_GROUP_PROTOCOL, KafkaError.GROUP_ID_NOT_FOUND]
    assert told == [refused, [KafkaError._PARTITION_EOF, None]]


@pytest.mark.parametrize("behind", WHERE_CONSUMER_GROUPS_ARE_NEW)
def test_the_id_of_a_share_group_is_refused_to_consumers_of_the_newer_protocol(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic = endpoint.new_topic()
    group = share_group(endpoint, topic)

    # When
    told = consume(endpoint.bootstrap_servers, group, topic, {"group.protocol": "consumer"})

    # Then
    assert told == [KafkaError._FATAL, KafkaError._FATAL]


@pytest.mark.parametrize("behind", EVERYWHERE)
def test_a_transaction_does_not_commit_offsets_for_a_share_group(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic = endpoint.new_topic()
    group = share_group(endpoint, topic)

    # When
    told = [commit_in_transaction(endpoint, name, topic) for name in (group, unique_name("free"))]

    # Then
    assert told == [KafkaError.GROUP_ID_NOT_FOUND, None]


@pytest.mark.parametrize("behind", [NATIVE, KPROXY_REFERENCE])
def test_every_version_of_every_refusal_is_that_of_a_stock_broker_whether_the_group_has_members_or_not(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic = endpoint.new_topic()
    groups = [share_group(endpoint, topic), left_share_group(endpoint, topic)]

    # When
    answers = [
        (api_key, version, answer(endpoint, api_key, version, request))
        for group in groups
        for api_key, versions, request in writing_requests(group, topic)
        for version in versions
    ]

    # Then
    assert answers == [
        (api_key, version, refusal(topic))
        for _ in groups
        for api_key, versions, refusal in REFUSALS
        for version in versions
    ]


@pytest.mark.parametrize("behind", [NATIVE, KPROXY_REFERENCE])
def test_whoever_asks_about_a_share_group_as_about_a_consumer_group_finds_nothing(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    """Nothing is refused here: a broker answers this about its share groups and about ids that it does not know."""
    # Given
    endpoint = share_endpoint(behind)
    topic = endpoint.new_topic()
    group = share_group(endpoint, topic)

    # When
    committed = committed_offsets(endpoint.bootstrap_servers, group, topic)

    # Then
    assert committed == [None]


def join_group(_topic: str) -> Message:
    return JoinGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def offset_commit(topic: str) -> Message:
    partition = OffsetCommitResponsePartition(0, ErrorCode.GROUP_ID_NOT_FOUND)
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name=topic, partitions=[partition])])


def consumer_group_heartbeat(_topic: str) -> Message:
    return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)


JOIN_VERSIONS: Final = range(10)
COMMIT_VERSIONS: Final = range(2, 10)
"""Version 10 names topics by id."""
HEARTBEAT_VERSIONS: Final = range(2)
REFUSALS: Final = [
    (ApiKey.JOIN_GROUP, JOIN_VERSIONS, join_group),
    (ApiKey.OFFSET_COMMIT, COMMIT_VERSIONS, offset_commit),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, HEARTBEAT_VERSIONS, consumer_group_heartbeat),
]


def writing_requests(group: str, topic: str) -> Sequence[tuple[int, range, Message]]:
    """What a consumer sends that joins `group`, or writes to it."""
    protocols = [JoinGroupRequestProtocol("range", bytes(10))]
    partition = OffsetCommitRequestPartition(committed_offset=5)
    return [
        (
            ApiKey.JOIN_GROUP,
            JOIN_VERSIONS,
            JoinGroupRequest(
                group_id=group, session_timeout_ms=10_000, protocol_type="consumer", protocols=protocols
            ),
        ),
        (
            ApiKey.OFFSET_COMMIT,
            COMMIT_VERSIONS,
            OffsetCommitRequest(
                group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])]
            ),
        ),
        (
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
            HEARTBEAT_VERSIONS,
            ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id="raw-consumer",
                rebalance_timeout_ms=10_000,
                subscribed_topic_names=[topic],
                topic_partitions=[],
            ),
        ),
    ]


def answer(endpoint: ShareEndpoint, api_key: int, version: int, request: Message) -> Message:
    """The answer to one request on a connection of its own, without what nobody looks at beside an error code."""
    with RawConnection(endpoint.bootstrap_servers) as connection:
        response = connection.ask(api_key, version, request, Message)
    if isinstance(response, JoinGroupResponse):
        response.protocol_name = response.protocol_name or ""
    if isinstance(response, ConsumerGroupHeartbeatResponse):
        assert response.error_message
        response.error_message = None
    return response


def share_group(endpoint: ShareEndpoint, topic: str) -> str:
    """A new share group with a member."""
    # A cluster makes its group coordinators when somebody first looks for one.
    commit(endpoint.bootstrap_servers, group=unique_name("first"), topic=topic)
    group = unique_name("sharers")
    assert join(endpoint.bootstrap_servers, group, topic) == ErrorCode.NONE
    return group


def left_share_group(endpoint: ShareEndpoint, topic: str) -> str:
    """A new share group whose member has left."""
    group = share_group(endpoint, topic)
    assert heartbeat(endpoint.bootstrap_servers, group, member_epoch=LEAVING) == ErrorCode.NONE
    return group


def consume(
    bootstrap_servers: str, group: str, topic: str, settings: Mapping[str, str] | None = None
) -> list[int | None]:
    """What a consumer is told first when it polls, and when it commits: error codes, None for success."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            **(settings or {}),
        }
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(CLIENT_SECONDS)
        error = None if message is None else message.error()
        return [None if error is None else error.code(), commit_error(consumer, topic)]
    finally:
        consumer.close()


def commit_error(consumer: Consumer, topic: str) -> int | None:
    """The error that committing offset 0 of the first partition fails with."""
    try:
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    except KafkaException as failure:
        return int(failure.args[0].code())
    return None


def commit_in_transaction(endpoint: ShareEndpoint, group: str, topic: str) -> int | None:
    """The error that a transaction fails with that wants to commit an offset of `group`."""
    producer = Producer(
        {"bootstrap.servers": endpoint.bootstrap_servers, "transactional.id": unique_name("transaction")}
    )
    consumer = Consumer({"bootstrap.servers": endpoint.bootstrap_servers, "group.id": group})
    try:
        producer.init_transactions(CLIENT_SECONDS)
        producer.begin_transaction()
        producer.send_offsets_to_transaction(
            [TopicPartition(topic, 0, 0)], consumer.consumer_group_metadata(), CLIENT_SECONDS
        )
        producer.commit_transaction(CLIENT_SECONDS)
    except KafkaException as failure:
        producer.abort_transaction(CLIENT_SECONDS)
        return int(failure.args[0].code())
    finally:
        consumer.close()
    return None


def committed_offsets(bootstrap_servers: str, group: str, topic: str) -> list[int | None]:
    """The offset of the first partition that `group` committed."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": group})
    try:
        found = consumer.committed([TopicPartition(topic, 0)], timeout=CLIENT_SECONDS)
    finally:
        consumer.close()
    return [None if partition.offset < 0 else partition.offset for partition in found]


def commit(bootstrap_servers: str, *, group: str, topic: str) -> None:
    """Make `group` a group of plain consumers."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()


def join(address: str, group: str, topic: str) -> int:
    """The error code that a share consumer is answered with."""
    return heartbeat(address, group, member_epoch=0, topics=[topic])


def heartbeat(address: str, group: str, *, member_epoch: int, topics: list[str] | None = None) -> int:
    """The error code that a member of a share group is answered with."""
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id="raw-member", member_epoch=member_epoch, subscribed_topic_names=topics
    )
    with RawConnection(address) as connection:
        response = connection.ask(
            ApiKey.SHARE_GROUP_HEARTBEAT, HEARTBEAT_VERSION, request, ShareGroupHeartbeatResponse
        )
    return response.error_code
