"""The ends of many logs by one question to each leader."""

from collections.abc import Callable

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.reading.log_ends import LogEnds
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.list_offsets_request import ListOffsetsRequest
from kproxy.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing

NEW_ORDERS = TopicId(b"topic-id-orders2")
FIRST, SECOND, THIRD = (TopicIdPartition(ORDERS, partition) for partition in range(3))


def log_ends(backing: Backing) -> LogEnds:
    return LogEnds(metadata=backing.metadata, connections=backing.connections.survey())


async def learned(backing: Backing) -> LogEnds:
    await backing.metadata.topics_named({"orders"})
    return log_ends(backing)


async def test_each_leader_is_asked_once_for_all_of_its_partitions_with_their_epochs() -> None:
    # Given
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=3)
        cluster.lead(ORDERS, 2, 1)
        await cluster.append(ORDERS, 2, [b"a", b"b"])
        ends = await learned(backing)

        # When
        await ends.find([FIRST, SECOND, THIRD])

        # Then
        assert ends.ends == {FIRST: 0, SECOND: 0, THIRD: 2}
        assert ends.reasons == {}
        (asked,) = [request.message for request in cluster.brokers[1].asked(ApiKey.LIST_OFFSETS)]
        assert isinstance(asked, ListOffsetsRequest)
        assert (asked.replica_id, asked.isolation_level) == (-1, 0)
        assert [
            (each.partition_index, each.current_leader_epoch, each.timestamp)
            for each in asked.topics[0].partitions
        ] == [(0, 0, -1), (2, 1, -1)]


async def test_a_leader_that_moved_is_looked_up_anew() -> None:
    # Given
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await cluster.append(ORDERS, 0, [b"a"])
        ends = await learned(backing)
        cluster.lead(ORDERS, 0, 2)
        cluster.brokers[1].answers[ApiKey.LIST_OFFSETS] = disowning

        # When
        await ends.find([FIRST])

        # Then
        assert (ends.ends, ends.reasons, ends.codes) == ({FIRST: 1}, {}, {})


def disowning(request: DecodedRequest) -> ListOffsetsResponse:
    """Answer as a broker that leads nothing."""
    message = request.message
    assert isinstance(message, ListOffsetsRequest)
    refused = [
        ListOffsetsPartitionResponse(
            partition_index=asked.partition_index, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER
        )
        for asked in message.topics[0].partitions
    ]
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=refused)])


async def test_what_a_leader_refuses_has_its_reason_and_the_others_have_their_ends() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=2)
        cluster.refuse(ORDERS, 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        ends = await learned(backing)

        # When
        await ends.find([FIRST, SECOND])

        # Then
        address = cluster.brokers[1].address
        assert ends.ends == {SECOND: 0}
        assert ends.reasons == {FIRST: f"{address} answered ListOffsets with TOPIC_AUTHORIZATION_FAILED"}
        assert ends.codes == {FIRST: ErrorCode.TOPIC_AUTHORIZATION_FAILED}


async def test_a_partition_that_nobody_leads_has_a_reason() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        ends = await learned(backing)

        # When
        await ends.find([THIRD])

        # Then
        assert (ends.ends, ends.reasons) == ({}, {THIRD: "no leader is known of orders-2"})
        assert ends.codes == {THIRD: ErrorCode.LEADER_NOT_AVAILABLE}


def behind_the_first_answer(cluster: ScriptedCluster, happens: Callable[[], None]) -> None:
    """Let something happen in the cluster when broker 1 has answered its first ListOffsets."""
    broker = cluster.brokers[1]
    honest = broker.answers[ApiKey.LIST_OFFSETS]

    def answer(request: DecodedRequest) -> ListOffsetsResponse:
        reply = honest(request)
        assert isinstance(reply, ListOffsetsResponse)
        if len(broker.asked(ApiKey.LIST_OFFSETS)) == 1:
            happens()
        return reply

    broker.answers[ApiKey.LIST_OFFSETS] = answer


async def test_a_topic_created_anew_between_two_parts_is_not_taken_for_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kproxy.net.reading.log_ends.NAME_TRUSTED_FOR_MS", 0)

    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=300)
        ends = await learned(backing)
        behind_the_first_answer(
            cluster, lambda: cluster.create_topic("orders", NEW_ORDERS, partition_count=300)
        )

        # When
        await ends.find([TopicIdPartition(ORDERS, partition) for partition in range(300)])

        # Then
        assert sorted(each.partition for each in ends.ends) == list(range(250))
        assert set(ends.codes.values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert len(cluster.asked(ApiKey.LIST_OFFSETS)) == 1


async def test_a_partition_that_moved_between_two_parts_is_asked_of_its_new_leader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kproxy.net.reading.log_ends.NAME_TRUSTED_FOR_MS", 0)

    # Given
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=600)
        ends = await learned(backing)
        of_the_first = [TopicIdPartition(ORDERS, partition) for partition in range(0, 600, 2)]
        behind_the_first_answer(cluster, lambda: cluster.lead(ORDERS, 598, 2))

        # When
        await ends.find(of_the_first)

        # Then
        assert ends.ends == dict.fromkeys(of_the_first, 0)
        (asked,) = [request.message for request in cluster.brokers[2].asked(ApiKey.LIST_OFFSETS)]
        assert isinstance(asked, ListOffsetsRequest)
        assert [each.partition_index for each in asked.topics[0].partitions] == [598]


async def test_what_was_not_found_is_not_asked_for_with_the_next() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=2)
        cluster.refuse(ORDERS, 0, ErrorCode.KAFKA_STORAGE_ERROR)
        ends = await learned(backing)
        await ends.find([FIRST])

        # When
        await ends.find([SECOND])

        # Then
        assert ends.ends == {SECOND: 0}
        assert len(cluster.asked(ApiKey.LIST_OFFSETS)) == 3
