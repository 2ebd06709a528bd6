"""The administration of offsets in the registry."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live.pauses import MOST_AT_FIRST, MOST_AT_ONCE
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld
from tests.worlds.share_offset_requests import alter, delete, describe_all
from tests.worlds.waiting import turns_during


async def test_while_share_groups_are_away_each_group_and_each_request_is_told_so() -> None:
    # Given
    world = ShareGroupWorld()
    world.groups.apis.set_unavailable("the state log is being loaded")

    # When
    described = await describe_all(world, {"g": None, "h": {}})
    altered, deleted = await alter(world, {"orders": {0: 1}}), await delete(world, "orders")

    # Then
    assert [group.error_code for group in described] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert [altered.error_code, deleted.error_code] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2


async def test_others_have_turns_while_very_many_offsets_are_altered() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=5 * MOST_AT_ONCE)
    offsets = dict.fromkeys(range(10 * MOST_AT_ONCE), 3)

    # When
    turn_count = await turns_during(alter(world, {"orders": offsets}))

    # Then
    assert turn_count >= 20


GROUPS = ["g", "h", "i"]
WIDE_COUNT = MOST_AT_FIRST + 1


def moved_count(world: ShareGroupWorld) -> int:
    """Return how many groups' states have been begun at another offset than 0."""
    states = world.state_log.memory.fold.states
    return len({key.group_id for key, state in states.items() if state.start_offset})


def left_count(world: ShareGroupWorld) -> int:
    """Return how many groups have states."""
    return len({key.group_id for key in world.state_log.memory.fold.states})


async def alter_wide(world: ShareGroupWorld, group_id: str) -> object:
    return await alter(world, {"orders": dict.fromkeys(range(WIDE_COUNT), 3)}, group_id=group_id)


async def delete_wide(world: ShareGroupWorld, group_id: str) -> object:
    return await delete(world, "orders", group_id=group_id)


@pytest.mark.parametrize(
    ("ask", "count"), [(alter_wide, moved_count), (delete_wide, left_count)], ids=["altered", "deleted"]
)
async def test_of_several_groups_with_very_many_offsets_one_has_its_own_changed_in_a_turn(
    ask: Callable[[ShareGroupWorld, str], Awaitable[object]], count: Callable[[ShareGroupWorld], int]
) -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=WIDE_COUNT)
    if count is left_count:
        for group_id in GROUPS:
            await alter_wide(world, group_id)
    counts: list[int] = []

    # When
    asked = asyncio.gather(*(ask(world, group_id) for group_id in GROUPS))
    while not asked.done():
        counts.append(count(world))
        await asyncio.sleep(0)
    await asked
    counts.append(count(world))

    # Then
    steps = [abs(after - before) for before, after in pairwise(counts)]
    assert sum(steps) == len(GROUPS)
    assert max(steps) == 1
