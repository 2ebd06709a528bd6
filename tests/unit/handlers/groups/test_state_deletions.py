"""The state of topics is deleted, in steps, of whoever has begun it."""

import asyncio
from collections.abc import Collection, Mapping

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress, StateLogUnavailable
from kproxy.handlers.groups.state_deletions import StateDeletions
from kproxy.handlers.groups.topic_deletions import CONFIRMATION_MS
from kproxy.share.identifiers import GroupId, TopicId
from kproxy.share.share_group import ShareGroup
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.worlds.share_group_world import ORDERS, PAYMENTS, ShareGroupWorld, acknowledge_errors
from tests.worlds.share_offset_requests import a_group_that_accepted, alter, altered
from tests.worlds.waiting import until_all_wait

GROUP = GroupId("g")


def deletions_of(world: ShareGroupWorld) -> StateDeletions:
    return world.groups.state_deletions


def group_of(world: ShareGroupWorld) -> ShareGroup:
    group = world.groups.coordinator.find(GROUP)
    assert group is not None
    return group


async def test_a_group_has_nothing_of_the_topics_afterwards() -> None:
    # Given
    world = await a_group_that_accepted(8, partition_count=2)

    # When
    failures = await deletions_of(world).delete(group_of(world), [ORDERS])

    # Then
    image = world.group_log.replayed().durable_images()[GROUP]
    assert failures == {}
    assert (image.initialized, image.deleting) == ({}, {})
    assert world.state_log.memory.fold.states == {}


async def test_a_topic_with_a_share_partition_that_failed_goes_on_being_deleted() -> None:
    # Given
    world = await a_group_that_accepted(8, partition_count=2)
    failing = world.key(partition=1)
    world.state_log.refusals[failing] = StateLogUnavailable("no quorum")

    # When
    failures = await deletions_of(world).delete(group_of(world), [ORDERS])

    # Then
    assert set(failures) == {failing}
    assert group_of(world).deleting_topic_ids == (ORDERS,)
    assert world.state_log.state(world.key()) is None


async def test_what_is_left_to_do_of_a_deletion_is_told_at_once_and_by_whoever_finds_it_in_the_log() -> None:
    # Given
    world = await a_group_that_accepted(8, partition_count=2)
    told: list[str] = []
    deletions_of(world).on_interrupted = lambda: told.append("left")
    world.state_log.refusals[world.key(partition=1)] = StateLogUnavailable("no quorum")

    # When
    await deletions_of(world).delete(group_of(world), [ORDERS])
    world.groups = world.new_process()
    deletions_of(world).on_interrupted = lambda: told.append("found")
    world.restore_groups()
    world.state_log.refusals.clear()
    await deletions_of(world).delete(group_of(world), [ORDERS])

    # Then
    assert told == ["left", "found"]


async def test_nothing_is_deleted_while_the_group_has_not_said_so_durably() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.group_log.persist_failure = StateLogUnavailable("no quorum")

    # When
    with pytest.raises(StateLogUnavailable):
        await deletions_of(world).delete(group_of(world), [ORDERS])

    # Then
    assert world.state_log.state(world.key()) is not None


async def test_what_somebody_else_has_deleted_meanwhile_is_not_deleted_again() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.group_log.hold_writes = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        late = tasks.create_task(deletions_of(world).delete(group_of(world), [ORDERS]))
        await until_all_wait()
        group_of(world).topics_deleted([ORDERS])
        before = len(world.state_log.memory.records)

        # When
        world.group_log.hold_writes.set()

    # Then
    assert late.result() == {}
    assert len(world.state_log.memory.records) == before


async def test_states_that_are_being_initialized_are_waited_for() -> None:
    """The member has left while its heartbeat initializes: the state would come after its deletion."""
    world = ShareGroupWorld()
    world.state_log.hold_initializations = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.member().heartbeat(0, ["orders"]))
        await until_all_wait()
        await world.member().heartbeat(-1)
        with pytest.raises(CoordinatorLoadInProgress):
            await deletions_of(world).delete(group_of(world), [ORDERS])
        world.state_log.hold_initializations.set()

    # When
    failures = await deletions_of(world).delete(group_of(world), [ORDERS])

    assert failures == {}
    assert world.state_log.memory.fold.states == {}


async def test_initializations_of_other_topics_are_not_waited_for() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.metadata.create_topic("payments", PAYMENTS, partition_count=1)
    world.state_log.hold_initializations = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.member().heartbeat(0, ["payments"]))
        await until_all_wait()

        # When
        failures = await deletions_of(world).delete(group_of(world), [ORDERS])
        world.state_log.hold_initializations.set()

    # Then
    assert failures == {}
    assert world.state_log.state(world.key()) is None


