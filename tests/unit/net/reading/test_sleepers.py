"""Who is woken for what, and what the sleeper of a wide interest keeps while it is awake."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import Final

from kproxy.handlers.interest import MOST_ANEW, Interest
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.net.reading.sleepers import Sleeper, SleepersByKey, Watch, changes_of
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from tests.event_loops import async_fixture
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing, share_partition
from tests.worlds.waiting import turns_during

ORDERS_0, ORDERS_1 = (share_partition(ORDERS, number) for number in (0, 1))
LONG_MS: Final = 20_000


class Everything:
    """A bedroom that notes who left."""

    def __init__(self) -> None:
        self.left: list[Sleeper] = []

    def let_go(self, sleeper: Sleeper) -> None:
        self.left.append(sleeper)


def wide() -> Interest:
    return Interest(share_partition(ORDERS, number) for number in range(MOST_ANEW + 1))


def watching(sleeper: Sleeper, *missing: tuple[SharePartitionKey, int]) -> Watch:
    watch = Watch(TopicIdPartition(ORDERS, 0), 0, 0)
    for key, offset in missing:
        watch.sleepers.setdefault(sleeper, {})[key] = offset
        sleeper.watches[key] = watch
    return watch


async def test_records_wake_who_misses_an_offset_below_their_end() -> None:
    # Given
    sleeper = Sleeper(Everything())
    watch = watching(sleeper, (ORDERS_0, 4), (share_partition(ORDERS, 0, "h"), 5))
    woken = sleeper.fall_asleep()

    # When
    watch.wake_below(4)
    is_woken_too_early = woken.done()
    watch.wake_below(5)

    # Then
    assert (is_woken_too_early, woken.done()) == (False, True)
    assert list(sleeper.take_news()) == [ORDERS_0]
    assert list(sleeper.take_news()) == []


async def test_who_is_awake_hears_of_records_as_of_a_change_and_of_signals_as_of_news() -> None:
    # Given
    interest = wide()
    sleeper = Sleeper(Everything(), interest)
    watch = watching(sleeper, (ORDERS_0, 4))

    # When
    watch.wake_below(5)
    sleeper.wake((ORDERS_1,))

    # Then
    assert (interest.changed, interest.news) == ({ORDERS_0}, {ORDERS_1})


async def test_who_loses_a_watch_is_woken_and_watches_anew_at_its_next_wait() -> None:
    # Given
    interest = wide()
    sleeper = Sleeper(Everything(), interest)
    watching(sleeper, (ORDERS_0, 4))
    woken = sleeper.fall_asleep()

    # When
    sleeper.lose_watch([ORDERS_0])

    # Then
    assert woken.done()
    assert (interest.changed, interest.news, sleeper.watches) == ({ORDERS_0}, {ORDERS_0}, {})


async def test_who_gets_up_leaves_unless_it_is_kept_and_who_is_kept_leaves_at_the_end() -> None:
    # Given
    bedroom = Everything()
    once, kept = Sleeper(bedroom), Sleeper(bedroom, wide())

    # When
    once.get_up()
    kept.get_up()
    left_before_the_end = list(bedroom.left)
    kept.end()

    # Then
    assert left_before_the_end == [once]
    assert bedroom.left == [once, kept]
    assert (kept.is_of(bedroom), kept.is_of(Everything())) == (True, False)


def test_a_watch_is_left_for_one_share_partition_after_the_other() -> None:
    # Given
    sleeper, of_other_group = Sleeper(Everything()), share_partition(ORDERS, 0, "h")
    watch = watching(sleeper, (ORDERS_0, 4), (of_other_group, 4))

    # When
    watch.leave(ORDERS_0, sleeper, 7)
    left_to_wait_for = dict(watch.sleepers[sleeper])
    watch.leave(of_other_group, sleeper, 8)

    # Then
    assert left_to_wait_for == {of_other_group: 4}
    assert (watch.sleepers, watch.last_awaited_ms) == ({}, 8)


async def test_a_signal_wakes_those_of_its_share_partition_until_they_are_taken_out() -> None:
    # Given
    sleepers, first, second = SleepersByKey(), Sleeper(Everything()), Sleeper(Everything())
    for sleeper in (first, second):
        sleepers.add(ORDERS_0, sleeper)
    woken = [sleeper.fall_asleep() for sleeper in (first, second)]

    # When
    sleepers.signal(ORDERS_1)
    sleepers.take_out(ORDERS_0, second)
    sleepers.signal(ORDERS_0)

    # Then
    assert [each.done() for each in woken] == [True, False]
    sleepers.take_out(ORDERS_0, first)
    assert len(sleepers) == 0


def test_a_wait_looks_at_everything_that_it_is_not_registered_for_as_it_is() -> None:
    # Given
    interest = wide()
    sleeper = Sleeper(Everything(), interest)

    # When
    at_first = changes_of(interest, sleeper)
    SleepersByKey().add(ORDERS_0, sleeper)
    later = changes_of(interest, sleeper)

    # Then
    assert set(at_first) == set(interest)
    assert set(later) == set()


# ---- very many share-partitions: they are registered in several turns, and miss nothing meanwhile


@async_fixture
async def cluster() -> AsyncIterator[ScriptedCluster]:
    async with ScriptedCluster() as cluster:
        cluster.create_topic("orders", ORDERS, partition_count=2)
        yield cluster


@async_fixture
async def backing(cluster: ScriptedCluster) -> AsyncIterator[Backing]:
    """What knows of the topic `orders`, which has two partitions."""
    async with Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.topics_named(["orders"])
        yield backing


async def during_the_registration_of_very_many(
    backing: Backing, happens: Callable[[], object]
) -> tuple[Interest, Collection[SharePartitionKey], int]:
    """Return a very wide interest, what its first wait tells if `happens` after a turn, and in how many turns."""
    interest = Interest(share_partition(ORDERS, number) for number in range(5 * MOST_AT_ONCE))
    interest[ORDERS_0] = interest[ORDERS_1] = 0
    asyncio.get_running_loop().call_soon(happens)
    told: list[Collection[SharePartitionKey]] = []

    async def wait() -> None:
        told.append(await backing.availability.wait(interest, backing.clock.now_ms() + LONG_MS))

    turn_count = await turns_during(wait())
    return interest, told[0], turn_count


async def test_very_many_are_registered_in_several_turns_and_no_signal_meanwhile_is_lost(
    backing: Backing,
) -> None:
    # Given
    signalled = [share_partition(ORDERS, number) for number in range(2, 5 * MOST_AT_ONCE, MOST_AT_ONCE)]

    def signal() -> None:
        for each in signalled:
            backing.availability.signal(each)

    # When
    interest, told, turn_count = await during_the_registration_of_very_many(backing, signal)
    interest.end()

    # Then
    assert set(told) == set(signalled)
    assert 3 < turn_count < 30


async def test_records_that_come_while_very_many_are_registered_are_not_lost(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    narrow = backing.wait_for((share_partition(ORDERS, 0, "h"), 0), (share_partition(ORDERS, 1, "h"), 0))
    await cluster.brokers[1].until_asked(ApiKey.FETCH)
    appends: list[asyncio.Task[None]] = []

    def append() -> None:
        appends.append(backing.tasks.spawn(cluster.append(ORDERS, 1, [b"a"]), name="append"))

    # When
    interest, told, _ = await during_the_registration_of_very_many(backing, append)
    interest.end()
    await narrow

    # Then
    assert set(told) == {ORDERS_1}


async def test_a_wait_that_is_cancelled_while_very_many_are_registered_leaves_nothing_at_its_end(
    backing: Backing,
) -> None:
    # Given
    interest = Interest(share_partition(ORDERS, number) for number in range(5 * MOST_AT_ONCE))
    wait = backing.tasks.spawn(
        _told_nobody(backing.availability.wait(interest, backing.clock.now_ms() + LONG_MS)), name="a wait"
    )
    await asyncio.sleep(0)

    # When
    wait.cancel()
    await asyncio.wait([wait])
    interest.end()
    for key in interest:
        backing.availability.signal(key)

    # Then
    assert not interest.news


async def _told_nobody(wait: Awaitable[object]) -> None:
    await wait
