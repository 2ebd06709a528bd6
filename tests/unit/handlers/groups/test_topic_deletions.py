"""Topics that are gone: their state is deleted, in steps that a crash may interrupt."""

import asyncio
from collections.abc import Collection, Mapping

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, SharePartitionNotLoaded, StateLogUnavailable
from kproxy.handlers.groups import ended_stays
from kproxy.handlers.groups.topic_deletions import CONFIRMATION_MS
from kproxy.handlers.live import pauses
from kproxy.handlers.live.pauses import MOST_AT_FIRST
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.share.share_group_image import ShareGroupImage
from tests.in_memory.breakable_state_log import BreakableStateLog
from tests.worlds.lost_slots import lose_groups
from tests.worlds.share_group_world import (
    ORDERS,
    PAYMENTS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    partitions_of,
)
from tests.worlds.waiting import until_all_wait

GROUP = GroupId("g")


async def a_world_that_lost_a_topic() -> ShareGroupWorld:
    """A member consumed it, and its absence was seen once."""
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    await world.member().open()
    world.metadata.delete_topic(ORDERS)
    await world.groups.tend_topics()
    return world


def durable_group(world: ShareGroupWorld) -> ShareGroupImage:
    return world.group_log.replayed().durable_images()[GROUP]


async def test_the_state_of_a_topic_that_stays_away_is_deleted_and_the_group_forgets_it() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.clock.advance(CONFIRMATION_MS)

    # When
    await world.groups.tend_topics()

    # Then
    assert world.state_log.state(world.key()) is None
    image = durable_group(world)
    assert (image.initialized, image.deleting) == ({}, {})
    assert world.groups.share_partition_count == 0


async def test_a_topic_that_is_missing_for_a_moment_keeps_its_state() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.metadata.create_topic("orders", ORDERS)
    world.clock.advance(CONFIRMATION_MS)
    await world.groups.tend_topics()
    world.metadata.delete_topic(ORDERS)

    # When
    await world.groups.tend_topics()

    # Then
    assert world.state_log.state(world.key()) is not None
    assert set(durable_group(world).initialized) == {ORDERS}


async def test_while_the_cluster_cannot_be_asked_nothing_is_deleted() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.metadata.is_unavailable = True
    world.clock.advance(CONFIRMATION_MS)

    # When
    await world.groups.tend_topics()

    # Then
    assert world.state_log.state(world.key()) is not None


async def test_a_deletion_that_was_interrupted_goes_on_after_a_restart() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.clock.advance(CONFIRMATION_MS)
    world.state_log.is_away = True
    await world.groups.tend_topics()
    interrupted = durable_group(world)
    world.state_log.is_away = False
    world.restart()

    # When
    await world.groups.tend_topics()

    # Then
    assert set(interrupted.deleting) == {ORDERS}
    assert world.state_log.state(world.key()) is None
    assert durable_group(world).deleting == {}


async def test_nothing_is_deleted_before_the_group_has_said_so_durably() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.clock.advance(CONFIRMATION_MS)
    world.group_log.persist_failure = StateLogUnavailable("no quorum")

    # When
    await world.groups.tend_topics()

    # Then
    assert world.state_log.state(world.key()) is not None
    assert set(durable_group(world).initialized) == {ORDERS}


async def test_a_group_that_is_forgotten_while_another_is_looked_after_is_left_alone() -> None:
    # Given
    class ForgetfulStateLog(BreakableStateLog):
        async def delete(self, keys: Collection[SharePartitionKey]) -> Mapping[SharePartitionKey, ApiError]:
            lose_groups(world.groups, [GroupId("h")])
            return await super().delete(keys)

    world = ShareGroupWorld()
    world.state_log = ForgetfulStateLog()
    world.groups = world.new_process()
    for group_id in ("g", "h"):
        await world.member(group_id=group_id).heartbeat(0, ["orders"])
    world.metadata.delete_topic(ORDERS)
    await world.groups.tend_topics()
    world.clock.advance(CONFIRMATION_MS)

    # When
    await world.groups.tend_topics()

    # Then
    assert [key.group_id for key in world.state_log.memory.fold.states] == ["h"]
    assert world.groups.coordinator.group_ids == ("g",)


