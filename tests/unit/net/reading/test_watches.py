"""Watches by topic, and looks at very many of them."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kproxy.net.reading import watches as watches_module
from kproxy.net.reading.sleepers import Watch
from kproxy.net.reading.watches import Watches, WatchRounds
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import TopicId, TopicIdPartition
from tests.event_loops import async_fixture
from tests.worlds.backing import ORDERS, PAYMENTS
from tests.worlds.waiting import until_all_wait

AT_ONCE = 10
WIDE = 5 * AT_ONCE


@async_fixture
async def tasks() -> AsyncIterator[TaskKeeper]:
    keeper = TaskKeeper()
    yield keeper
    await keeper.close()


@pytest.fixture(autouse=True)
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches_module, "MOST_LOOKED_AT", AT_ONCE)


def watches_of(**counts: int) -> Watches:
    """Return so many watches of each topic."""
    watches = Watches()
    for name, count in counts.items():
        for partition in range(count):
            watches.add(watch(TopicId(name.encode()), partition))
    return watches


def watch(topic_id: TopicId, partition: int = 0) -> Watch:
    return Watch(TopicIdPartition(topic_id, partition), 0, 0)


class Looks(list[Watch]):
    """A round over watches, and what it looked at."""

    def __init__(self, watches: Watches, tasks: TaskKeeper) -> None:
        super().__init__()
        self.rounds = WatchRounds(watches, self.append, tasks=tasks, name="looks")

    async def of_turns(self, turn_count: int) -> list[int]:
        """Return how many were looked at in each of the next turns."""
        counts = []
        for _ in range(turn_count):
            before = len(self)
            await asyncio.sleep(0)
            counts.append(len(self) - before)
        return counts


def test_a_watch_is_found_until_it_is_forgotten_and_its_topic_as_long_as_it_has_any() -> None:
    # Given
    watches, first, second = Watches(), watch(ORDERS), watch(ORDERS, 1)
    watches.add(first)
    watches.add(second)

    # When
    watches.discard(second.topic_partition)
    watches.discard(watch(PAYMENTS).topic_partition)

    # Then
    assert watches.get(first.topic_partition) is first
    assert second.topic_partition not in watches
    assert (set(watches.topic_ids), watches.of(ORDERS), len(watches)) == ({ORDERS}, (first,), 1)
    watches.discard(first.topic_partition)
    assert not watches.topic_ids


async def test_few_watches_are_looked_at_at_once_and_those_of_other_topics_not_at_all(
    tasks: TaskKeeper,
) -> None:
    # Given
    watches = watches_of(orders=3, payments=4, others=WIDE)
    looks = Looks(watches, tasks)

    # When
    looks.rounds.begin([TopicId(b"orders"), TopicId(b"payments"), TopicId(b"unknown")])

    # Then
    assert looks == [*watches.of(TopicId(b"orders")), *watches.of(TopicId(b"payments"))]


async def test_very_many_are_looked_at_in_several_turns(tasks: TaskKeeper) -> None:
    # Given
    watches = watches_of(orders=3, payments=WIDE)
    looks = Looks(watches, tasks)

    # When
    looks.rounds.begin(watches.topic_ids)
    counts = [len(looks), *await looks.of_turns(2 * WIDE)]

    # Then
    assert max(counts) == AT_ONCE
    assert looks == [*watches.of(TopicId(b"orders")), *watches.of(TopicId(b"payments"))]


async def test_very_many_topics_that_nobody_watches_take_several_turns_too(tasks: TaskKeeper) -> None:
    # Given
    watches = watches_of(orders=1)
    looks = Looks(watches, tasks)

    # When
    looks.rounds.begin([*(TopicId(bytes([number])) for number in range(WIDE)), TopicId(b"orders")])
    counts = [len(looks), *await looks.of_turns(2 * WIDE)]

    # Then
    assert counts[: WIDE // AT_ONCE] == [0] * (WIDE // AT_ONCE)
    assert looks == [*watches.of(TopicId(b"orders"))]


async def test_what_begins_while_very_many_are_looked_at_comes_behind_them(tasks: TaskKeeper) -> None:
    # Given
    watches = watches_of(orders=WIDE, payments=1)
    looks = Looks(watches, tasks)
    looks.rounds.begin([TopicId(b"orders")])
    await looks.of_turns(2)

    # When
    looks.rounds.begin([TopicId(b"payments")])
    looks.rounds.begin([TopicId(b"orders")])
    await until_all_wait(5 * WIDE)

    # Then
    orders = watches.of(TopicId(b"orders"))
    assert looks == [*orders, *watches.of(TopicId(b"payments")), *orders]


async def test_what_is_forgotten_before_its_turn_is_not_looked_at(tasks: TaskKeeper) -> None:
    # Given
    watches = watches_of(orders=WIDE)
    looks = Looks(watches, tasks)
    last = watches.of(TopicId(b"orders"))[-1]
    looks.rounds.begin([TopicId(b"orders")])

    # When
    watches.discard(last.topic_partition)
    await until_all_wait(5 * WIDE)

    # Then
    assert len(looks) == WIDE - 1
    assert last not in looks
