"""Loads of share-partitions wait their turn, and are forgotten when nobody wants them any more."""

import asyncio

import pytest

from kproxy.errors import ShareStateStillLoading
from kproxy.handlers.live.load_queue import MOST_LOADS, OWN_PLACES, LoadQueue, LoadUnderWay, Stays
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acquired
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


def a_full_queue(*others: str) -> tuple[LoadQueue, BegunLoads]:
    """Return one in which group g has all places, and each of `others` those of its own."""
    begin = BegunLoads()
    queue = LoadQueue(begin)
    for partition in range(MOST_LOADS):
        queue.put(key(partition))
    for group_id in others:
        for partition in range(OWN_PLACES):
            queue.put(key(-1 - partition, group_id))
    begin.keys.clear()
    return queue, begin


def test_so_many_loads_begin_at_once_and_the_next_one_when_one_has_ended() -> None:
    # Given
    queue, begin = a_full_queue()

    # When
    for partition in range(MORE):
        queue.put(key(MOST_LOADS + partition))
    begun_before = list(begin.keys)
    queue.end(key(0))

    # Then
    assert begun_before == []
    assert begin.keys == [key(MOST_LOADS)]


def test_what_waits_and_what_is_under_way_is_known_by_its_group_until_it_has_ended() -> None:
    # Given
    queue, _ = a_full_queue()
    waiting = [key(partition, "other") for partition in range(OWN_PLACES + MORE)]

    # When
    for each in waiting:
        queue.put(each)
    before = set(queue.of(GroupId("other")))
    for each in waiting:
        queue.end(each)

    # Then
    assert before == set(waiting)
    assert queue.of(GroupId("other")) == ()
    assert queue.group_ids == {"g"}
    assert len(queue.of(GroupId("g"))) == MOST_LOADS


def test_loads_of_one_group_that_hang_keep_no_other_one_from_places_of_its_own() -> None:
    # Given
    queue, begin = a_full_queue()

    # When
    for partition in range(OWN_PLACES + MORE):
        queue.put(key(partition, "other"))
    begun_at_once = list(begin.keys)
    for partition in range(MORE):
        queue.end(key(partition, "other"))

    # Then
    assert begun_at_once == [key(partition, "other") for partition in range(OWN_PLACES)]
    assert begin.keys == [key(partition, "other") for partition in range(OWN_PLACES + MORE)]


def test_groups_take_turns() -> None:
    # Given
    queue, begin = a_full_queue("many", "few")
    for partition in range(3):
        queue.put(key(partition, "many"))
    queue.put(key(0, "few"))

    # When
    for partition in range(2 * OWN_PLACES + 4):
        queue.end(key(partition))

    # Then
    assert begin.keys == [key(0, "many"), key(0, "few"), key(1, "many"), key(2, "many")]


def test_a_place_that_becomes_free_beyond_the_bound_is_taken_by_nobody_else() -> None:
    # Given
    queue, begin = a_full_queue("few")
    queue.put(key(MOST_LOADS))

    # When
    for partition in range(OWN_PLACES):
        queue.end(key(-1 - partition, "few"))
    begun_beyond = list(begin.keys)
    queue.end(key(0))

    # Then
    assert begun_beyond == []
    assert begin.keys == [key(MOST_LOADS)]


def test_what_is_dropped_never_begins() -> None:
    # Given
    queue, begin = a_full_queue("a", "b")
    for group_id in ("a", "b"):
        queue.put(key(0, group_id))

    # When
    dropped = queue.drop({GroupId("a"), GroupId("unknown")})
    queue.end(key(-1, "a"))
    queue.end(key(-1, "b"))

    # Then
    assert list(dropped) == [key(0, "a")]
    assert begin.keys == [key(0, "b")]


async def test_records_of_one_group_come_while_all_loads_of_another_one_hang() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    world.metadata.create_topic("orders", ORDERS, partition_count=MOST_LOADS + MORE)
    await world.initialize("quick")
    world.produce(1)
    for partition in range(MOST_LOADS + MORE):
        await world.initialize("hanging", partition=partition)
    world.state_log.hold_loads = asyncio.Event()
    hanging = world.member(group_id="hanging")
    async with asyncio.TaskGroup() as tasks:
        partitions = ((ORDERS, number) for number in range(MOST_LOADS + MORE))
        fetch = tasks.create_task(hanging.open(*partitions, max_records=1, max_wait_ms=60_000))
        await until_all_wait()
        load_count = len(world.state_log.loads)
        world.state_log.hold_loads = None

        # When
        quick = world.member(group_id="quick")
        answer = await quick.open(max_records=1, max_wait_ms=60_000)
        fetch.cancel()

    # Then
    assert load_count == MOST_LOADS
    assert acquired(answer) == [(0, 0, 1)]


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
    assert len(world.state_log.loads) == MOST_LOADS + OWN_PLACES
    world.state_log.hold_loads.set()
    await until_all_wait()
    assert len(world.state_log.loads) == MOST_LOADS + OWN_PLACES


HERE = SharePartitionKey(GroupId("g"), TopicId(b"here"), 0)


@pytest.mark.parametrize(
    ("topic_ids", "group_ids"),
    [([HERE.topic_id, TopicId(b"unheard of")], []), ([], [HERE.group_id, GroupId("new")])],
)
def test_the_end_of_a_stay_concerns_all_that_began_in_it_and_nothing_later(
    topic_ids: list[TopicId], group_ids: list[GroupId]
) -> None:
    # Given
    stays = Stays()
    first = stays.of(HERE)
    other = stays.of(HERE._replace(topic_id=TopicId(b"there"), group_id=GroupId("another")))
    load = LoadUnderWay(stays.of(HERE))

    # When
    stays.end(topic_ids, group_ids)

    # Then
    later = stays.of(HERE)
    assert (first.is_over, other.is_over, later.is_over) == (True, False, False)
    assert load.is_outdated
    with pytest.raises(ShareStateStillLoading, match="was changed while it was loaded"):
        load.require_up_to_date(HERE)


def test_stays_of_which_nothing_is_held_any_more_are_forgotten() -> None:
    # Given
    stays = Stays()
    both = stays.of(HERE)
    while_held = len(stays._of_topics), len(stays._of_groups)

    # When
    del both

    # Then
    assert while_held == (1, 1)
    assert (len(stays._of_topics), len(stays._of_groups)) == (0, 0)
