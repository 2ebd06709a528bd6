"""Appends of many records are made, and taken in, in turns of their own; one is under way, and all in order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import FencedLeaderEpoch
from kproxy.handlers.live.pauses import (
    MOST_AT_FIRST,
    let_other_appends_go_on,
    let_others_go_on,
)
from kproxy.net.state_log.append_outcome import AppendOutcome
from kproxy.net.state_log.partition_writer import Doubt
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import SharePartitionKey, StateEpoch
from kproxy.statelog.append_draft import MOST_OPERATIONS
from kproxy.statelog.operations import Delete, Initialize
from kproxy.wire.api_keys import ApiKey
from tests.event_loops import async_fixture
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.held_appends import CLAIM_EPOCH, HeldPartition
from tests.worlds.state_log_builders import KEY
from tests.worlds.state_logs import StateLogBacking, key_of_slot
from tests.worlds.waiting import until, until_all_wait

FIRST_OFFSET = CLAIM_EPOCH + 1
COUNT = 2 * MOST_OPERATIONS + 1
KEYS = [SharePartitionKey(KEY.group_id, KEY.topic_id, number) for number in range(COUNT)]
BEGINNINGS = [Initialize(key, StateEpoch(0), 0) for key in KEYS]
MANY = BEGINNINGS[: MOST_AT_FIRST + 1]
FEW = BEGINNINGS[:MOST_AT_FIRST]


@async_fixture
async def tasks() -> AsyncIterator[TaskKeeper]:
    keeper = TaskKeeper()
    yield keeper
    await keeper.close()


class Line:
    """Others with long appends, or by `pause` with other long work, who stay in its line until they are let go."""

    def __init__(
        self, tasks: TaskKeeper, pause: Callable[[], Awaitable[None]] = let_other_appends_go_on
    ) -> None:
        self._is_held = True
        self._tasks = tasks
        self._pause = pause
        self.turn_count = 0

    async def fill(self) -> None:
        """Let somebody stand in the line before everybody who comes from now on."""
        self._tasks.spawn(self._stand(), name="somebody else's long work")
        await asyncio.sleep(0)

    def let_go(self) -> None:
        """Let whoever comes go on at once."""
        self._is_held = False

    async def _stand(self) -> None:
        while self._is_held:
            await self._pause()
            self.turn_count += 1


async def in_the_next_turns(is_so: Callable[[], bool], turns: int = 3) -> bool:
    """Tell whether `is_so()` within so many turns."""
    for _ in range(turns):
        if is_so():
            return True
        await asyncio.sleep(0)
    return is_so()


def durable(first_offset: int) -> AppendOutcome:
    return AppendOutcome(ErrorCode.NONE, first_offset)


async def test_few_operations_are_written_in_the_turn_after_and_wait_for_nobody(tasks: TaskKeeper) -> None:
    # Given
    for pause in (let_others_go_on, let_other_appends_go_on):
        line = Line(tasks, pause)
        for _ in range(10):
            await line.fill()
    partition = HeldPartition(tasks)

    # When
    tickets = partition.submit(FEW)

    # Then
    assert await in_the_next_turns(lambda: bool(partition.appends.under_way))
    partition.appends.under_way[0].outcome.set_result(durable(FIRST_OFFSET))
    assert await in_the_next_turns(lambda: all(ticket.is_done for ticket in tickets))


async def test_many_operations_are_written_when_those_have_gone_on_who_came_before(tasks: TaskKeeper) -> None:
    # Given
    line = Line(tasks)
    for _ in range(10):
        await line.fill()
    partition = HeldPartition(tasks)

    # When
    tickets = partition.submit(MANY)

    # Then
    assert not await in_the_next_turns(lambda: bool(partition.appends.under_way), turns=5)
    await until(lambda: bool(partition.appends.under_way))
    partition.appends.under_way[0].outcome.set_result(durable(FIRST_OFFSET))
    assert not await in_the_next_turns(lambda: tickets[0].is_done, turns=5)
    await until(lambda: all(ticket.is_done for ticket in tickets))


async def turns_of_an_append(tasks: TaskKeeper) -> int:
    """Return how many turns it takes many operations to be durable where the broker answers at once."""
    partition = HeldPartition(tasks)
    tickets = partition.submit(MANY)
    turn_count = 0
    while not all(ticket.is_done for ticket in tickets):
        await asyncio.sleep(0)
        turn_count += 1
        for held in partition.appends.under_way:
            if not held.outcome.done():
                held.outcome.set_result(durable(FIRST_OFFSET))
    return turn_count


async def test_an_append_takes_as_many_turns_however_many_stand_in_the_line_of_long_work(
    tasks: TaskKeeper,
) -> None:
    # Given
    alone = await turns_of_an_append(tasks)
    line = Line(tasks, let_others_go_on)
    for _ in range(50):
        await line.fill()

    # When
    beside_others = await turns_of_an_append(tasks)

    # Then
    assert beside_others == alone
    assert line.turn_count >= alone - 1, "long work goes on meanwhile"


async def test_of_several_partitions_one_makes_or_takes_in_an_append_in_a_turn(tasks: TaskKeeper) -> None:
    # Given
    partitions = [HeldPartition(tasks, number) for number in range(8)]
    for partition in partitions:
        partition.submit(BEGINNINGS)
    made_in_a_turn: list[int] = []
    taken_in_in_a_turn: list[int] = []

    def made_count() -> int:
        return sum(len(partition.appends.under_way) for partition in partitions)

    def taken_in_count() -> int:
        return sum(partition.queue.fold.applied_offset > CLAIM_EPOCH for partition in partitions)

    # When
    while made_count() < len(partitions):
        before = made_count()
        await asyncio.sleep(0)
        made_in_a_turn.append(made_count() - before)
    for partition in partitions:
        partition.appends.under_way[0].outcome.set_result(durable(FIRST_OFFSET))
    while taken_in_count() < len(partitions):
        before = taken_in_count()
        await asyncio.sleep(0)
        taken_in_in_a_turn.append(taken_in_count() - before)

    # Then
    assert max(made_in_a_turn) == 1
    assert max(taken_in_in_a_turn) == 1


async def test_however_much_waits_one_append_is_under_way_and_the_next_follows_it(tasks: TaskKeeper) -> None:
    # Given
    partition = HeldPartition(tasks)
    under_way = partition.appends.under_way
    tickets = partition.submit(BEGINNINGS)
    seen: list[tuple[int, int]] = []

    # When
    while len(seen) < 3:
        await until(lambda: len(under_way) > len(seen))
        partition.writer.wake()
        await until_all_wait()
        assert len(under_way) == len(seen) + 1
        seen.append((under_way[-1].first_sequence, under_way[-1].record_count))
        under_way[-1].outcome.set_result(durable(under_way[-1].first_sequence))
    await until(lambda: all(ticket.is_done for ticket in tickets))

    # Then
    assert seen == [
        (1, MOST_OPERATIONS),
        (1 + MOST_OPERATIONS, MOST_OPERATIONS),
        (1 + 2 * MOST_OPERATIONS, 1),
    ]
    assert [ticket.refusal for ticket in tickets] == [None] * COUNT
    assert list(partition.queue.fold.states) == KEYS
    assert partition.doubts == []


async def test_what_needs_no_record_is_answered_bit_by_bit(tasks: TaskKeeper) -> None:
    # Given
    partition = HeldPartition(tasks)
    counts: list[int] = []

    # When
    tickets = partition.submit([Delete(key) for key in KEYS])
    while not tickets[-1].is_done:
        await asyncio.sleep(0)
        counts.append(sum(ticket.is_done for ticket in tickets))

    # Then
    assert [count for count in dict.fromkeys(counts) if count] == [
        MOST_OPERATIONS,
        2 * MOST_OPERATIONS,
        COUNT,
    ]
    assert partition.appends.under_way == []


async def test_who_ends_the_writer_before_its_turn_finds_nothing_sent(tasks: TaskKeeper) -> None:
    # Given
    line = Line(tasks)
    await line.fill()
    partition = HeldPartition(tasks)
    tickets = partition.submit(MANY)
    await asyncio.sleep(0)

    # When
    partition.writer.end()
    line.let_go()
    await until_all_wait()

    # Then
    assert partition.appends.under_way == []
    assert not any(ticket.is_done for ticket in tickets)
    assert partition.queue.waiting_count == len(tickets), "its owner decides what the queue is told"


@pytest.mark.parametrize(
    "base_offset", [FIRST_OFFSET, FIRST_OFFSET + 1], ids=["as expected", "behind others"]
)
async def test_who_ends_the_writer_before_what_landed_is_taken_in_finds_nothing_taken_in(
    base_offset: int, tasks: TaskKeeper
) -> None:
    # Given
    partition = HeldPartition(tasks)
    tickets = partition.submit(MANY)
    await until(lambda: bool(partition.appends.under_way))
    line = Line(tasks)
    for _ in range(5):
        await line.fill()
    partition.appends.under_way[0].outcome.set_result(durable(base_offset))
    await asyncio.sleep(0)

    # When
    partition.writer.end()
    line.let_go()
    await until_all_wait()

    # Then
    assert not any(ticket.is_done for ticket in tickets)
    assert partition.queue.fold.applied_offset == CLAIM_EPOCH
    assert len(partition.appends.under_way) == 1


async def test_what_is_submitted_before_what_landed_is_taken_in_makes_the_next_append(
    tasks: TaskKeeper,
) -> None:
    # Given
    partition = HeldPartition(tasks)
    under_way = partition.appends.under_way
    first = partition.submit(MANY)
    await until(lambda: bool(under_way))
    line = Line(tasks)
    for _ in range(5):
        await line.fill()
    under_way[0].outcome.set_result(durable(FIRST_OFFSET))
    await asyncio.sleep(0)

    # When
    second = partition.submit(BEGINNINGS[len(MANY) :][:3])
    await asyncio.sleep(0)
    was_alone = len(under_way) == 1 and not first[0].is_done
    line.let_go()
    await until(lambda: len(under_way) == 2)

    # Then
    assert was_alone
    assert all(ticket.is_done for ticket in first)
    assert (under_way[1].first_sequence, under_way[1].record_count) == (1 + len(MANY), 3)
    under_way[1].outcome.set_result(durable(FIRST_OFFSET + len(MANY)))
    await until(lambda: all(ticket.is_done for ticket in second))


async def test_a_long_append_that_lands_where_it_must_not_ends_the_writer_at_once(tasks: TaskKeeper) -> None:
    # Given
    partition = HeldPartition(tasks)
    partition.submit(BEGINNINGS)
    await until(lambda: bool(partition.appends.under_way))
    line = Line(tasks)
    for _ in range(5):
        await line.fill()

    # When
    partition.appends.under_way[0].outcome.set_result(durable(FIRST_OFFSET + 1))
    await asyncio.sleep(0)

    # Then
    assert partition.doubts == [Doubt.FOREIGN_WRITE]
    line.let_go()
    await until_all_wait()
    assert len(partition.appends.under_way) == 1


def waits_in_line() -> bool:
    """Tell whether an append waits to be made, or taken in."""
    return any(task.get_name().endswith("is written bit by bit") for task in asyncio.all_tasks())


async def until_true(is_so: Callable[[], bool]) -> None:
    """Return in the turn in which `is_so()`."""
    async with asyncio.timeout(10):
        while not is_so():  # noqa: ASYNC110 - what is asked about has no event
            await asyncio.sleep(0)


@pytest.mark.parametrize("is_sent", [False, True], ids=["before it is made", "before it is taken in"])
async def test_a_slot_that_is_lost_in_the_middle_of_a_long_append_refuses_it_and_forgets_nothing_durable(
    is_sent: bool,  # noqa: FBT001 - of the parametrization
    cluster: ScriptedStateLog,
    backing: StateLogBacking,
) -> None:
    # Given
    slot = await backing.ready_slot()
    asked_count = len(cluster.asked(ApiKey.PRODUCE))
    keys = [key_of_slot(0, skip=number) for number in range(len(MANY))]
    cluster.may_land.clear()
    line = Line(backing.tasks)
    if not is_sent:
        await line.fill()
    tickets = [slot.submit(Initialize(key, StateEpoch(0), 0)) for key in keys]
    if is_sent:
        await cluster.brokers[1].until_asked(ApiKey.PRODUCE, asked_count + 1)
        for _ in range(50):
            await line.fill()
    cluster.may_land.set()
    await until_true(waits_in_line)

    # When
    slot.lose("the map gives it to another")
    line.let_go()
    await until_all_wait()

    # Then
    assert {type(ticket.refusal) for ticket in tickets} == {FencedLeaderEpoch}
    assert slot.states().states == {}
    slot.take()
    await slot.settled(10)
    assert (len(slot.states().states) == len(keys)) == is_sent
