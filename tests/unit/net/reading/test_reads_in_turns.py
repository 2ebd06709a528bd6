"""Fetches whose reads come back together do not all go on in the same turn of the event loop."""

import asyncio
from collections import Counter

import pytest

from kproxy.handlers.ports import PartitionRead
from kproxy.net.reading.reads_in_turns import ReadsInTurns
from kproxy.net.waking_turns import WakingTurns
from kproxy.share.identifiers import TopicId
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_partition_reader import ScriptedPartitionReader
from tests.worlds.waiting import until_all_wait

ORDERS = TopicId(b"topic-id-orders.")
BOUND = 4


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_of_reads_that_come_back_together_so_many_are_gone_on_with_in_a_turn() -> None:
    # Given
    scripted, have_come = ScriptedPartitionReader(), asyncio.Event()
    reader = ReadsInTurns(scripted, WakingTurns(BOUND, seconds=lambda: 0.0))
    for partition in range(5 * BOUND):
        scripted.log(ORDERS, partition).append([b"x"])
    turn, gone_on_in, order = 0, Counter[int](), list[int]()

    async def before_read() -> None:
        await have_come.wait()

    async def read(partition: int) -> None:
        (data,) = await reader.read([PartitionRead(ORDERS, partition, 0, 100)], max_bytes=100)
        assert data.readable_end == 1
        gone_on_in[turn] += 1
        order.append(partition)

    scripted.before_read = before_read

    # When
    async with asyncio.TaskGroup() as tasks:
        for partition in range(5 * BOUND):
            tasks.create_task(read(partition))
        await until_all_wait()
        have_come.set()
        while len(order) < 5 * BOUND:
            await asyncio.sleep(0)
            turn += 1

    # Then
    assert order == list(range(5 * BOUND))
    assert max(gone_on_in.values()) == BOUND


async def test_an_offset_is_found_as_ever() -> None:
    # Given
    scripted = ScriptedPartitionReader()
    scripted.log(ORDERS, 0).append([b"x"])

    # When
    offset = await ReadsInTurns(scripted, WakingTurns()).find_offset(ORDERS, 0, -1)

    # Then
    assert offset == 1
