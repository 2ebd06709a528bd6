"""Heartbeats with long answers: what of them one turn of the loop has."""

import asyncio

import pytest

from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld, assigned
from tests.worlds.waiting import most_in_a_turn


async def members_of_groups(world: ShareGroupWorld, *, partition_count: int) -> list[Member]:
    """Members who have all partitions of a topic, each in a group of its own."""
    world.metadata.create_topic("orders", ORDERS, partition_count=partition_count)
    members = [world.member(f"member-{number}", group_id=f"g{number}") for number in range(4)]
    for member in members:
        await member.heartbeat(0, ["orders"])
    return members


@pytest.mark.parametrize(("partition_count", "most"), [(600, 1), (2, 4)])
async def test_of_long_answers_that_wait_for_one_write_one_is_made_in_a_turn_and_short_ones_at_once(
    partition_count: int, most: int
) -> None:
    # Given
    world = ShareGroupWorld()
    members = await members_of_groups(world, partition_count=partition_count)
    world.group_log.hold_writes = asyncio.Event()

    async def subscribe_anew(member: Member) -> None:
        answer = await member.heartbeat(1, ["orders", "payments"])
        assert assigned(answer) == {ORDERS: list(range(partition_count))}

    # When
    answered = await most_in_a_turn(map(subscribe_anew, members), world.group_log.hold_writes.set)

    # Then
    assert answered == most
