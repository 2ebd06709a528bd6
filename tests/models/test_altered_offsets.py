"""Offsets that are altered while something else is under way, and a crash at every write of it.

Either the old offset is in force afterwards or the new one, and nothing of the old one comes back.
"""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, StateLogUnavailable
from kproxy.share.share_group import ShareGroup
from tests.worlds.mortal_world import GROUP, MOST_WRITES, MortalWorld
from tests.worlds.share_group_world import (
    ORDERS,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    assigned,
)
from tests.worlds.share_offset_requests import a_group_that_accepted, alter, altered, delete, offsets_of
from tests.worlds.waiting import until_all_wait

crash_points = pytest.mark.parametrize("write", range(1, MOST_WRITES + 1))
landings = pytest.mark.parametrize("does_land", [True, False], ids=["landed", "lost"])


async def test_what_is_in_flight_does_not_come_back() -> None:
    """Whoever goes on fetching without being a member: the session outlives the membership."""
    # Given
    world = await a_group_that_accepted(0)
    alice = world.member()
    await alice.open(max_records=10)

    # When
    await alter(world, {"orders": {0: 5}})

    # Then
    acknowledged = await alice.acknowledge({(ORDERS, 0): [(0, 9, [1])]})
    fetched = await alice.fetch()
    assert acknowledge_errors(acknowledged)[ORDERS, 0] != ErrorCode.NONE
    assert acquired(fetched) == [(5, 9, 1)]


async def test_a_write_of_the_old_state_that_is_still_under_way_changes_nothing() -> None:
    # Given
    world = await a_group_that_accepted(0)
    alice = world.member()
    await alice.open(max_records=10)
    world.state_log.hold_writes = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        acknowledging = tasks.create_task(alice.acknowledge({(ORDERS, 0): [(0, 9, [1])]}))
        await until_all_wait()

        # When
        await alter(world, {"orders": {0: 5}})
        world.state_log.hold_writes.set()

    # Then
    assert acknowledge_errors(acknowledging.result())[ORDERS, 0] != ErrorCode.NONE
    assert await offsets_of(world) == {("orders", 0): (5, 0, 5, 0)}


async def test_a_load_of_the_old_state_that_is_under_way_does_not_become_live() -> None:
    # Given
    world = await a_group_that_accepted(8)
    alice = world.member()
    world.state_log.hold_loads = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        fetching = tasks.create_task(alice.open(max_records=10, max_wait_ms=5_000))
        await until_all_wait()

        # When
        await alter(world, {"orders": {0: 5}})
        world.state_log.hold_loads.set()

    # Then
    fetched = [acquired(fetching.result()), acquired(await alice.fetch())]
    assert [(5, 9, 1)] in fetched
    assert fetched[0] in ([], [(5, 9, 1)])


async def test_a_member_that_joins_meanwhile_begins_at_the_new_offset() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(10)
    world.state_log.hold_moves = asyncio.Event()
    alice = world.member()
    async with asyncio.TaskGroup() as tasks:
        altering = tasks.create_task(alter(world, {"orders": {0: 3}}))
        await until_all_wait()

        # When
        await alice.heartbeat(0, ["orders"])
        world.state_log.hold_moves.set()

    # Then
    fetched = await alice.fetch(add=[(ORDERS, 0)])
    image = world.group_log.replayed().durable_images()[GROUP]
    assert altered(altering.result()) == {("orders", 0): ErrorCode.NONE}
    assert acquired(fetched) == [(3, 9, 1)]
    assert (image.initializing, set(image.initialized)) == ({}, {ORDERS})


