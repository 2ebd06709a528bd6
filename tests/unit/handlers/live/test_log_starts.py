"""Logs that begin later than they did: DeleteRecords and retention."""

import asyncio

import pytest

from kproxy.handlers.live import pauses
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import TopicIdPartition
from kproxy.share.limits import ShareLimits
from tests.worlds.share_group_world import (
    ORDERS,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import turns_during, until_all_wait

PARTITION = TopicIdPartition(ORDERS, 0)


async def test_the_start_offset_moves_durably_in_every_group_that_has_the_log_in_memory() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(10)
    for group_id in ("g", "h"):
        await world.initialize(group_id)
        await world.member(group_id=group_id).open(max_records=10)

    # When
    await world.groups.move_log_starts({PARTITION: 7})

    # Then
    for group_id in ("g", "h"):
        share_partition = world.groups.directory.find(world.key(group_id))
        assert share_partition is not None
        assert share_partition.start_offset == 7
    assert [delta.start_offset for _, delta in world.state_log.deltas[-2:]] == [7, 7]
    assert world.observer.counts["share_archived", "log_start"] == 14


async def test_an_acknowledgement_of_records_that_the_log_has_lost_is_accepted() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(10)
    await world.initialize()
    alice = world.member()
    await alice.open(max_records=10)
    await world.groups.move_log_starts({PARTITION: 7})

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [1])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): 0}


async def test_a_log_that_begins_where_it_did_and_other_logs_change_nothing() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(10)
    await world.initialize()
    await world.member().open(max_records=10)
    delta_count = len(world.state_log.deltas)

    # When
    await world.groups.move_log_starts({PARTITION: 0, TopicIdPartition(ORDERS, 1): 5})

    # Then
    assert len(world.state_log.deltas) == delta_count


async def test_others_have_turns_while_very_many_logs_lose_records(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 2)
    world = await world_with_orders(partition_count=8)
    for number in range(8):
        world.produce(1, partition=number)
    await world.member().open(*((ORDERS, number) for number in range(8)), max_records=8)

    # When
    turn_count = await turns_during(
        world.groups.move_log_starts({TopicIdPartition(ORDERS, number): 1 for number in range(8)})
    )

    # Then
    assert turn_count >= 4
    assert [delta.start_offset for _, delta in world.state_log.deltas[-8:]] == [1] * 8


async def test_a_window_that_was_full_has_room_again_and_who_waits_fetches() -> None:
    # Given
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=100))
    world = ShareGroupWorld(limits=limits, passes_time=False)
    world.produce(100)
    await world.initialize()
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=100)
    await bob.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch(max_wait_ms=500))
        await until_all_wait()
        world.log().append([b"later"] * 5)
        await world.groups.move_log_starts({PARTITION: 100})

    # Then
    assert acquired(fetch.result()) == [(100, 104, 1)]


async def test_the_start_offset_follows_the_log_start_although_what_is_read_is_there() -> None:
    """Alice holds what the log has lost; Bob's read, of later records, says that it has."""
    # Given
    world = ShareGroupWorld()
    world.produce(5)
    await world.initialize()
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=5)
    await bob.open()
    world.produce(5)
    world.log().move_start(3)

    # When
    answer = await bob.fetch()

    # Then
    assert acquired(answer) == [(5, 9, 1)]
    share_partition = world.groups.directory.find(world.key())
    assert share_partition is not None
    assert share_partition.start_offset == 3
