"""ShareFetch while slots of the state log are loaded, lost, or away: the others go on."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    StateLogUnavailable,
)
from kproxy.handlers.readiness import AlwaysReady, StateNeed
from tests.worlds.share_group_world import (
    ORDERS,
    ShareGroupWorld,
    acquired,
    loaded,
    partitions_of,
)
from tests.worlds.waiting import until_all_wait


async def test_a_partition_that_cannot_be_loaded_yet_is_left_out_and_the_others_are_fetched() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    loading, ready = [await world.initialize(partition=partition) for partition in (0, 1)]
    world.state_log.refusals[loading] = CoordinatorLoadInProgress("replaying")
    world.produce(3, partition=0)
    world.produce(3, partition=1)

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0), (ORDERS, 1)])

    # Then
    assert acquired(answer, partition=1) == [(0, 2, 1)]
    assert (ORDERS, 0) not in partitions_of(answer)
    assert world.state_log.loads.count(ready) == 1


async def test_fetches_that_wait_for_a_slot_are_answered_as_soon_as_it_is_loaded() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    key = await world.initialize()
    world.produce(3)
    world.group_log.unreadiness = CoordinatorLoadInProgress("replaying")
    members = [world.member(name) for name in ("alice", "bob")]

    # When
    async with asyncio.TaskGroup() as tasks:
        fetches = [tasks.create_task(member.fetch(add=[(ORDERS, 0)], max_records=2)) for member in members]
        await until_all_wait()
        were_done = [fetch.done() for fetch in fetches]
        world.group_log.unreadiness = None
        world.groups.discard_live([key.group_id])
        await until_all_wait(100)
        world.clock.advance(500)

    # Then
    assert were_done == [False, False]
    assert sorted(acquired(fetch.result()) for fetch in fetches) == [[], [(0, 2, 1)]]


async def test_while_its_group_is_loading_nothing_is_begun() -> None:
    """Where a share-partition begins depends on what the group has configured."""
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    world.group_log.unreadiness = CoordinatorLoadInProgress("replaying")

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0)], max_wait_ms=0)

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert partitions_of(answer) == {}
    assert world.groups.share_partition_count == 0


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (NotCoordinator("moved"), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (CoordinatorNotAvailable("no state topics"), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
    ids=["moved", "away"],
)
async def test_a_partition_whose_slot_is_not_here_is_refused(refusal: ApiError, told: ErrorCode) -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.group_log.unreadiness = refusal

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0)])

    # Then
    assert partitions_of(answer)[ORDERS, 0].error_code == told


async def test_a_share_partition_begins_where_its_group_that_was_waited_for_has_configured() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    key = await world.initialize(start_offset=-1)
    world.produce(3)
    world.group_log.unreadiness = CoordinatorLoadInProgress("replaying")

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(world.member().fetch(add=[(ORDERS, 0)]))
        await until_all_wait()
        was_done = fetch.done()
        configs = {"g": {"share.auto.offset.reset": "earliest"}}
        world.groups.restore_groups([], configs)
        world.group_log.unreadiness = None
        world.groups.discard_live([key.group_id])
        await until_all_wait()
        world.clock.advance(500)

    # Then
    assert not was_done
    assert acquired(fetch.result()) == [(0, 2, 1)]


async def test_a_slot_that_is_lost_while_a_share_partition_is_loaded_leaves_nothing_live() -> None:
    # Given
    world = ShareGroupWorld()
    key = await world.initialize()
    world.state_log.hold_loads = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(world.member().fetch(add=[(ORDERS, 0)]))
        await until_all_wait(3)
        world.group_log.unreadiness = NotCoordinator("moved")
        world.groups.discard_live([key.group_id])
        world.state_log.hold_loads.set()

    # Then
    assert partitions_of(fetch.result())[ORDERS, 0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.groups.share_partition_count == 0


# ---------------------------------------------------- cold share-partitions


async def world_of_three(*, passes_time: bool = True) -> ShareGroupWorld:
    """Return a world with three share-partitions, none of which is in memory."""
    world = ShareGroupWorld(passes_time=passes_time)
    world.metadata.create_topic("orders", ORDERS, partition_count=3)
    for partition in range(3):
        await world.initialize(partition=partition)
    return world


async def test_cold_partitions_of_one_fetch_are_loaded_side_by_side() -> None:
    # Given
    world = await world_of_three(passes_time=False)
    world.state_log.hold_loads = asyncio.Event()
    partitions = [(ORDERS, partition) for partition in range(3)]

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(world.member().fetch(add=partitions))
        await until_all_wait()
        begun = list(world.state_log.loads)
        world.state_log.hold_loads.set()
        await until_all_wait(100)
        world.clock.advance(500)

    # Then
    assert begun == [world.key(partition=partition) for partition in range(3)]
    assert fetch.result().error_code == ErrorCode.NONE
    assert {read.partition for read in world.reader.reads} == {0, 1, 2}


async def test_one_cold_partition_that_cannot_be_loaded_does_not_spoil_the_others() -> None:
    # Given
    world = await world_of_three()
    world.produce(3, partition=2)
    world.state_log.refusals[world.key(partition=1)] = StateLogUnavailable("no quorum")

    # When
    answer = await world.member().fetch(add=[(ORDERS, partition) for partition in range(3)])

    # Then
    codes = {index: entry.error_code for (_, index), entry in partitions_of(answer).items()}
    assert codes[1] == ErrorCode.KAFKA_STORAGE_ERROR
    assert codes[2] == ErrorCode.NONE


async def test_the_first_answer_has_the_records_of_what_is_loaded_and_does_not_wait_for_the_rest() -> None:
    """`DelayedShareFetch` answers when what is there satisfies MinBytes; the other loads go on."""
    # Given
    world = await world_of_three(passes_time=False)
    world.produce(5)
    world.produce(5, partition=1)
    alice = world.member()
    await alice.open((ORDERS, 0))
    await loaded(world.groups.directory, world.key())
    world.state_log.hold_loads = asyncio.Event()

    # When
    first = await alice.fetch(add=[(ORDERS, 1)])
    world.state_log.hold_loads.set()
    await until_all_wait()
    second = await alice.fetch(max_wait_ms=0)

    # Then
    assert acquired(first) == [(0, 4, 1)]
    assert acquired(second, partition=1) == [(0, 4, 1)]
    assert world.state_log.loads == [world.key(), world.key(partition=1)]


async def test_a_load_that_hangs_holds_no_answer_past_max_wait() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.state_log.hold_loads = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(world.member().fetch(add=[(ORDERS, 0)], max_wait_ms=500))
        await until_all_wait()
        world.clock.advance(500)
        await until_all_wait()
        was_done = fetch.done()
        world.state_log.hold_loads.set()

    # Then
    assert was_done
    assert fetch.result().error_code == ErrorCode.NONE


async def test_a_load_that_ends_after_the_last_session_left_makes_nothing_live() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.state_log.hold_loads = asyncio.Event()
    alice = world.member()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(add=[(ORDERS, 0)], max_wait_ms=500))
        await until_all_wait()
        await alice.disconnect()
        world.state_log.hold_loads.set()
        await until_all_wait()

    # Then
    assert world.groups.share_partition_count == 0


async def test_what_a_fetch_waited_for_the_state_log_is_taken_off_its_wait_for_records() -> None:
    # Given
    class SlowReadiness(AlwaysReady):
        async def wait(self, need: StateNeed, connection_id: int) -> int:
            del need, connection_id
            world.clock.advance(300)
            return 300

    world = ShareGroupWorld()
    await world.initialize()
    world.groups = world.new_process(readiness=SlowReadiness())
    began_ms = world.clock.now_ms()

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0)], max_wait_ms=500)

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert world.clock.now_ms() - began_ms == 500
