"""Fetches under way when their slot goes to another process."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.errors import NotCoordinator
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, partitions_of
from tests.worlds.waiting import until_all_wait


async def test_records_are_not_delivered_once_another_process_may_deliver_them_but_acknowledgements_count() -> (
    None
):
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.produce(5)
    alice = world.member()
    await alice.open(max_records=5)
    world.produce(5)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(acks={(ORDERS, 0): [(0, 4, [1])]}))
        await until_all_wait()
        world.group_log.unreadiness = NotCoordinator("its lease has ended")
        world.state_log.hold_writes.set()

    # Then
    [told] = partitions_of(fetch.result()).values()
    assert (told.error_code, told.records, told.acquired_records) == (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        b"",
        [],
    )
    assert told.acknowledge_error_code == ErrorCode.NONE