async def test_it_is_said_when_to_look_again_as_long_as_something_is_left_to_do() -> None:
    # Given
    world = await a_world_that_lost_a_topic()

    # When
    while_missing = await world.groups.tend_topics()
    world.clock.advance(CONFIRMATION_MS)
    world.state_log.is_away = True
    while_the_log_is_away = await world.groups.tend_topics()
    world.state_log.is_away = False
    when_done = await world.groups.tend_topics()

    # Then
    assert (while_missing, while_the_log_is_away, when_done) == (CONFIRMATION_MS, CONFIRMATION_MS, None)


async def test_what_is_live_of_a_topic_that_is_gone_is_let_go_at_once_and_its_state_stays() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("payments", PAYMENTS)
    for topic_id in (ORDERS, PAYMENTS):
        await world.initialize(topic_id=topic_id)
        world.produce(5, topic_id=topic_id)
    await world.member().open((ORDERS, 0), (PAYMENTS, 0), max_records=10)
    world.metadata.delete_topic(ORDERS)

    # When
    is_gone = world.groups.topics_moved([ORDERS, PAYMENTS])

    # Then
    assert is_gone
    assert world.groups.directory.keys() == (world.key(topic_id=PAYMENTS),)
    assert world.state_log.state(world.key()) is not None
    assert not world.groups.topics_moved([PAYMENTS])


