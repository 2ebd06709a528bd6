"""Failed reads let a fetch ask who leads the partitions now."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import PartitionLeader
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, partitions_of, world_with_orders
from tests.worlds.waiting import until_all_wait

FIRST, SECOND = (ORDERS, 0), (ORDERS, 1)


async def a_world_whose_second_partition_has_moved() -> ShareGroupWorld:
    """Return one whose brokers do not answer yet who leads what."""
    world = await world_with_orders(partition_count=2, passes_time=False)
    world.reader.fail(ORDERS, 1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    world.metadata.may_confirm.clear()
    return world


async def test_records_are_delivered_before_anything_is_heard_of_the_leader_of_another_partition() -> None:
    # Given
    world = await a_world_whose_second_partition_has_moved()
    alice = world.member()
    await alice.open(FIRST, SECOND)
    world.produce(3, partition=0)

    # When
    answer = await asyncio.wait_for(alice.fetch(), 5)
    await until_all_wait()

    # Then
    assert partitions_of(answer)[FIRST].acquired_records
    assert partitions_of(answer)[SECOND].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.metadata.confirmed == [{ORDERS}]
    world.metadata.may_confirm.set()


async def test_a_fetch_without_records_waits_until_it_can_name_the_new_leader() -> None:
    # Given
    world = await a_world_whose_second_partition_has_moved()
    alice = world.member()
    await alice.open(FIRST, SECOND)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch())
        await until_all_wait()
        has_waited = not fetch.done()
        world.metadata.move_leader(ORDERS, 1, PartitionLeader(2, 1))
        world.metadata.may_confirm.set()

    # Then
    assert has_waited
    assert partitions_of(fetch.result())[SECOND].current_leader.leader_epoch == 1
