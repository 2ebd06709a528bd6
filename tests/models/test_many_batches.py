"""Reads of very many small batches that come back in the same turn of the event loop: not all looked at in it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

import pytest

from kproxy.handlers.fetching import fetch_starts, read_batches
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from kproxy.wire.record_batches import BatchExtent, walk_extents
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld, acquired, world_with_orders
from tests.worlds.waiting import until_all_wait

MANY = 100
FEW = 20


class Looks:
    """In which turns of the loop the last one of very many batches of a read was looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at_last = Counter[int]()
        self.at_all = Counter[int]()
        self._turn = 0

        def walk_counted(records: memoryview) -> Iterator[BatchExtent]:
            for extent in walk_extents(records):
                self.at_all[self._turn] += 1
                self.at_last[self._turn] += extent.last_offset == MANY - 1
                yield extent

        monkeypatch.setattr(read_batches, "walk_extents", walk_counted)

    async def count_turns(self) -> None:
        while True:  # until it is cancelled
            await asyncio.sleep(0)
            self._turn += 1


async def with_batches(*batch_counts: int) -> tuple[ShareGroupWorld, list[Member]]:
    """Return members of whom each has a partition with so many batches of one record."""
    world = await world_with_orders(partition_count=len(batch_counts))
    members = [world.member(f"member-{number}") for number in range(len(batch_counts))]
    for number, member in enumerate(members):
        await member.open((ORDERS, number))
        await member.fetch()
    for number, count in enumerate(batch_counts):
        for _ in range(count):
            world.produce(1, partition=number)
    return world, members


def wait_for(event: asyncio.Event) -> Callable[[], Awaitable[None]]:
    async def wait() -> None:
        await event.wait()

    return wait


async def fetched_together(
    world: ShareGroupWorld, members: list[Member], looks: Looks
) -> list[ShareFetchResponse]:
    """Return the answers to fetches of `members` whose reads come back in the same turn."""
    have_come = asyncio.Event()
    world.reader.before_read = wait_for(have_come)
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(looks.count_turns())
        fetches = [tasks.create_task(member.fetch()) for member in members]
        await until_all_wait(100)
        have_come.set()
        answers = await asyncio.gather(*fetches)
        counting.cancel()
    return answers


async def test_many_small_batches_of_reads_that_come_together_are_not_all_looked_at_in_one_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_LOOKED_AT", 7)
    world, members = await with_batches(*[MANY] * 8)
    looks = Looks(monkeypatch)

    # When
    answers = await fetched_together(world, members, looks)

    # Then
    assert [acquired(answer, partition=number) for number, answer in enumerate(answers)] == [
        [(0, MANY - 1, 1)]
    ] * 8
    assert [*(+looks.at_last).values()] == [1] * 8, "one in a turn"
    assert sum(looks.at_all.values()) == 8 * MANY, "each once"


async def test_who_reads_few_batches_does_not_wait_for_those_who_read_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_LOOKED_AT", 7)
    world, members = await with_batches(*[MANY] * 4, FEW)
    looks = Looks(monkeypatch)
    ended: list[int] = []
    have_come = asyncio.Event()
    world.reader.before_read = wait_for(have_come)

    async def fetch(number: int) -> None:
        await members[number].fetch()
        ended.append(number)

    # When
    async with asyncio.TaskGroup() as tasks:
        for number in range(5):
            tasks.create_task(fetch(number))
        await until_all_wait(100)
        have_come.set()

    # Then
    assert ended.index(4) <= 1, "only the one that came first was looked at before"
    assert looks.at_last.total() == 4


async def test_share_partitions_that_are_lost_before_all_batches_are_looked_at_are_loaded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_LOOKED_AT", 7)
    world, members = await with_batches(*[MANY] * 4)
    looks = Looks(monkeypatch)
    have_come = asyncio.Event()
    world.reader.before_read = wait_for(have_come)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetches = [tasks.create_task(member.fetch()) for member in members]
        await until_all_wait(100)
        have_come.set()
        while not looks.at_last.total():  # noqa: ASYNC110 - it is the turn that is waited for
            await asyncio.sleep(0)
        seen_count = looks.at_last.total()
        world.discard([world.key(partition=partition) for partition in range(4)])

    # Then
    assert seen_count < 4
    answers = [fetch.result() for fetch in fetches]
    assert [acquired(answer, partition=number) for number, answer in enumerate(answers)] == [
        [(0, MANY - 1, 1)]
    ] * 4
