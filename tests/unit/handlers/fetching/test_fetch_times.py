"""What a ShareFetch waits for its turns to read, and how long it has them."""

import asyncio

from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.limits import ShareLimits
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.worlds.share_group_world import (
    ShareGroupWorld,
    acquired,
)
from tests.worlds.waiting import until_all_wait

ACQUIRE = "share_acquire_seconds"
TURN = "share_read_turn_seconds"
RATIO = "share_fetch_ratio"


async def test_a_fetch_that_reads_at_once_waited_for_nothing_and_got_what_it_asked_for() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(5)
    await world.initialize()
    alice = world.member()
    await alice.open()

    # When
    answer = await alice.fetch()

    # Then
    group = world.key().group_id
    assert acquired(answer) == [(0, 4, 1)]
    assert world.observer.observations[ACQUIRE, group] == [0.0]
    assert world.observer.observations[TURN, group] == [0.0]
    assert world.observer.observations[RATIO, group] == [1.0]


async def test_a_wait_for_records_is_no_wait_for_a_turn() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    alice = world.member()
    await alice.open()
    fetch = asyncio.get_running_loop().create_task(alice.fetch(max_wait_ms=5_000))
    await until_all_wait()
    world.clock.advance(3_000)

    # When
    world.produce(2)
    world.tell_of_records()
    answer = await fetch

    # Then
    assert acquired(answer) == [(0, 1, 1)]
    assert world.observer.observations[ACQUIRE, world.key().group_id] == [0.0]


async def test_a_fetch_that_another_one_keeps_from_reading_waits_for_its_turn() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()
    tasks: list[asyncio.Task[ShareFetchResponse]] = []

    async def let_bob_ask_and_take_two_seconds() -> None:
        world.reader.before_read = None
        tasks.append(asyncio.get_running_loop().create_task(bob.fetch(max_wait_ms=9_000)))
        await until_all_wait()
        world.clock.advance(2_000)

    world.produce(1)
    world.produce(1)
    world.reader.before_read = let_bob_ask_and_take_two_seconds

    # When
    await alice.fetch(max_records=1)
    await tasks[0]

    # Then
    group = world.key().group_id
    assert world.observer.observations[ACQUIRE, group] == [0.0, 2.0]
    assert world.observer.observations[TURN, group] == [2.0, 0.0]


async def test_a_fetch_that_never_had_a_turn_waited_for_it_to_its_end() -> None:
    # Given
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=4))
    world = ShareGroupWorld(limits=limits)
    await world.initialize()
    world.produce(8)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()
    await alice.fetch()

    # When
    answer = await bob.fetch(max_wait_ms=700)

    # Then
    assert acquired(answer) == []
    assert world.observer.observations[ACQUIRE, world.key().group_id] == [0.0, 0.7]