async def test_a_deletion_that_waits_for_another_topic_does_not_end_a_later_one() -> None:
    """Else the later one would find nothing to delete, and call deleted what the next member finds."""
    # Given
    world = await a_group_that_accepted(8)
    async with asyncio.TaskGroup() as tasks:
        release = await a_deletion_that_waits_for_payments(world, tasks)
        assert altered(await alter(world, {"orders": {0: 3}})) == {("orders", 0): ErrorCode.NONE}
        world.group_log.hold_writes = asyncio.Event()
        later = tasks.create_task(deletions_of(world).delete(group_of(world), [ORDERS]))
        await until_all_wait()

        # When
        release.set()
        await until_all_wait()
        world.group_log.hold_writes.set()

    # Then
    assert later.result() == {}
    assert world.state_log.memory.fold.states == {}


async def test_what_is_live_anew_stays_live_when_a_deletion_ends_that_waits_for_another_topic() -> None:
    # Given
    world = await a_group_that_accepted(8)
    alice = world.member()
    async with asyncio.TaskGroup() as tasks:
        release = await a_deletion_that_waits_for_payments(world, tasks)
        await alice.heartbeat(0, ["orders"])
        await alice.open(max_records=10)

        # When
        release.set()

    # Then
    acknowledged = await alice.acknowledge({(ORDERS, 0): [(0, 9, [1])]})
    assert acknowledge_errors(acknowledged)[ORDERS, 0] == ErrorCode.NONE


async def test_others_have_turns_while_very_many_states_are_deleted() -> None:
    # Given
    world = await a_large_group()

    # When
    failures = await deletions_of(world).delete(group_of(world), [ORDERS])

    # Then
    assert failures == {}
    assert world.state_log.deletion_sizes == [5_000, 1_000]
    assert world.state_log.memory.fold.states == {}


async def test_what_began_anew_between_two_parts_of_a_deletion_stays() -> None:
    # Given
    world = await a_large_group()
    release = world.state_log.hold_deletions = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(deletions_of(world).delete(group_of(world), [ORDERS]))
        await until_all_wait()
        world.state_log.hold_deletions = None
        await deletions_of(world).delete(group_of(world), [ORDERS])
        await alter(world, {"orders": {5_500: 3}})

        # When
        release.set()

    # Then
    assert slow.result() == {}
    assert set(world.state_log.memory.fold.states) == {world.key(partition=5_500)}


async def a_large_group() -> ShareGroupWorld:
    """A group with 6,000 share-partitions of `orders`, one of which has a state."""
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=6_000)
    await alter(world, {"orders": {0: 3}})
    return world


async def a_deletion_that_waits_for_payments(
    world: ShareGroupWorld, tasks: asyncio.TaskGroup
) -> asyncio.Event:
    """Begin a deletion of two topics, of which another one has finished the first; it goes on with what is returned."""
    world.metadata.create_topic("payments", PAYMENTS, partition_count=1)
    await alter(world, {"payments": {0: 0}})
    release = world.state_log.hold_deletions_of_topics[PAYMENTS] = asyncio.Event()
    tasks.create_task(deletions_of(world).delete(group_of(world), [ORDERS, PAYMENTS]))
    await until_all_wait()
    assert await deletions_of(world).delete(group_of(world), [ORDERS]) == {}
    return release


async def test_two_denials_with_a_time_between_them_in_which_nobody_answered_are_not_a_long_absence() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    world.metadata.delete_topic(ORDERS)
    await world.groups.tend_topics()
    world.metadata.is_unavailable = True
    world.clock.advance(CONFIRMATION_MS)
    while_away = await world.groups.tend_topics()
    world.metadata.is_unavailable = False

    # When
    pauses_ms = [await world.groups.tend_topics()]
    kept = world.state_log.state(world.key()) is not None
    world.clock.advance(CONFIRMATION_MS)
    pauses_ms.append(await world.groups.tend_topics())

    # Then
    assert kept
    assert (while_away, pauses_ms) == (CONFIRMATION_MS, [CONFIRMATION_MS, None])
    assert world.state_log.state(world.key()) is None


async def test_a_topic_of_a_state_that_is_neither_there_nor_found_to_be_gone_is_looked_for_again() -> None:
    # Given
    class Undecided(InMemoryClusterMetadata):
        async def missing_topics(self, topics: Mapping[TopicId, str]) -> Collection[TopicId]:  # noqa: ARG002
            return []

    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    decided, undecided = world.metadata, Undecided()
    world.metadata = undecided
    world.restart()

    # When
    pause_ms = await world.groups.tend_topics()

    # Then
    assert decided.leader_of(ORDERS, 0) is not None
    assert pause_ms == CONFIRMATION_MS
