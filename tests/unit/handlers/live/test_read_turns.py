"""One read in flight per share-partition, and who owes whom a call."""

import asyncio

from kproxy.handlers.live.fetch_signals import FetchSignals
from kproxy.handlers.live.read_turns import ReadTurns
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.limits import ShareLimits
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

KEY = ShareGroupWorld.key()


async def a_world() -> ShareGroupWorld:
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    return world


def test_only_one_fetch_reads_a_share_partition_and_it_owes_the_other_a_call() -> None:
    # Given
    turns = ReadTurns()
    first, second = FetchSignals(), FetchSignals()
    turns.take(KEY, first)

    # When
    is_taken = turns.take(KEY, second)

    # Then
    assert not is_taken
    assert (first.owed_keys, second.owed_keys) == ((KEY,), ())


def test_whom_an_asker_owes_a_call_is_owed_it_by_the_one_that_reads() -> None:
    # Given
    turns = ReadTurns()
    reader, asker, behind = (FetchSignals() for _ in range(3))
    for signals in (reader, asker, behind):
        signals.is_listening = signals.is_asleep = True
    asker.owe_call(KEY, reader, behind)
    turns.take(KEY, reader)

    # When
    turns.take(KEY, asker)

    # Then
    assert asker.owed_keys == ()
    assert [*reader.paid_calls(KEY)] == [asker]
    assert [*asker.paid_calls(KEY)] == [behind]


def test_a_turn_that_was_given_back_can_be_taken_by_another() -> None:
    # Given
    turns = ReadTurns()
    reader = FetchSignals()
    turns.take(KEY, reader)

    # When
    turns.give_back(KEY, reader)

    # Then
    assert turns.take(KEY, FetchSignals())


def test_turns_are_given_back_by_whoever_has_them() -> None:
    # Given
    turns = ReadTurns()
    reader, other = FetchSignals(), FetchSignals()
    keys = [ShareGroupWorld.key(partition=partition) for partition in range(3)]
    for key in keys:
        turns.take(key, reader)
    turns.give_back(keys[0], reader)
    turns.take(keys[0], other)

    # When
    turns.leave(reader)
    turns.give_back(keys[0], reader)

    # Then
    assert [turns.take(key, FetchSignals()) for key in keys] == [False, True, True]


async def test_a_partition_that_another_fetch_reads_is_not_read_twice() -> None:
    # Given
    world = await a_world()
    world.produce(3)
    world.produce(3)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()
    is_released = asyncio.Event()

    async def hold() -> None:
        await is_released.wait()

    # When
    async with asyncio.TaskGroup() as tasks:
        world.reader.before_read = hold
        first = tasks.create_task(alice.fetch(max_records=3))
        second = tasks.create_task(bob.fetch(max_records=3))
        await until_all_wait()
        waited_for = world.availability.waits[-1][0]
        is_released.set()

    # Then
    assert waited_for[KEY] is None
    assert acquired(first.result()) == [(0, 2, 1)]
    assert acquired(second.result()) == [(3, 5, 1)]
    assert [read.offset for read in world.reader.reads] == [0, 3]


async def test_fetches_that_find_nothing_do_not_wake_each_other_for_ever() -> None:
    # Given
    world = await a_world()
    members = [world.member(name) for name in ("alice", "bob", "carol", "dave")]
    for member in members:
        await member.open()

    async def let_others_run() -> None:
        await asyncio.sleep(0)

    world.reader.before_read = let_others_run

    # When
    async with asyncio.TaskGroup() as tasks:
        for member in members:
            tasks.create_task(member.fetch(max_wait_ms=500))
        await until_all_wait(200)
        read_count = len(world.reader.reads)
        world.clock.advance(500)

    # Then
    assert read_count == 1


async def test_who_waits_for_other_readers_looks_at_what_is_signalled_and_reads_nothing_else() -> None:
    # Given
    world = await world_with_orders(passes_time=False, partition_count=3)
    alice, bob, carol = (world.member(name) for name in ("alice", "bob", "carol"))
    world.produce(1, partition=1)
    await alice.open((ORDERS, 1), max_records=1)
    for member in (bob, carol):
        await member.open(*((ORDERS, partition) for partition in range(3)))

    # When
    async with asyncio.TaskGroup() as tasks:
        for member in (bob, carol):
            tasks.create_task(member.fetch(max_wait_ms=500))
        await until_all_wait()
        read_count = len(world.reader.reads)
        await alice.acknowledge({(ORDERS, 1): [(0, 0, [2])]})
        await until_all_wait()
        read_partitions = {read.partition for read in world.reader.reads[read_count:]}
        world.clock.advance(500)

    # Then
    assert read_partitions == {1}


