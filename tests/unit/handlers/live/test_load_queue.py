"""Loads of share-partitions wait their turn, and are forgotten when nobody wants them any more."""

import asyncio

from kproxy.handlers.live.load_queue import MOST_LOADS, LoadQueue
from kproxy.share.identifiers import GroupId, SharePartitionKey
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld
from tests.worlds.waiting import until_all_wait

MORE = 5


def key(partition: int, group_id: str = "g") -> SharePartitionKey:
    return ShareGroupWorld.key(group_id, partition=partition)


class BegunLoads:
    """Remembers what was begun."""

    def __init__(self) -> None:
        self.keys: list[SharePartitionKey] = []

    def __call__(self, key: SharePartitionKey) -> None:
        self.keys.append(key)


def a_full_queue() -> tuple[LoadQueue, BegunLoads]:
    begin = BegunLoads()
    queue = LoadQueue(begin)
    for partition in range(MOST_LOADS):
        queue.put(key(partition))
    begin.keys.clear()
    return queue, begin


def test_so_many_loads_begin_at_once_and_the_next_one_when_one_has_ended() -> None:
    # Given
    queue, begin = a_full_queue()

    # When
    for partition in range(MORE):
        queue.put(key(partition, "more"))
    begun_before = list(begin.keys)
    queue.end()

    # Then
    assert begun_before == []
    assert begin.keys == [key(0, "more")]


def test_groups_take_turns() -> None:
    # Given
    queue, begin = a_full_queue()
    for partition in range(3):
        queue.put(key(partition, "many"))
    queue.put(key(0, "few"))

    # When
    for _ in range(4):
        queue.end()

    # Then
    assert begin.keys == [key(0, "many"), key(0, "few"), key(1, "many"), key(2, "many")]


def test_what_is_dropped_never_begins() -> None:
    # Given
    queue, begin = a_full_queue()
    for group_id in ("a", "b"):
        queue.put(key(0, group_id))

    # When
    dropped = queue.drop({GroupId("a"), GroupId("unknown")})
    queue.end()
    queue.end()

    # Then
    assert list(dropped) == [key(0, "a")]
    assert begin.keys == [key(0, "b")]


async def test_loads_that_wait_while_the_state_log_hangs_go_with_the_session_that_wanted_them() -> None:
    # Given
    world = ShareGroupWorld()
    partition_count = MOST_LOADS + MORE
    world.metadata.create_topic("orders", ORDERS, partition_count=partition_count)
    world.state_log.hold_loads = asyncio.Event()
    for group_id in ("first", "second"):
        member = world.member(group_id=group_id)
        await member.open(*((ORDERS, partition) for partition in range(partition_count)), max_records=1)
        await until_all_wait()

        # When
        await member.disconnect()

    # Then
    assert len(world.state_log.loads) == MOST_LOADS
    world.state_log.hold_loads.set()
    await until_all_wait()
    assert len(world.state_log.loads) == MOST_LOADS