@pytest.mark.parametrize("is_of_group", [False, True], ids=["offsets", "group"])
async def test_what_is_deleted_while_an_alteration_waits_for_the_group_log_stays_deleted(
    is_of_group: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    """A state that began anew behind its deletion would be found by the next group of that id."""
    # Given
    world = await a_group_that_accepted(8, partition_count=2)
    world.metadata.create_topic("orders", ORDERS, partition_count=3)
    world.group_log.hold_writes = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        altering = tasks.create_task(alter(world, {"orders": {0: 3, 2: 3}}))
        await until_all_wait()

        # When
        deleting = tasks.create_task(
            world.groups._group_deletions.delete([GROUP]) if is_of_group else delete(world, "orders")
        )
        await until_all_wait()
        world.group_log.hold_writes.set()

    # Then
    image = world.group_log.replayed().durable_images().get(GROUP)
    assert altering.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert deleting.done()
    assert world.state_log.memory.fold.states == {}
    assert image is None if is_of_group else image == world.groups.coordinator.find(GROUP).image()  # type: ignore[union-attr]
    assert await offsets_of(world) == {}


async def test_a_group_that_is_deleted_while_its_offsets_are_is_gone() -> None:
    # Given
    world = await a_group_that_accepted(8, partition_count=2)
    world.group_log.hold_writes = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        of_offsets = tasks.create_task(delete(world, "orders"))
        await until_all_wait()

        # When
        of_group = tasks.create_task(world.groups._group_deletions.delete([GROUP]))
        await until_all_wait()
        world.group_log.hold_writes.set()

    # Then
    assert of_group.result() == {}
    assert of_offsets.result().error_code in {ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert world.group_log.replayed().durable_images() == {}
    assert world.state_log.memory.fold.states == {}


async def test_a_group_that_is_deleted_while_its_offsets_are_is_not_written_again() -> None:
    # Given
    world = await a_group_that_accepted(8, partition_count=2)
    world.state_log.hold_deletions = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        of_group = tasks.create_task(world.groups._group_deletions.delete([GROUP]))
        await until_all_wait()
        written = len(world.group_log.images)

        # When
        group = world.groups.coordinator.find(GROUP)
        assert group is not None
        of_offsets = tasks.create_task(delete_states(world, group))
        await until_all_wait()
        world.state_log.hold_deletions.set()

    # Then
    assert of_group.result() == {}
    assert of_offsets.result() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(world.group_log.images) == written
    assert world.group_log.replayed().durable_images() == {}


async def test_a_group_whose_deletion_was_interrupted_is_another_one_when_it_is_altered() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.state_log.is_away = True
    await world.groups._group_deletions.delete([GROUP])
    refused = await alter(world, {"orders": {0: 3}})
    world.state_log.is_away = False

    # When
    answer = await alter(world, {"orders": {0: 3}})

    # Then
    image = world.group_log.replayed().durable_images()[GROUP]
    assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert altered(answer) == {("orders", 0): ErrorCode.NONE}
    assert (image.group_epoch, image.is_being_deleted) == (1, False)
    assert await offsets_of(world) == {("orders", 0): (3, 0, 7, 0)}


async def test_a_group_whose_deletion_was_interrupted_has_no_offsets_to_delete() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.state_log.is_away = True
    await world.groups._group_deletions.delete([GROUP])
    world.state_log.is_away = False

    # When
    answer = await delete(world, "orders")

    # Then
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_nothing_is_altered_while_a_member_that_has_left_already_makes_its_state() -> None:
    """Who calls such a state initialized lets it be deleted, and then it comes, of nobody."""
    # Given
    world = ShareGroupWorld()
    world.produce(10)
    world.state_log.hold_initializations = asyncio.Event()
    alice = world.member()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.heartbeat(0, ["orders"]))
        await until_all_wait()
        await alice.heartbeat(-1)

        # When
        refused = await alter(world, {"orders": {0: 3}})
        await delete(world, "orders")
        world.state_log.hold_initializations.set()

    # Then
    image = world.group_log.replayed().durable_images()[GROUP]
    assert refused.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert {key.topic_id for key in world.state_log.memory.fold.states} == {ORDERS}
    assert {*image.initializing, *image.initialized} == {ORDERS}
    assert altered(await alter(world, {"orders": {0: 3}})) == {("orders", 0): ErrorCode.NONE}
    assert await offsets_of(world) == {("orders", 0): (3, 0, 7, 0)}


async def test_a_state_that_an_alteration_made_and_a_deletion_took_is_not_called_initialized() -> None:
    """The next member begins it anew, and that may fail: it would be assigned, and every fetch refused."""
    # Given
    world = await a_group_that_accepted(8)
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    world.state_log.hold_moves = asyncio.Event()
    world.state_log.hold_initializations = asyncio.Event()
    alice = world.member()
    async with asyncio.TaskGroup() as tasks:
        altering = tasks.create_task(alter(world, {"orders": {1: 3}}))
        await until_all_wait()
        await delete(world, "orders")
        joining = tasks.create_task(alice.heartbeat(0, ["orders"]))
        await until_all_wait()
        world.state_log.hold_moves.set()
        await until_all_wait()

        # When
        world.state_log.refusals[world.key(partition=1)] = StateLogUnavailable("no quorum")
        world.state_log.hold_initializations.set()

    # Then
    image = world.group_log.replayed().durable_images()[GROUP]
    assert altered(altering.result()) == {("orders", 1): ErrorCode.NONE}
    assert assigned(joining.result()) == {ORDERS: [0]}
    assert image.initializing[ORDERS].partitions == {1}
    assert image.initialized[ORDERS].partitions == {0}


@crash_points
@landings
async def test_an_alteration_that_a_crash_interrupts_happened_or_did_not(
    write: int,
    does_land: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    # Given
    world = await a_mortal_group_that_accepted(8)
    world.fate.die_at(write, does_land=does_land)

    # When
    has_died = await world.until_death(alter(world, {"orders": {0: 3}}))

    # Then
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    fetched = acquired(await alice.fetch(add=[(ORDERS, 0)]))
    assert fetched in ([(8, 9, 2)], [(3, 9, 1)])
    assert fetched == [(3, 9, 1)] or has_died


@crash_points
@landings
async def test_a_group_that_a_crash_keeps_from_being_made_has_the_offset_or_none(
    write: int,
    does_land: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    # Given
    world = MortalWorld()
    world.configure("share.auto.offset.reset", "earliest")
    world.produce(10)
    world.fate.die_at(write, does_land=does_land)

    # When
    has_died = await world.until_death(alter(world, {"orders": {0: 3}}))

    # Then
    world.configure("share.auto.offset.reset", "earliest")
    alice = world.member()
    answer = await alice.heartbeat(0, ["orders"])
    fetched = acquired(await alice.fetch(add=[(ORDERS, 0)]))
    image = world.image()
    assert answer.error_code == ErrorCode.NONE
    assert image is not None
    assert image.initialized[ORDERS].partitions == {0, 1}
    assert fetched in ([(0, 9, 1)], [(3, 9, 1)])
    assert fetched == [(3, 9, 1)] or has_died


@crash_points
@landings
async def test_a_deletion_of_offsets_that_a_crash_interrupts_is_finished_or_did_not_happen(
    write: int,
    does_land: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    # Given
    world = await a_mortal_group_that_accepted(8)
    world.fate.die_at(write, does_land=does_land)

    # When
    has_died = await world.until_death(delete(world, "orders"))

    # Then
    await world.groups.tend_topics()
    world.configure("share.auto.offset.reset", "earliest")
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    fetched = acquired(await alice.fetch(add=[(ORDERS, 0)]))
    assert fetched in ([(8, 9, 2)], [(0, 9, 1)])
    assert fetched == [(0, 9, 1)] or has_died


async def a_mortal_group_that_accepted(accepted: int) -> MortalWorld:
    """A group whose process is about to die."""
    world = MortalWorld()
    await a_group_that_accepted(accepted, partition_count=2, world=world)
    return world


async def delete_states(world: ShareGroupWorld, group: ShareGroup) -> int:
    """Delete what the group has of a topic, as topics do that are gone; return the error."""
    try:
        await world.groups.state_deletions.delete(group, [ORDERS])
    except ApiError as refusal:
        return refusal.error_code
    return ErrorCode.NONE
