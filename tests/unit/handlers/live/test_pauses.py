"""Long work lets others go on, and is cut short like any other wait."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import pairwise

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.fetching import record_acquisition
from kproxy.handlers.live.pauses import (
    MOST_AT_FIRST,
    MOST_AT_ONCE,
    Pace,
    let_others_go_on,
    work_on,
)
from kproxy.statelog.actors import Cause
from tests.worlds.share_group_world import (
    ORDERS,
    Acks,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    loaded,
    partitions_of,
    world_with_orders,
)
from tests.worlds.waiting import turns_during, until_all_wait

PARTITION_COUNT = 2 * MOST_AT_ONCE + 1


async def test_others_have_a_turn() -> None:
    # Given
    events: list[str] = []

    async def other() -> None:
        events.append("other")

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(other())
        events.append("before")
        await let_others_go_on()
        events.append("after")

    # Then
    assert events == ["before", "other", "after"]


@pytest.mark.parametrize(
    ("pace", "first"),
    [(Pace(), MOST_AT_FIRST), (Pace(is_alone=True), MOST_AT_ONCE)],
    ids=["beside others", "alone"],
)
def test_a_pause_is_due_soon_and_then_after_so_much_work_again_and_again(pace: Pace, first: int) -> None:
    # When
    due = [number for number in range(1, first + 2 * MOST_AT_ONCE + 1) if pace.is_pause_due()]

    # Then
    assert due == [first, first + MOST_AT_ONCE, first + 2 * MOST_AT_ONCE]
    assert [pace.is_pause_due(work) for work in (MOST_AT_ONCE - 1, 1)] == [False, True]


async def a_member_of_very_many_partitions() -> tuple[ShareGroupWorld, Member]:
    """Each of them has one record."""
    world = ShareGroupWorld()
    numbers = range(PARTITION_COUNT)
    world.metadata.create_topic("orders", ORDERS, partition_count=PARTITION_COUNT)
    for number in numbers:
        await world.initialize(partition=number)
        world.produce(1, partition=number)
    alice = world.member()
    await alice.open(*((ORDERS, number) for number in numbers))
    return world, alice


async def a_member_that_holds_very_much() -> tuple[ShareGroupWorld, Member]:
    world, alice = await a_member_of_very_many_partitions()
    taken: set[int] = set()
    while len(taken) < PARTITION_COUNT:
        answer = await alice.fetch(max_records=10_000)
        taken.update(number for (_, number), data in partitions_of(answer).items() if data.acquired_records)
    return world, alice


ACCEPTED: Acks = {(ORDERS, number): [(0, 0, [1])] for number in range(PARTITION_COUNT)}


async def test_an_acknowledgement_of_very_many_partitions_lets_others_go_on_in_between() -> None:
    # Given
    world, alice = await a_member_that_holds_very_much()
    seen: list[int] = []

    def acknowledged_count() -> int:
        return sum(
            live is not None and live.start_offset == 1
            for live in (world.groups.directory.find(world.key(partition=n)) for n in range(PARTITION_COUNT))
        )

    # When
    task = asyncio.get_running_loop().create_task(alice.acknowledge(ACCEPTED))
    while not task.done():
        await asyncio.sleep(0)
        seen.append(acknowledged_count())
    answer = await task

    # Then
    assert [count for count in dict.fromkeys(seen) if count] == [
        MOST_AT_FIRST - 1,
        MOST_AT_FIRST + MOST_AT_ONCE - 1,
        PARTITION_COUNT,
    ]
    assert set(acknowledge_errors(answer).values()) == {ErrorCode.NONE}


async def test_what_is_cut_short_in_between_leaves_no_share_partition_in_doubt() -> None:
    # Given
    world, alice = await a_member_that_holds_very_much()
    task = asyncio.get_running_loop().create_task(alice.acknowledge(ACCEPTED))
    first = world.groups.directory.find(world.key())
    assert first is not None
    while first.start_offset == 0:  # noqa: ASYNC110 - the scenario is bounded
        await asyncio.sleep(0)

    # When
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_all_wait()

    # Then
    assert first.is_fenced
    assert world.groups.directory.find(world.key(partition=PARTITION_COUNT - 1)) is not None


async def test_locks_of_very_many_share_partitions_that_end_at_once_end_bit_by_bit() -> None:
    # Given
    world, _ = await a_member_that_holds_very_much()
    world.clock.advance(60_000)

    # When
    ended: list[int] = []
    while (deadline_ms := world.groups.next_deadline_ms()) is not None and len(ended) < PARTITION_COUNT:
        assert deadline_ms <= world.clock.now_ms()
        await world.expire()
        ended.append(world.observer.counts["share_lock_timeouts",])

    # Then
    assert ended == [MOST_AT_ONCE, 2 * MOST_AT_ONCE, PARTITION_COUNT]


def test_a_share_partition_of_many_runs_is_as_much_work_as_many_others() -> None:
    assert [work_on(run_count) for run_count in (0, 15, 1_600)] == [1, 1, 101]


RECORD_COUNT = 1_600
WORN_COUNT = 24
"""So many share-partitions, with so many records each."""


async def a_member_that_holds_many_records() -> tuple[ShareGroupWorld, Member]:
    world = await world_with_orders(partition_count=WORN_COUNT)
    alice = world.member()
    await alice.open(*((ORDERS, number) for number in range(WORN_COUNT)))
    for number in range(WORN_COUNT):
        world.produce(RECORD_COUNT, partition=number)
    await alice.fetch(max_records=WORN_COUNT * RECORD_COUNT)
    assert world.groups.in_flight_count == WORN_COUNT * RECORD_COUNT
    return world, alice


async def accept_every_other(world: ShareGroupWorld, alice: Member) -> list[int]:
    """Return how many share-partitions had changed whenever others had a turn."""
    said = [(offset, offset, [1]) for offset in range(1, RECORD_COUNT, 2)]
    acks: Acks = {(ORDERS, number): said for number in range(WORN_COUNT)}
    found = [world.groups.directory.find(world.key(partition=number)) for number in range(WORN_COUNT)]
    seen: list[int] = []
    task = asyncio.get_running_loop().create_task(alice.acknowledge(acks))
    while not task.done():
        await asyncio.sleep(0)
        seen.append(sum(live is not None and live.run_count > 1 for live in found))
    await task
    return list(dict.fromkeys(seen))


async def test_an_acknowledgement_of_very_many_records_lets_others_go_on_in_between() -> None:
    # Given
    world, alice = await a_member_that_holds_many_records()

    # When
    seen = await accept_every_other(world, alice)

    # Then
    assert seen == [0, 10, 20, WORN_COUNT]


async def test_an_acknowledgement_of_very_many_batches_that_are_malformed_lets_others_go_on_in_between() -> (
    None
):
    # Given
    world = await world_with_orders(partition_count=WORN_COUNT)
    alice = world.member()
    await alice.open()
    said = [(offset, offset, [9]) for offset in range(20_000)]

    # When
    turn_count = await turns_during(
        alice.acknowledge({(ORDERS, number): said for number in range(WORN_COUNT)})
    )

    # Then
    assert turn_count > WORN_COUNT * len(said) // 100_000


async def test_locks_in_share_partitions_of_very_many_runs_end_bit_by_bit() -> None:
    # Given
    world, alice = await a_member_that_holds_many_records()
    await accept_every_other(world, alice)
    world.clock.advance(60_000)

    # When
    ended: list[int] = []
    while world.groups.next_deadline_ms() is not None and len(ended) < WORN_COUNT:
        await world.expire()
        ended.append(world.observer.counts["share_lock_timeouts",] // (RECORD_COUNT // 2))

    # Then
    assert ended == [5, 10, 15, 20, WORN_COUNT]


async def test_a_fetch_of_very_many_records_that_lie_apart_lets_others_go_on_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(record_acquisition, "MOST_RANGES", WORN_COUNT * RECORD_COUNT)
    world, alice = await a_member_that_holds_many_records()
    await accept_every_other(world, alice)
    await alice.disconnect()
    bob = world.member("bob")
    await bob.open(*((ORDERS, number) for number in range(WORN_COUNT)))
    for number in range(WORN_COUNT):
        await loaded(world.groups.directory, world.key(partition=number))
    seen: list[int] = []

    # When
    task = asyncio.get_running_loop().create_task(bob.fetch(max_records=WORN_COUNT * RECORD_COUNT))
    while not task.done():
        await asyncio.sleep(0)
        seen.append(world.observer.counts["share_deliveries", "false"] // (RECORD_COUNT // 4))
    await task

    # Then
    assert [count for count in dict.fromkeys(seen) if count] == [2, 22, WORN_COUNT]


async def counts_during(work: Coroutine[object, object, object], count: Callable[[], int]) -> list[int]:
    """Return what `count` said whenever others had a turn, each new value once."""
    seen: list[int] = []
    task = asyncio.get_running_loop().create_task(work)
    while not task.done():
        await asyncio.sleep(0)
        seen.append(count())
    await task
    return list(dict.fromkeys(seen))


def released_count(world: ShareGroupWorld) -> int:
    """Of how many share-partitions something was released."""
    actors = [actor for (actor, *_) in world.state_log.actors]
    return sum(actor.cause is Cause.SESSION_CLOSE for actor in actors)


async def close_with_acknowledge(alice: Member) -> object:
    return await alice.acknowledge(epoch=-1)


async def close_with_fetch(alice: Member) -> object:
    return await alice.fetch(epoch=-1)


@pytest.mark.parametrize("end", [close_with_acknowledge, close_with_fetch, Member.disconnect])
async def test_the_end_of_a_session_that_holds_records_of_very_many_partitions_lets_others_go_on_in_between(
    end: Callable[[Member], Coroutine[object, object, object]],
) -> None:
    # Given
    world, alice = await a_member_that_holds_very_much()

    # When
    seen = await counts_during(end(alice), lambda: released_count(world))

    # Then
    assert [count for count in seen if count] == [
        MOST_AT_FIRST,
        MOST_AT_FIRST + MOST_AT_ONCE,
        PARTITION_COUNT,
    ]
    assert (world.groups.session_count, world.groups.share_partition_count) == (0, 0)


async def test_the_end_of_a_session_that_holds_very_many_runs_lets_others_go_on_in_between() -> None:
    # Given
    world, alice = await a_member_that_holds_many_records()
    await accept_every_other(world, alice)

    # When
    seen = await counts_during(alice.disconnect(), lambda: released_count(world))

    # Then
    assert [count for count in seen if count] == [1, 6, 11, 16, 21, WORN_COUNT]


async def test_sessions_that_end_together_release_no_more_in_a_turn_than_one_of_them() -> None:
    # Given
    world, alice = await a_member_of_very_many_partitions()
    bob = world.member("bob")
    await bob.open(*((ORDERS, number) for number in range(PARTITION_COUNT)))
    for number in range(PARTITION_COUNT):
        await loaded(world.groups.directory, world.key(partition=number))
    while world.groups.in_flight_count < PARTITION_COUNT // 2:
        await alice.fetch(max_records=PARTITION_COUNT // 2)
    while world.groups.in_flight_count < PARTITION_COUNT:
        await bob.fetch(max_records=PARTITION_COUNT)
    ends: list[int] = []

    # When
    both = asyncio.gather(alice.disconnect(), bob.disconnect())
    while not both.done():
        await asyncio.sleep(0)
        ends.append(released_count(world))
    await both

    # Then
    steps = [after - before for before, after in pairwise([0, *ends])]
    assert sum(steps) == PARTITION_COUNT
    assert max(steps[1:]) <= MOST_AT_ONCE


async def a_member_that_may_acquire_very_much() -> tuple[ShareGroupWorld, Member]:
    """All share-partitions are live."""
    world, alice = await a_member_of_very_many_partitions()
    for number in range(PARTITION_COUNT):
        await loaded(world.groups.directory, world.key(partition=number))
    return world, alice


async def test_a_fetch_of_very_many_partitions_lets_others_go_on_in_between() -> None:
    # Given
    world, alice = await a_member_that_may_acquire_very_much()
    seen: list[int] = []

    # When
    task = asyncio.get_running_loop().create_task(alice.fetch(max_records=10_000))
    while not task.done():
        await asyncio.sleep(0)
        seen.append(world.groups.in_flight_count)
    answer = await task

    # Then
    assert [count for count in dict.fromkeys(seen) if count] == [
        MOST_AT_FIRST,
        MOST_AT_FIRST + MOST_AT_ONCE,
        PARTITION_COUNT,
    ]
    assert all(data.acquired_records for data in partitions_of(answer).values())
    assert len(partitions_of(answer)) == PARTITION_COUNT


async def test_nothing_is_acquired_for_a_session_that_ends_while_others_have_a_turn() -> None:
    # Given
    world, alice = await a_member_that_may_acquire_very_much()
    task = asyncio.get_running_loop().create_task(alice.fetch(max_records=10_000))
    while world.groups.in_flight_count == 0:  # noqa: ASYNC110 - the scenario is bounded
        await asyncio.sleep(0)

    # When
    await alice.disconnect()
    answer = await task

    # Then
    assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert world.groups.in_flight_count == 0


async def test_a_share_partition_that_is_discarded_while_others_have_a_turn_is_loaded_and_read_again() -> (
    None
):
    # Given
    world, alice = await a_member_that_may_acquire_very_much()
    task = asyncio.get_running_loop().create_task(alice.fetch(max_records=10_000))
    while world.groups.in_flight_count == 0:  # noqa: ASYNC110 - the scenario is bounded
        await asyncio.sleep(0)

    # When
    world.discard([world.key(partition=PARTITION_COUNT - 2)])
    taken = partitions_of(await task).keys() | partitions_of(await alice.fetch(max_records=10_000)).keys()

    # Then
    assert len(taken) == PARTITION_COUNT