async def test_a_fetch_that_waits_for_a_topic_that_is_gone_is_answered_and_loads_nothing() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    alice = world.member()
    await alice.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000))
        await until_all_wait()
        world.metadata.delete_topic(ORDERS)
        world.groups.topics_moved([ORDERS])

    # Then
    assert partitions_of(fetch.result())[ORDERS, 0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert world.groups.share_partition_count == 0


async def test_what_is_being_loaded_of_a_topic_that_goes_does_not_become_live() -> None:
    """The state was read already, and nobody would discard it again."""
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.state_log.hold_loads = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(world.member().open((ORDERS, 0), max_wait_ms=0))
        await until_all_wait()
        load = world.groups.directory.begin_load(world.key())

        # When
        world.metadata.delete_topic(ORDERS)
        world.groups.topics_moved([ORDERS])
        world.state_log.hold_loads.set()
        await until_all_wait()

        # Then
        assert load.is_over
        assert "was changed while it was loaded" in str(load.failure)
        assert world.groups.directory.keys() == ()
        fetch.cancel()


WIDE = 3 * MOST_AT_FIRST


async def a_world_with_a_wide_topic() -> tuple[ShareGroupWorld, Member]:
    """Alice holds a record of each of its partitions."""
    world = ShareGroupWorld(passes_time=False)
    world.metadata.create_topic("orders", ORDERS, partition_count=WIDE)
    for partition in range(WIDE):
        await world.initialize(partition=partition)
        world.produce(1, partition=partition)
    alice = world.member()
    partitions = [(ORDERS, partition) for partition in range(WIDE)]
    await alice.open(*partitions, max_wait_ms=0, max_records=WIDE)
    while world.groups.in_flight_count < WIDE:
        await alice.fetch(max_wait_ms=0, max_records=WIDE)
    return world, alice


async def test_what_is_live_of_a_wide_topic_is_discarded_in_several_turns_and_found_in_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world, _ = await a_world_with_a_wide_topic()
    directory = world.groups.directory
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", MOST_AT_FIRST)

    # When
    world.metadata.delete_topic(ORDERS)

    # Then
    assert WIDE - MOST_AT_FIRST <= len(directory) < WIDE
    assert not any(map(directory.find, directory.keys()))
    await until_all_wait()
    assert len(directory) == 0


async def test_fetches_that_wait_for_a_wide_topic_that_is_gone_are_all_answered() -> None:
    # Given
    world, alice = await a_world_with_a_wide_topic()
    bob = world.member("bob")
    await bob.open(*((ORDERS, partition) for partition in range(WIDE)), max_wait_ms=0)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetches = [tasks.create_task(each.fetch(max_wait_ms=60_000)) for each in (alice, bob)]
        await until_all_wait(50)
        were_waiting = not any(fetch.done() for fetch in fetches)
        world.metadata.delete_topic(ORDERS)

    # Then
    assert were_waiting
    for fetch in fetches:
        codes = {each.error_code for each in partitions_of(fetch.result()).values()}
        assert codes == {ErrorCode.UNKNOWN_TOPIC_ID}


async def test_what_is_acknowledged_of_a_topic_that_went_and_is_back_is_refused_and_written_nowhere() -> None:
    """What alice holds was not discarded by then, as little as what she holds of the other partitions."""
    # Given
    world, alice = await a_world_with_a_wide_topic()
    delta_count = len(world.state_log.deltas)
    world.metadata.delete_topic(ORDERS)
    world.metadata.create_topic("orders", ORDERS, partition_count=WIDE)

    # When
    answer = await alice.acknowledge({(ORDERS, WIDE - 1): [(0, 0, [1])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, WIDE - 1): SharePartitionNotLoaded.error_code}
    assert len(world.state_log.deltas) == delta_count


async def test_what_is_loaded_anew_of_a_topic_that_is_back_stays_while_the_rest_is_discarded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world, _ = await a_world_with_a_wide_topic()
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 1)
    last = world.key(partition=WIDE - 1)
    before = world.groups.directory.find(last)
    world.metadata.delete_topic(ORDERS)
    world.metadata.create_topic("orders", ORDERS, partition_count=WIDE)

    # When
    bob = world.member("bob")
    answer = await bob.open((ORDERS, WIDE - 1), max_wait_ms=60_000, max_records=10)
    anew = world.groups.directory.find(last)
    was_letting_go = len(world.groups.directory) > 1
    await until_all_wait(5 * WIDE)
    accepted = await bob.acknowledge({(ORDERS, WIDE - 1): [(0, 0, [1])]})

    # Then
    assert was_letting_go
    assert before is not None
    assert before.is_fenced
    assert acquired(answer, partition=WIDE - 1) == [(0, 0, 1)]
    assert world.groups.directory.keys() == (last,)
    assert world.groups.directory.find(last) is anew
    assert acknowledge_errors(accepted) == {(ORDERS, WIDE - 1): ErrorCode.NONE}


async def test_locks_of_a_topic_that_is_gone_may_end_while_it_is_let_go_of() -> None:
    # Given
    world, _ = await a_world_with_a_wide_topic()
    delta_count = len(world.state_log.deltas)
    world.metadata.delete_topic(ORDERS)
    world.clock.advance(60_000)

    # When
    await world.groups.expire(world.clock.now_ms())

    # Then
    assert len(world.state_log.deltas) == delta_count


async def test_a_topic_that_goes_while_another_is_let_go_of_is_let_go_of_too() -> None:
    # Given
    world, alice = await a_world_with_a_wide_topic()
    world.metadata.create_topic("payments", PAYMENTS)
    await world.initialize(topic_id=PAYMENTS)
    await alice.fetch(add=[(PAYMENTS, 0)], max_wait_ms=0)
    await until_all_wait()
    was_live = world.groups.directory.find(world.key(topic_id=PAYMENTS)) is not None
    world.metadata.delete_topic(ORDERS)

    # When
    world.metadata.delete_topic(PAYMENTS)
    await until_all_wait()

    # Then
    assert was_live
    assert world.groups.directory.keys() == ()


async def test_the_look_for_what_is_live_of_a_topic_takes_turns_where_much_is_live_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world, alice = await a_world_with_a_wide_topic()
    world.metadata.create_topic("payments", PAYMENTS)
    await world.initialize(topic_id=PAYMENTS)
    await alice.fetch(add=[(PAYMENTS, 0)], max_wait_ms=0)
    await until_all_wait()
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 1)
    monkeypatch.setattr(ended_stays, "_LOOKED_AT_ONCE", WIDE // 10)

    # When
    world.metadata.delete_topic(PAYMENTS)
    counts = [len(world.groups.directory)]
    while counts[-1] > WIDE:
        await asyncio.sleep(0)
        counts.append(len(world.groups.directory))

    # Then
    assert len(counts) > 10
    assert not any(key.topic_id == PAYMENTS for key in world.groups.directory.known_keys())


async def test_a_fetch_that_waits_for_very_much_of_a_topic_that_goes_is_signalled_once_for_each() -> None:
    # Given
    world, alice = await a_world_with_a_wide_topic()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000))
        await until_all_wait(50)
        world.availability.signalled.clear()
        world.metadata.delete_topic(ORDERS)

    # Then
    assert len(partitions_of(fetch.result())) == WIDE
    signalled = [key for key in world.availability.signalled if key.topic_id == ORDERS]
    assert len(signalled) == len(set(signalled)) == WIDE
