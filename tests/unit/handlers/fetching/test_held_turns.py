"""The turns that a fetch has: none is kept that it cannot use."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from kproxy.errors import StateNotWritten
from kproxy.handlers.fetching.held_turns import HeldTurns
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import GroupId, MemberId, StateEpoch
from kproxy.share.limits import ShareLimits
from kproxy.share.share_session import ShareSessionKey
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acquired,
    loaded,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

ACCEPT, RELEASE = 1, 2
KEY = ShareGroupWorld.key()


async def in_line_for_both(
    *, max_bytes: int
) -> tuple[ShareGroupWorld, Member, Member, asyncio.Task[ShareFetchResponse]]:
    """Carol holds the window of partition 0, Dave that of 1; Mallory's fetch waits for room in 1 and 0."""
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=5))
    world = await world_with_orders(passes_time=False, partition_count=2, limits=limits)
    carol, dave, mallory = (world.member(name) for name in ("carol", "dave", "mallory"))
    for partition, holder in enumerate((carol, dave)):
        world.produce(5, partition=partition)
        world.produce(5, partition=partition)
        await holder.open((ORDERS, partition))
        assert acquired(await holder.fetch(max_records=5), partition=partition) == [(0, 4, 1)]
    await mallory.open((ORDERS, 1), (ORDERS, 0))
    fetch = asyncio.get_running_loop().create_task(mallory.fetch(max_wait_ms=60_000, max_bytes=max_bytes))
    await until_all_wait()
    return world, carol, dave, fetch


async def release_in_vain(
    world: ShareGroupWorld,
    carol: Member,
    dave: Member,
    asks: Sequence[Coroutine[Any, Any, ShareFetchResponse]] = (),
) -> list[asyncio.Task[ShareFetchResponse]]:
    """Let there be room in both windows; others ask during the read of 1, and the write that made its room is refused.

    Return the fetches of those who asked, when nobody goes on by himself any more.
    """
    loop, is_read = asyncio.get_running_loop(), asyncio.Event()

    async def before_read() -> None:
        await is_read.wait()

    world.reader.before_read = before_read
    world.state_log.hold_writes_of[world.key(partition=1)] = asyncio.Event()
    releases = [
        loop.create_task(carol.acknowledge({(ORDERS, 0): [(0, 4, [ACCEPT])]})),
        loop.create_task(dave.acknowledge({(ORDERS, 1): [(0, 4, [RELEASE])]})),
    ]
    await until_all_wait()
    asked = [loop.create_task(each) for each in asks]
    await until_all_wait()
    world.state_log.refuse_held_writes(StateNotWritten("refused"))
    await asyncio.gather(*releases)
    is_read.set()
    await until_all_wait(100)
    return asked


async def test_a_turn_that_a_fetch_of_few_bytes_cannot_use_goes_to_whoever_asked_for_it() -> None:
    # Given
    world, carol, dave, fetch = await in_line_for_both(max_bytes=1)
    bob = world.member("bob")
    await bob.open()

    # When
    (asked,) = await release_in_vain(world, carol, dave, [bob.fetch(max_wait_ms=60_000)])

    # Then
    assert asked.done()
    assert acquired(asked.result()) == [(5, 9, 1)]
    assert not fetch.done()
    fetch.cancel()


async def test_a_fetch_of_few_bytes_reads_what_it_left_out_when_another_window_is_full_again() -> None:
    # Given
    world, carol, dave, fetch = await in_line_for_both(max_bytes=1)
    reads_before = len(world.reader.reads)

    # When
    await release_in_vain(world, carol, dave)

    # Then
    assert fetch.done()
    assert acquired(fetch.result()) == [(5, 9, 1)]
    assert [read.partition for read in world.reader.reads[reads_before:]] == [1, 0]


async def test_a_fetch_of_few_bytes_reads_what_it_left_out_when_the_log_of_another_has_lost_all() -> None:
    # Given
    world = await world_with_orders(passes_time=False, partition_count=2)
    world.produce(5, partition=1)
    world.log(partition=1).move_start(5)
    world.produce(3)
    mallory = world.member("mallory")
    await mallory.open((ORDERS, 1), (ORDERS, 0))
    for partition in (0, 1):
        await loaded(world.groups.directory, world.key(partition=partition))
    reads_before = len(world.reader.reads)

    # When
    fetch = asyncio.get_running_loop().create_task(mallory.fetch(max_wait_ms=60_000, max_bytes=1))
    await until_all_wait(100)

    # Then
    assert fetch.done()
    assert acquired(fetch.result()) == [(0, 2, 1)]
    assert [read.partition for read in world.reader.reads[reads_before:]] == [1, 1, 0]


async def test_a_fetch_of_few_bytes_reads_what_it_left_out_when_the_log_of_another_is_too_short() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    first, second = world.key(partition=0), world.key(partition=1)
    await world.state_log.initialize(
        [
            PartitionInitialization(first, StateEpoch(1), 50),
            PartitionInitialization(second, StateEpoch(1), 0),
        ]
    )
    world.produce(3)
    world.produce(5, partition=1)
    mallory = world.member("mallory")
    await mallory.open((ORDERS, 0), (ORDERS, 1), max_records=0)
    for key in (first, second):
        await loaded(world.groups.directory, key)
    reads_before = len(world.reader.reads)

    # When
    fetch = asyncio.get_running_loop().create_task(mallory.fetch(max_wait_ms=60_000, max_bytes=1))
    await until_all_wait(100)

    # Then
    assert fetch.done()
    assert acquired(fetch.result(), partition=1) == [(0, 4, 1)]
    assert [read.partition for read in world.reader.reads[reads_before:]] == [0, 1]


async def test_who_leaves_out_what_it_was_called_for_calls_the_next_that_asked() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    first, second = (
        world.groups.availability.listen((KEY,), ShareSessionKey(1, GroupId("g"), MemberId(name)))
        for name in ("alice", "bob")
    )
    first.owe_call(KEY, second)

    # When
    HeldTurns(world.groups._services, first).leave_out(KEY)

    # Then
    assert second.is_news
    assert first.owed_keys == ()
