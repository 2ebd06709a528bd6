import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kproxy.net.reading.offset_lookup import OffsetLookup
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.list_offsets_request import ListOffsetsRequest
from kproxy.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, PAYMENTS, Backing


def lookup(backing: Backing) -> OffsetLookup:
    return OffsetLookup(metadata=backing.metadata, connections=backing.connections, is_in_line=True)


async def test_the_leader_is_asked_as_a_consumer_would_with_the_leader_epoch() -> None:
    # Given
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=2)
        cluster.lead(ORDERS, 1, 2)

        # When
        offset = await lookup(backing).find(ORDERS, 1, LATEST_TIMESTAMP)

        # Then
        assert offset == 0
        asked = cluster.brokers[2].asked(ApiKey.LIST_OFFSETS)[0].message
        assert isinstance(asked, ListOffsetsRequest)
        assert (asked.replica_id, asked.isolation_level) == (-1, 0)
        partition = asked.topics[0].partitions[0]
        assert (partition.partition_index, partition.current_leader_epoch, partition.timestamp) == (
            1,
            1,
            -1,
        )


@pytest.mark.parametrize(("timestamp", "offset"), [(1000, 0), (1001, 1), (2000, 1), (2001, 2)])
async def test_when_no_record_is_that_young_it_is_the_high_watermark(timestamp: int, offset: int) -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await cluster.append(ORDERS, 0, [b"a"], timestamp_ms=1000)
        await cluster.append(ORDERS, 0, [b"b"], timestamp_ms=2000)
        assert await lookup(backing).find(ORDERS, 0, timestamp) == offset


async def test_a_leader_that_disowns_the_partition_is_looked_up_anew_once() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await cluster.append(ORDERS, 0, [b"a"])
        refusals = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        honest = cluster.brokers[1].answers[ApiKey.LIST_OFFSETS]

        def once_wrong(request: object) -> object:
            cluster.refuse(ORDERS, 0, refusals.pop() if refusals else ErrorCode.NONE)
            answer = honest(request)  # type: ignore[arg-type]  # passed on as it came
            cluster.refuse(ORDERS, 0, ErrorCode.NONE)
            return answer

        cluster.brokers[1].answers[ApiKey.LIST_OFFSETS] = once_wrong  # type: ignore[assignment]  # likewise

        # When
        offset = await lookup(backing).find(ORDERS, 0, LATEST_TIMESTAMP)

        # Then
        assert offset == 1
        assert len(cluster.asked(ApiKey.LIST_OFFSETS)) == 2


async def test_a_leader_that_cannot_say_is_unavailable_with_the_reason() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        cluster.refuse(ORDERS, 0, ErrorCode.OFFSET_NOT_AVAILABLE)

        # When
        with pytest.raises(BrokerUnavailable) as failure:
            await lookup(backing).find(ORDERS, 0, EARLIEST_TIMESTAMP)

        # Then
        where = f"the log of orders-0 at {cluster.brokers[1].address}"
        assert str(failure.value) == f"Fetch of {where}: OFFSET_NOT_AVAILABLE (78)"


async def test_a_leader_that_says_no_offset_is_unavailable_with_the_reason() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        refused = ListOffsetsPartitionResponse(error_code=ErrorCode.OFFSET_NOT_AVAILABLE)
        answer = ListOffsetsResponse(topics=[ListOffsetsTopicResponse("orders", [refused])])
        cluster.brokers[1].answers[ApiKey.LIST_OFFSETS] = lambda _: answer

        # When
        with pytest.raises(BrokerUnavailable) as failure:
            await lookup(backing).find(ORDERS, 0, EARLIEST_TIMESTAMP)

        # Then
        where = f"partition 0 of 'orders' at {cluster.brokers[1].address}"
        assert str(failure.value) == f"ListOffsets of {where}: OFFSET_NOT_AVAILABLE (78)"


async def test_an_answer_to_another_question_is_no_answer() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        cluster.brokers[1].answers[ApiKey.LIST_OFFSETS] = lambda _: ListOffsetsResponse()

        # When / Then
        with pytest.raises(BrokerUnavailable, match="0 answers to one question"):
            await lookup(backing).find(ORDERS, 0, EARLIEST_TIMESTAMP)


async def test_a_topic_that_does_not_exist_has_no_offsets() -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        with pytest.raises(BrokerUnavailable, match=f"topic id {PAYMENTS.hex()}"):
            await lookup(backing).find(PAYMENTS, 0, EARLIEST_TIMESTAMP)


async def test_a_name_that_now_means_another_topic_is_not_asked_about() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await lookup(backing).find(ORDERS, 0, LATEST_TIMESTAMP)
        cluster.create_topic("orders", TopicId(b"topic-id-orders2"))
        await backing.metadata.refresh()

        # When
        with pytest.raises(BrokerUnavailable):
            await lookup(backing).find(ORDERS, 0, LATEST_TIMESTAMP)

        # Then
        assert len(cluster.asked(ApiKey.LIST_OFFSETS)) == 1


@pytest.mark.parametrize("error_code", [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID])
async def test_a_leader_that_has_the_log_of_another_topic_under_that_name_is_not_asked(
    error_code: ErrorCode,
) -> None:
    """It is behind: the topic was deleted and created anew, and both logs have the same name and leader epoch."""
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        cluster.refuse_reads(TopicIdPartition(ORDERS, 0), error_code)

        # When
        with pytest.raises(BrokerUnavailable) as failure:
            await lookup(backing).find(ORDERS, 0, LATEST_TIMESTAMP)

        # Then
        assert error_code.name in str(failure.value)
        assert cluster.asked(ApiKey.LIST_OFFSETS) == []


async def test_brokers_that_know_topics_by_name_alone_are_not_asked_for_their_id() -> None:
    """Before Kafka 3.1."""
    async with (
        ScriptedCluster(fetch_versions=(4, 12)) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        cluster.create_topic("orders", ORDERS)

        offset = await lookup(backing).find(ORDERS, 0, LATEST_TIMESTAMP)

        assert offset == 0
        assert cluster.asked(ApiKey.FETCH) == []
