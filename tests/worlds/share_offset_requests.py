"""Administrators' requests about the offsets of share groups, to a `ShareGroupWorld`."""

from collections.abc import Mapping, Sequence

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.alter_share_group_offsets_response import AlterShareGroupOffsetsResponse
from kproxy.wire.messages.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.delete_share_group_offsets_response import DeleteShareGroupOffsetsResponse
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld

NamedPartitions = Mapping[str, Sequence[int]]
NewOffsets = Mapping[str, Mapping[int, int]]

OFFSETS_OF_NOTHING = (-1, 0, -1, 0)
"""Start offset, leader epoch, lag and error code of what is not there."""


async def describe_all(
    world: ShareGroupWorld, groups: Mapping[str, NamedPartitions | None], *, node_id: int = 1
) -> list[DescribeShareGroupOffsetsResponseGroup]:
    """Describe these partitions of each group; None means all that it has initialized."""
    asked = [
        DescribeShareGroupOffsetsRequestGroup(
            group_id,
            None
            if topics is None
            else [DescribeShareGroupOffsetsRequestTopic(name, list(named)) for name, named in topics.items()],
        )
        for group_id, topics in groups.items()
    ]
    request = DescribeShareGroupOffsetsRequest(groups=asked)
    answer = await world.serve(request, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, node_id=node_id)
    assert isinstance(answer, DescribeShareGroupOffsetsResponse)
    return answer.groups


async def offsets_of(
    world: ShareGroupWorld, topics: NamedPartitions | None = None, *, group_id: str = "g"
) -> dict[tuple[str, int], tuple[int, int, int, int]]:
    """Return start offset, leader epoch, lag and error code of each partition of a group by topic and number."""
    [group] = await describe_all(world, {group_id: topics})
    assert not group.error_code, group
    return {
        (topic.topic_name, each.partition_index): (
            each.start_offset,
            each.leader_epoch,
            each.lag,
            each.error_code,
        )
        for topic in group.topics
        for each in topic.partitions
    }


async def alter(
    world: ShareGroupWorld, offsets: NewOffsets, *, group_id: str = "g", node_id: int = 1
) -> AlterShareGroupOffsetsResponse:
    """Move offsets of a group, by topic and partition."""
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            name, [AlterShareGroupOffsetsRequestPartition(*moved) for moved in moves.items()]
        )
        for name, moves in offsets.items()
    ]
    request = AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics)
    answer = await world.serve(request, ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, node_id=node_id)
    assert isinstance(answer, AlterShareGroupOffsetsResponse)
    return answer


def altered(answer: AlterShareGroupOffsetsResponse) -> dict[tuple[str, int], int]:
    """Return the error code of each partition by topic and number."""
    assert not answer.error_code, answer
    return {
        (topic.topic_name, each.partition_index): each.error_code
        for topic in answer.responses
        for each in topic.partitions
    }


async def delete(
    world: ShareGroupWorld, *names: str, group_id: str = "g", node_id: int = 1
) -> DeleteShareGroupOffsetsResponse:
    """Delete the offsets of topics."""
    topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in names]
    request = DeleteShareGroupOffsetsRequest(group_id=group_id, topics=topics)
    answer = await world.serve(request, ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, node_id=node_id)
    assert isinstance(answer, DeleteShareGroupOffsetsResponse)
    return answer


async def a_group_that_accepted(
    accepted: int, *, produced: int = 10, partition_count: int = 1, world: ShareGroupWorld | None = None
) -> ShareGroupWorld:
    """Group `g` has accepted so many records of partition 0 of `orders`; its only member has left."""
    world = ShareGroupWorld() if world is None else world
    world.metadata.create_topic("orders", ORDERS, partition_count=partition_count)
    for partition in range(partition_count):
        world.log(partition=partition)
    world.configure("share.auto.offset.reset", "earliest")
    world.produce(produced)
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    await alice.open(max_records=produced)
    if accepted:
        await alice.acknowledge({(ORDERS, 0): [(0, accepted - 1, [1])]})
    await alice.acknowledge(epoch=-1)
    await alice.heartbeat(-1)
    return world
