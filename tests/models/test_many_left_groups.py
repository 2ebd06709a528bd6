"""When the members of many groups go at once, what they held and what was live leaves turns to others."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from itertools import pairwise

import pytest

from kproxy.handlers.live import pauses
from kproxy.handlers.live.pauses import MOST_AT_FIRST, Pace, SharedStart, let_others_go_on
from kproxy.share.identifiers import GroupId
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld, acquired

GROUPS = [f"g{number}" for number in range(100)]
PARTITION_COUNT = 20


async def a_member_of_each_group(world: ShareGroupWorld) -> list[Member]:
    """Each of them holds a record of every partition."""
    world.metadata.create_topic("orders", ORDERS, partition_count=PARTITION_COUNT)
    for partition in range(PARTITION_COUNT):
        world.produce(1, partition=partition)
    members = [world.member("alice", group_id=group_id) for group_id in GROUPS]
    for member in members:
        for partition in range(PARTITION_COUNT):
            await world.initialize(member.group_id, partition=partition)
        await member.fetch(add=[(ORDERS, partition) for partition in range(PARTITION_COUNT)], max_wait_ms=0)
    return members


async def most_in_a_turn(count: Callable[[], int], work: Iterable[Coroutine[object, object, None]]) -> int:
    """Begin all of `work` in one turn; return by how much the count changed at most in one."""
    counts = [count()]
    async with asyncio.TaskGroup() as tasks:
        begun = [tasks.create_task(each) for each in work]
        while not all(each.done() for each in begun):
            await asyncio.sleep(0)
            counts.append(count())
    assert abs(counts[-1] - counts[0]) == len(GROUPS) * PARTITION_COUNT
    return max(abs(after - before) for before, after in pairwise(counts))


async def test_groups_that_are_unloaded_side_by_side_share_a_turn() -> None:
    # Given
    world = ShareGroupWorld()
    directory = world.groups.directory
    await a_member_of_each_group(world)
    for session in world.groups.sessions.sessions():
        world.groups.sessions.close(session)

    # When
    most = await most_in_a_turn(
        lambda: len(directory), (directory.unload_unwanted([GroupId(group_id)]) for group_id in GROUPS)
    )

    # Then
    assert most <= MOST_AT_FIRST + len(GROUPS)


async def test_what_members_held_whose_connections_are_lost_at_once_is_released_in_several_turns() -> None:
    # Given
    world = ShareGroupWorld()
    members = await a_member_of_each_group(world)

    # When
    most = await most_in_a_turn(
        lambda: len(world.state_log.deltas),
        (world.groups.connection_closed(member.connection_id) for member in members),
    )

    # Then
    assert most <= MOST_AT_FIRST + len(GROUPS)


async def test_those_who_begin_together_share_a_start_until_one_has_gone_on() -> None:
    # Given
    start = SharedStart()
    before = [Pace(start=start).is_pause_due() for _ in range(MOST_AT_FIRST + 2)]

    # When
    await let_others_go_on()

    # Then
    assert before == [False] * (MOST_AT_FIRST - 1) + [True] * 3
    assert not Pace(start=start).is_pause_due()


async def test_very_many_members_of_a_connection_that_is_lost_are_given_up_in_several_turns() -> None:
    # Given
    world = ShareGroupWorld()
    members = [world.member("alice", group_id=group_id) for group_id in (*GROUPS, "heard elsewhere")]
    for member in members:
        member.connection_id = members[0].connection_id
        await member.heartbeat(0, ["orders"])
    counts: list[int] = []

    def present_count() -> int:
        found = [world.groups.coordinator.find(GroupId(member.group_id)) for member in members]
        return sum(each.is_present for group in found if group for each in group.members.values())

    # When
    async with asyncio.TaskGroup() as tasks:
        closing = tasks.create_task(world.groups.connection_closed(members[0].connection_id))
        await asyncio.sleep(0)
        counts.append(present_count())
        members[-1].connection_id = world.new_connection()
        await members[-1].heartbeat(1)
        await closing
        counts.append(present_count())

    # Then
    assert counts == [len(members) - MOST_AT_FIRST, 1]


async def test_what_a_lost_connection_held_is_released_before_very_many_of_its_members_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 1)
    world = ShareGroupWorld()
    members = [world.member("alice", group_id=group_id) for group_id in GROUPS]
    for member in members:
        member.connection_id = members[0].connection_id
        await member.heartbeat(0, ["orders"])
    await world.initialize(GROUPS[0])
    world.produce(1)
    await members[0].fetch(add=[(ORDERS, 0)], max_wait_ms=0)
    bob = world.member("bob", group_id=GROUPS[0])
    await bob.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        closing = tasks.create_task(world.groups.connection_closed(members[0].connection_id))
        await asyncio.sleep(0)
        fetched = await bob.fetch(max_wait_ms=0)
        was_closed = closing.done()

    # Then
    assert not was_closed
    assert acquired(fetched) == [(0, 0, 2)]
