"""Which port a client has to ask, and what it is told when it asks another."""

from collections.abc import Collection

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live.leadership import Leadership, PartitionRefusal
from kproxy.handlers.ports import PartitionLeader
from kproxy.share.identifiers import TopicId, TopicIdPartition
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.worlds.share_group_world import (
    NO_SUCH_TOPIC,
    ORDERS,
    PAYMENTS,
    ShareGroupWorld,
    acquired,
    partitions_of,
)


async def test_a_client_on_the_wrong_port_is_told_who_leads_the_partition() -> None:
    # Given
    world = ShareGroupWorld(node_ids=(1, 2))
    world.metadata.move_leader(ORDERS, 0, PartitionLeader(leader_id=2, leader_epoch=7))
    await world.initialize()

    # When
    answer = await world.member(node_id=1).fetch(add=[(ORDERS, 0)])

    # Then
    data = partitions_of(answer)[ORDERS, 0]
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 7)
    assert [(point.node_id, point.host, point.port) for point in answer.node_endpoints] == [
        (2, "127.0.0.1", 19094)
    ]
    assert world.state_log.loads == []


async def test_the_bootstrap_port_serves_every_partition() -> None:
    # Given
    world = ShareGroupWorld(node_ids=(1, 2))
    world.metadata.move_leader(ORDERS, 0, PartitionLeader(leader_id=2, leader_epoch=7))
    await world.initialize()
    world.produce(3)

    # When
    answer = await world.member(node_id=-1).fetch(add=[(ORDERS, 0)])

    # Then
    assert acquired(answer) == [(0, 2, 1)]


async def test_a_partition_that_does_not_exist_does_not_spoil_the_others() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(3)

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0), (ORDERS, 5), (NO_SUCH_TOPIC, 0), (PAYMENTS, 0)])

    # Then
    assert acquired(answer) == [(0, 2, 1)]
    codes = {key: data.error_code for key, data in partitions_of(answer).items()}
    assert codes == {
        (ORDERS, 0): ErrorCode.NONE,
        (ORDERS, 5): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (NO_SUCH_TOPIC, 0): ErrorCode.UNKNOWN_TOPIC_ID,
        (PAYMENTS, 0): ErrorCode.UNKNOWN_TOPIC_ID,
    }


async def test_a_partition_that_seems_to_be_led_elsewhere_is_looked_up_once_more() -> None:
    """The client may have heard of a new leader before kproxy did."""

    # Given
    class MovingMetadata(InMemoryClusterMetadata):
        async def confirm(self, topic_ids: Collection[TopicId], *, not_older_than_ms: int) -> None:
            await super().confirm(topic_ids, not_older_than_ms=not_older_than_ms)
            self.move_leader(ORDERS, 0, PartitionLeader(leader_id=1, leader_epoch=8))

    metadata = MovingMetadata(node_ids=(1, 2))
    metadata.create_topic("orders", ORDERS)
    metadata.move_leader(ORDERS, 0, PartitionLeader(leader_id=2, leader_epoch=7))

    # When
    refusals = await Leadership(metadata).refusals([TopicIdPartition(ORDERS, 0)], node_id=1)

    # Then
    assert refusals == {}
    assert metadata.confirmed == [{ORDERS}]


async def test_partitions_that_are_served_here_are_not_looked_up_again() -> None:
    # Given
    metadata = InMemoryClusterMetadata(node_ids=(1, 2))
    metadata.create_topic("orders", ORDERS)

    # When
    refusals = await Leadership(metadata).refusals([TopicIdPartition(ORDERS, 0)], node_id=1)

    # Then
    assert refusals == {}
    assert metadata.confirmed == []


async def test_a_partition_without_a_leader_is_nobodys_to_serve() -> None:
    # Given
    metadata = InMemoryClusterMetadata()
    metadata.create_topic("orders", ORDERS)
    metadata.move_leader(ORDERS, 0, PartitionLeader(leader_id=-1, leader_epoch=3))
    partition = TopicIdPartition(ORDERS, 0)

    # When
    refusals = await Leadership(metadata).refusals([partition], node_id=1)

    # Then
    refusal = PartitionRefusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the partition has no leader")
    assert refusals == {partition: refusal}


async def test_a_partition_whose_leader_is_not_known_yet_is_nobodys_to_serve() -> None:
    # Given
    metadata = InMemoryClusterMetadata()
    metadata.create_topic("orders", ORDERS)
    metadata._leaders.clear()
    partition = TopicIdPartition(ORDERS, 0)

    # When
    refusals = await Leadership(metadata).refusals([partition], node_id=1)

    # Then
    assert refusals[partition].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_while_the_cluster_cannot_be_asked_an_unknown_topic_may_be_led_elsewhere() -> None:
    # Given
    metadata = InMemoryClusterMetadata()
    metadata.is_unavailable = True
    partition = TopicIdPartition(NO_SUCH_TOPIC, 0)
    leadership = Leadership(metadata)

    # When
    refusals = await leadership.refusals([partition], node_id=1)

    # Then
    assert refusals[partition].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert await leadership.unknown_partitions([partition]) == {}
    assert leadership.leader_for(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER) == PartitionLeader(-1, -1)


def test_only_errors_about_leaders_name_one() -> None:
    # Given
    metadata = InMemoryClusterMetadata(node_ids=(1, 2, 3))
    metadata.create_topic("orders", ORDERS)
    leadership = Leadership(metadata)
    partition = TopicIdPartition(ORDERS, 0)

    # When
    named = {code for code in ErrorCode if leadership.leader_for(partition, code) is not None}

    # Then
    assert named == {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH}


def test_the_address_of_each_leader_is_told_once_and_unknown_ones_are_left_out() -> None:
    # Given
    leadership = Leadership(InMemoryClusterMetadata(node_ids=(3, 1)))
    leaders = [PartitionLeader(node_id, 0) for node_id in (3, 1, 3, -1, 9)]

    # When
    endpoints = leadership.endpoints_of(leaders)

    # Then
    assert [endpoint.node_id for endpoint in endpoints] == [1, 3]