async def test_who_waits_for_another_reader_is_called_when_that_fetch_ends_without_records() -> None:
    # Given
    world = await a_world()
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()

    async def let_others_run() -> None:
        await asyncio.sleep(0)

    world.reader.before_read = let_others_run

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(max_wait_ms=100))
        fetch = tasks.create_task(bob.fetch(max_wait_ms=5_000))
        await until_all_wait()
        world.clock.advance(100)
        await until_all_wait()
        world.produce(2)

    # Then
    assert acquired(fetch.result()) == [(0, 1, 1)]
    assert world.clock.now_ms() == 1_100


# ---- room in a full window


async def alice_holds_the_whole_window() -> tuple[ShareGroupWorld, Member, Member]:
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=10))
    world = await world_with_orders(passes_time=False, limits=limits)
    for _ in range(10):
        world.produce(5)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()
    assert acquired(await alice.fetch(max_records=10)) == [(0, 9, 1)]
    return world, alice, bob


async def test_room_that_a_member_makes_with_its_fetch_goes_to_the_one_that_has_waited_for_it() -> None:
    # Given
    world, alice, bob = await alice_holds_the_whole_window()

    # When
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(bob.fetch(max_records=10))
        await until_all_wait()
        fetch = tasks.create_task(alice.fetch(acks={(ORDERS, 0): [(0, 9, [1])]}, max_records=10))
        await until_all_wait()
        are_answered = waiting.done(), fetch.done()
        await bob.acknowledge({(ORDERS, 0): [(10, 19, [1])]})
        await until_all_wait()
        world.clock.advance(500)

    # Then
    assert are_answered == (True, False)
    assert acquired(waiting.result()) == [(10, 19, 1)]
    assert acquired(fetch.result()) == [(20, 29, 1)]


async def test_room_goes_to_as_many_as_it_is_enough_for_the_longest_waiting_first() -> None:
    # Given
    world, alice, bob = await alice_holds_the_whole_window()
    carol, dave = world.member("carol"), world.member("dave")
    await carol.open()
    await dave.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        waiting = []
        for member in (carol, bob, dave):
            waiting.append(tasks.create_task(member.fetch(max_records=5)))
            await until_all_wait()
        await alice.acknowledge({(ORDERS, 0): [(0, 9, [1])]})
        await until_all_wait()
        are_answered = [each.done() for each in waiting]
        world.clock.advance(500)

    # Then
    assert are_answered == [True, True, False]
    assert [acquired(each.result()) for each in waiting] == [[(10, 14, 1)], [(15, 19, 1)], []]


async def test_room_that_nobody_waits_for_any_more_is_not_kept_for_anybody() -> None:
    # Given
    world, alice, bob = await alice_holds_the_whole_window()

    # When
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(bob.fetch(max_records=10))
        await until_all_wait()
        bob.caller.is_gone = True
        fetch = tasks.create_task(alice.fetch(acks={(ORDERS, 0): [(0, 9, [1])]}, max_records=10))
        await until_all_wait()
        is_answered = fetch.done()
        world.clock.advance(500)

    # Then
    assert is_answered
    assert acquired(fetch.result()) == [(10, 19, 1)]
    assert acquired(waiting.result()) == []


async def test_room_is_handed_on_by_a_fetch_that_ends_in_that_moment() -> None:
    # Given
    world, alice, bob = await alice_holds_the_whole_window()
    carol = world.member("carol")
    await carol.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(bob.fetch(max_records=10))
        await until_all_wait()
        waiting = tasks.create_task(carol.fetch(max_records=10))
        await until_all_wait()
        bob.caller.is_gone = True
        await alice.acknowledge({(ORDERS, 0): [(0, 9, [1])]})
        await until_all_wait()
        is_answered = waiting.done()
        world.clock.advance(500)

    # Then
    assert is_answered
    assert acquired(waiting.result()) == [(10, 19, 1)]


def test_it_is_counted_how_often_a_share_partition_could_not_be_read_at_once_and_why() -> None:
    # Given
    turns = ReadTurns()
    reader, asker = FetchSignals(), FetchSignals()
    turns.take(KEY, reader)

    # When
    turns.take(KEY, asker)
    turns.wait_for_room(KEY, asker)
    turns.wait_for_room(KEY, asker)

    # Then
    assert turns.waits() == {("busy",): 1, ("full",): 1}
