"""Answers with very many acquired ranges: full at some point, and not all made in one turn of the event loop."""

import asyncio
import gc
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from kproxy.handlers.apis.share_fetch_answer import ShareFetchAnswer
from kproxy.handlers.fetching import fetch_starts, record_acquisition
from kproxy.handlers.fetching.fetch_terms import FetchedPartition
from kproxy.handlers.fetching.read_batches import ReadBatches
from kproxy.handlers.fetching.record_acquisition import RecordAcquisition
from kproxy.handlers.live.pauses import MOST_AT_FIRST
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acquired, partitions_of, world_with_orders
from tests.worlds.waiting import until_all_wait

ALL = 2**31 - 1
ACCEPT = 1


def offsets_of(answer: ShareFetchResponse) -> dict[int, list[int]]:
    """Return the acquired offsets of each partition that has some; every range is of one offset."""
    found = {partition: acquired(answer, partition=partition) for _, partition in partitions_of(answer)}
    return {partition: [first for first, _, _ in ranges] for partition, ranges in found.items() if ranges}


async def with_single_records(*, partitions: int, records: int) -> ShareGroupWorld:
    world = await world_with_orders(partition_count=partitions)
    for partition in range(partitions):
        for _ in range(records):
            world.produce(1, partition=partition)
    return world


async def test_a_full_answer_leaves_the_share_partitions_behind_to_the_next_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(record_acquisition, "MOST_RANGES", 5)
    world = await with_single_records(partitions=5, records=4)
    alice = world.member()
    await alice.open(*((ORDERS, partition) for partition in range(5)))

    # When
    answers = [await alice.fetch(max_records=ALL, batch_size=1) for _ in range(3)]

    # Then
    told = [0, 1, 2, 3]
    assert [offsets_of(answer) for answer in answers] == [{0: told, 1: told}, {2: told, 3: told}, {4: told}]
    assert len(world.availability.waits) == 1, "for the loads: what was left was there at once"
    assert world.groups.in_flight_count == 20


async def test_what_a_full_answer_leaves_behind_is_locked_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(record_acquisition, "MOST_RANGES", 1)
    world = await with_single_records(partitions=2, records=4)
    alice, bob = world.member("alice"), world.member("bob")
    for member in (alice, bob):
        await member.open((ORDERS, 0), (ORDERS, 1))

    # When
    answers = [await member.fetch(max_records=ALL, batch_size=1) for member in (alice, bob)]

    # Then
    assert [offsets_of(answer) for answer in answers] == [{0: [0, 1, 2, 3]}, {1: [0, 1, 2, 3]}]


async def test_each_share_partition_comes_first_in_its_turn_where_answers_are_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(record_acquisition, "MOST_RANGES", 1)
    world = await with_single_records(partitions=3, records=6)
    alice = world.member()
    await alice.open(*((ORDERS, partition) for partition in range(3)))

    # When
    answers = [await alice.fetch(max_records=2, batch_size=1) for _ in range(6)]

    # Then
    assert [list(offsets_of(answer)) for answer in answers] == [[0], [1], [2]] * 2


async def test_stock_clients_have_all_that_they_ask_for_in_one_answer() -> None:
    # Given
    world = await with_single_records(partitions=2, records=600)
    alice = world.member()
    await alice.open((ORDERS, 0), (ORDERS, 1))

    # When
    answer = await alice.fetch(max_records=1_000)

    # Then
    assert acquired(answer) == [(0, 499, 1), (500, 599, 1)]
    assert acquired(answer, partition=1) == [(0, 399, 1)]


class Made:
    """In which turns of the loop a step of an answer with ranges was taken."""

    def __init__(self, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_turn = Counter[int]()
        self._turn = 0
        take = getattr(ShareFetchAnswer, step)

        def counted(*terms: Any, **more: Any) -> Any:
            self.by_turn[self._turn] += 1
            return take(*terms, **more)

        monkeypatch.setattr(ShareFetchAnswer, step, counted)

    async def count_turns(self) -> None:
        while True:
            await asyncio.sleep(0)
            self._turn += 1


@pytest.mark.parametrize("step", ["add_fetched", "keep_records"])
async def test_answers_with_many_ranges_that_are_due_together_are_not_all_made_in_one_turn(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", 2)
    world = await with_single_records(partitions=8, records=MOST_AT_FIRST + 10)
    members = [world.member(f"member-{number}") for number in range(8)]
    for number, member in enumerate(members):
        await member.open((ORDERS, number))
        await member.fetch(max_records=1)
    world.state_log.hold_writes = is_durable = asyncio.Event()
    made = Made(step, monkeypatch)

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(made.count_turns())
        fetches = [
            tasks.create_task(
                member.fetch(acks={(ORDERS, number): [(0, 0, [ACCEPT])]}, max_records=ALL, batch_size=1)
            )
            for number, member in enumerate(members)
        ]
        await until_all_wait(200)
        is_durable.set()
        answers = await asyncio.gather(*fetches)
        counting.cancel()

    # Then
    assert range_counts(answers) == [MOST_AT_FIRST + 9] * 8
    assert list(made.by_turn.values()) == [1] * 8


def range_counts(answers: Sequence[ShareFetchResponse]) -> list[int]:
    return [sum(map(len, offsets_of(answer).values())) for answer in answers]


def count_of_reads() -> int:
    return sum(isinstance(each, ReadBatches) for each in gc.get_objects())


async def test_what_was_looked_at_of_a_read_is_freed_share_partition_by_share_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world = await with_single_records(partitions=4, records=2)
    alice = world.member()
    await alice.open(*((ORDERS, partition) for partition in range(4)))
    gc.collect()
    before = count_of_reads()
    kept: list[int] = []
    acquire = RecordAcquisition.acquire

    def acquire_counted(*terms: Any) -> FetchedPartition:
        kept.append(count_of_reads() - before)
        return acquire(*terms)

    monkeypatch.setattr(RecordAcquisition, "acquire", acquire_counted)

    # When
    await alice.fetch()

    # Then
    assert kept == [4, 3, 2, 1]
