"""Writes of one request: queued at once, settled together, and each failure discards what it came from."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable, StateNotWritten
from kproxy.handlers.live import pauses, state_writes
from kproxy.handlers.live.state_writes import StateWrites
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import NO_CHANGE, StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acknowledge_errors, acquired
from tests.worlds.waiting import until_all_wait

BY_ALICE = (Actor(Cause.ACKNOWLEDGE, "alice", offset_ranges=((1, 1),)),)
DELTA = StateDelta(0, 1, (StateBatch(1, 1, RecordState.ACKNOWLEDGED, 1),))


async def two_live_partitions(world: ShareGroupWorld) -> list[SharePartitionKey]:
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    keys = [await world.initialize(partition=partition) for partition in range(2)]
    alice = world.member()
    await alice.fetch(add=[(ORDERS, 0), (ORDERS, 1)], max_wait_ms=0)
    return keys


async def test_nothing_is_written_for_a_change_that_is_not_durable() -> None:
    # Given
    world = ShareGroupWorld()
    first, _ = await two_live_partitions(world)
    writes = StateWrites(world.groups.directory, world.state_log)

    # When
    writes.add(first, NO_CHANGE, BY_ALICE)

    # Then
    assert await writes.settle() == {}
    assert world.state_log.deltas == []


async def test_a_delta_is_queued_before_anybody_waits() -> None:
    # Given
    world = ShareGroupWorld()
    first, _ = await two_live_partitions(world)
    writes = StateWrites(world.groups.directory, world.state_log)

    # When
    writes.add(first, DELTA, BY_ALICE)

    # Then
    assert world.state_log.deltas == [(first, DELTA)]
    assert world.state_log.actors == [BY_ALICE]
    assert await writes.settle() == {}


async def test_one_refusal_discards_one_share_partition() -> None:
    # Given
    world = ShareGroupWorld()
    first, second = await two_live_partitions(world)
    writes = StateWrites(world.groups.directory, world.state_log)
    world.state_log.persist_failure = StateLogUnavailable("no quorum")
    writes.add(first, DELTA, BY_ALICE)
    world.state_log.persist_failure = None
    writes.add(second, DELTA, BY_ALICE)

    # When
    refused = await writes.settle()

    # Then
    assert {key: refusal.error_code for key, refusal in refused.items()} == {
        first: ErrorCode.COORDINATOR_NOT_AVAILABLE
    }
    assert world.groups.directory.find(first) is None
    assert world.groups.directory.find(second) is not None


async def test_a_share_partition_is_discarded_when_its_write_is_refused_and_not_when_somebody_hears_of_it() -> (
    None
):
    # Given
    world = ShareGroupWorld()
    first, _ = await two_live_partitions(world)
    writes = StateWrites(world.groups.directory, world.state_log)
    world.state_log.hold_writes = asyncio.Event()
    writes.add(first, DELTA, BY_ALICE)

    # When
    world.state_log.refuse_held_writes(StateLogUnavailable("no quorum"))

    # Then
    assert world.groups.directory.find(first) is None
    assert set(await writes.settle()) == {first}


async def test_a_wait_that_is_cut_short_discards_everything_that_was_not_settled() -> None:
    # Given
    world = ShareGroupWorld()
    first, second = await two_live_partitions(world)
    writes = StateWrites(world.groups.directory, world.state_log)
    world.state_log.hold_writes = asyncio.Event()
    writes.add(first, DELTA, BY_ALICE)
    world.state_log.hold_writes.set()
    world.state_log.hold_writes = asyncio.Event()
    writes.add(second, DELTA, BY_ALICE)

    # When
    async with asyncio.TaskGroup() as tasks:
        settling = tasks.create_task(writes.settle())
        await until_all_wait()
        settling.cancel()

    # Then
    assert world.groups.directory.find(first) is not None
    assert world.groups.directory.find(second) is None


async def test_settling_again_waits_for_nothing() -> None:
    # Given
    world = ShareGroupWorld()
    first, _ = await two_live_partitions(world)
    writes = StateWrites(world.groups.directory, world.state_log)
    writes.add(first, DELTA, BY_ALICE)
    await writes.settle()

    # When
    refused = await writes.settle()

    # Then
    assert refused == {}


async def test_others_have_turns_while_very_many_writes_are_settled_that_are_durable_by_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 3)
    world = ShareGroupWorld()
    first, _ = await two_live_partitions(world)
    writes = StateWrites(world.groups.directory, world.state_log)
    for _ in range(12):
        writes.add(first, DELTA, BY_ALICE)
    turn_count = 0

    # When
    async with asyncio.TaskGroup() as tasks:
        settling = tasks.create_task(writes.settle())
        while not settling.done():
            await asyncio.sleep(0)
            turn_count += 1

    # Then
    assert turn_count > 12 // 3
    assert not world.groups.directory.has_unsettled_writes(first)


async def test_very_many_refused_changes_are_not_taken_back_but_discarded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are refused in one turn of the loop, and to discard takes next to no time."""
    # Given
    world = ShareGroupWorld(passes_time=False)
    monkeypatch.setattr(state_writes, "MOST_TAKEN_BACK", 3)
    await world.initialize()
    world.produce(3)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=3)
    world.state_log.persist_failure = StateNotWritten("too late")

    # When
    few = await alice.acknowledge({(ORDERS, 0): [(0, 2, [1])]})
    held = acquired(await bob.fetch(add=[(ORDERS, 0)], max_wait_ms=0))
    many = await alice.acknowledge({(ORDERS, 0): [(0, 0, [1]), (1, 1, [1]), (2, 2, [1])]})
    world.state_log.persist_failure = None

    # Then
    assert held == []
    assert acknowledge_errors(few) == acknowledge_errors(many)
    assert acquired(await bob.fetch(max_wait_ms=0)) == [(0, 2, 1)]


async def test_locks_whose_end_is_refused_have_ended_and_others_keep_what_they_hold() -> None:
    """So a stock broker has it: the state goes on although the write failed."""
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(2)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=2)
    world.clock.advance(20_000)
    world.produce(2)
    await bob.open(max_records=2)
    world.clock.advance(10_000)
    world.state_log.persist_failure = StateNotWritten("too late")

    # When
    await world.expire()
    world.state_log.persist_failure = None
    accepted = await bob.acknowledge({(ORDERS, 0): [(2, 3, [1])]})

    # Then
    assert acknowledge_errors(accepted) == {(ORDERS, 0): ErrorCode.NONE}
    assert acquired(await bob.fetch(max_wait_ms=0)) == [(0, 1, 2)]


async def test_what_is_said_late_of_a_record_whose_last_end_was_refused_is_durable_before_it_is_answered() -> (
    None
):
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(share=ShareLimits(delivery_count_limit=2)))
    key = await world.initialize()
    world.produce(2)
    alice = world.member("alice")
    await alice.open(max_records=2)
    await alice.fetch(acks={(ORDERS, 0): [(0, 1, [2])]})
    world.clock.advance(30_000)
    world.state_log.persist_failure = StateNotWritten("too late")
    await world.expire()
    world.state_log.persist_failure = None

    # When
    accepted = await alice.acknowledge({(ORDERS, 0): [(0, 1, [1])]})

    # Then
    assert acknowledge_errors(accepted) == {(ORDERS, 0): ErrorCode.NONE}
    state = world.state_log.state(key)
    assert state is not None
    assert state.start_offset == 2
