"""A fetch of very many share-partitions lets others go on while it looks at them, long before it has read any."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import pairwise

import pytest

from kproxy.handlers.live.fetch_signals import FetchSignals
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.handlers.live.read_turns import ReadTurns
from kproxy.share.identifiers import SharePartitionKey
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld, loaded, world_with_orders

PARTITION_COUNT = 2 * MOST_AT_ONCE + 1


async def a_member_of_very_many_partitions() -> tuple[ShareGroupWorld, Member]:
    """None of them is live."""
    world = await world_with_orders(partition_count=PARTITION_COUNT)
    alice = world.member()
    await alice.open(*((ORDERS, number) for number in range(PARTITION_COUNT)))
    return world, alice


async def steps_during(work: Coroutine[object, object, object], count: Callable[[], int]) -> Sequence[int]:
    """Return by how much `count` grew from one turn of others to the next."""
    seen = [count()]
    task = asyncio.get_running_loop().create_task(work)
    while not task.done():
        await asyncio.sleep(0)
        seen.append(count())
    await task
    return [after - before for before, after in pairwise(seen)]


async def test_a_fetch_of_what_is_not_live_begins_no_more_loads_in_a_turn_than_so_many() -> None:
    # Given
    world, alice = await a_member_of_very_many_partitions()

    # When
    steps = await steps_during(
        alice.fetch(max_wait_ms=0), lambda: len(world.groups.directory.known_keys_of(world.key().group_id))
    )

    # Then
    assert sum(steps) >= PARTITION_COUNT
    assert max(steps) <= MOST_AT_ONCE


async def test_a_fetch_of_what_is_live_takes_no_more_turns_to_read_at_once_than_so_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world, alice = await a_member_of_very_many_partitions()
    for number in range(PARTITION_COUNT):
        await loaded(world.groups.directory, world.key(partition=number))
    taken: list[SharePartitionKey] = []
    take = ReadTurns.take

    def counted(turns: ReadTurns, key: SharePartitionKey, asker: FetchSignals) -> bool:
        taken.append(key)
        return take(turns, key, asker)

    monkeypatch.setattr(ReadTurns, "take", counted)

    # When
    steps = await steps_during(alice.fetch(max_wait_ms=0), lambda: len(taken))

    # Then
    assert sum(steps) == PARTITION_COUNT
    assert max(steps) <= MOST_AT_ONCE
