"""Only so many begin in a turn of the event loop, first come first served, and nobody is held up alone."""

import asyncio
from collections import Counter

import pytest

from kproxy.handlers.request_context import RequestContext
from kproxy.net.waking_turns import WakingTurns
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import RelayUnderTest, share_fetch
from tests.worlds.waiting import until, until_all_wait

BOUND = 4


class Beginners:
    """Tasks that begin in their turn, and in which turn of the loop each of them did."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.turns = WakingTurns(BOUND, seconds=lambda: self.now_s)
        self.names: list[int] = []
        self.begun_in: list[int] = []
        self._turn_count = 0

    async def begin(self, name: int) -> None:
        await self.turns.begin()
        self.names.append(name)
        self.begun_in.append(self._turn_count)

    async def count_turns(self) -> None:
        while True:
            await asyncio.sleep(0)
            self._turn_count += 1


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_of_many_that_begin_together_only_so_many_do_in_a_turn_in_their_order() -> None:
    # Given
    beginners = Beginners()

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(beginners.count_turns())
        await asyncio.gather(*(beginners.begin(number) for number in range(5 * BOUND)))
        counting.cancel()

    # Then
    assert beginners.names == list(range(5 * BOUND))
    assert set(Counter(beginners.begun_in).values()) == {BOUND}


async def test_nobody_begins_in_a_turn_behind_those_who_took_long_in_it() -> None:
    # Given
    beginners = Beginners()
    seconds = [0.03] * BOUND + [0.015] * BOUND + [0.001] * BOUND

    async def take(number: int) -> None:
        await beginners.begin(number)
        beginners.now_s += seconds[number]

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(beginners.count_turns())
        await asyncio.gather(*(take(number) for number in range(3 * BOUND)))
        counting.cancel()

    # Then
    per_turn = [count for _, count in sorted(Counter(beginners.begun_in).items())]
    assert beginners.names == list(range(3 * BOUND))
    assert per_turn == [1, 1, 1, 1, 2, 2, 4]


async def test_each_burst_is_spread_out_like_the_first_one() -> None:
    # Given
    beginners = Beginners()

    async def take(number: int) -> None:
        await beginners.begin(number)
        beginners.now_s += 0.03

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(beginners.count_turns())
        for _ in range(3):
            await asyncio.gather(*(take(number) for number in range(BOUND // 2)))
            await until_all_wait()
        counting.cancel()

    # Then
    assert set(Counter(beginners.begun_in).values()) == {1}


async def test_who_comes_while_others_are_woken_stands_behind_them() -> None:
    # Given
    beginners = Beginners()

    async def take(number: int) -> None:
        await beginners.begin(number)
        beginners.now_s += 0.03

    async def come_between(tasks: asyncio.TaskGroup) -> None:
        for number in range(3, 8):
            tasks.create_task(take(number))
            await asyncio.sleep(0)

    # When
    async with asyncio.TaskGroup() as tasks:
        for number in range(3):
            tasks.create_task(take(number))
        tasks.create_task(come_between(tasks))

    # Then
    assert beginners.names == list(range(8))


async def test_who_is_cancelled_while_its_turn_is_used_up_holds_up_nobody() -> None:
    # Given
    beginners = Beginners()

    async def take(number: int) -> None:
        await beginners.begin(number)
        beginners.now_s += 0.03

    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(take(number)) for number in range(2 * BOUND)]
        for _ in range(3):
            await asyncio.sleep(0)

        # When
        waiting[BOUND - 1].cancel()

    # Then
    assert beginners.names == [number for number in range(2 * BOUND) if number != BOUND - 1]
    assert len(beginners.turns) == 0


async def test_as_many_as_ever_begin_while_others_keep_the_loop_busy() -> None:
    """Else a loop that is busy with what it relays would let next to nobody begin."""
    # Given
    beginners = Beginners()

    async def relay() -> None:
        while True:
            beginners.now_s += 0.03
            await asyncio.sleep(0)

    # When
    async with asyncio.TaskGroup() as tasks:
        others = [tasks.create_task(relay()), tasks.create_task(beginners.count_turns())]
        await asyncio.gather(*(beginners.begin(number) for number in range(5 * BOUND)))
        for other in others:
            other.cancel()

    # Then
    assert set(Counter(beginners.begun_in).values()) == {BOUND}


async def test_who_comes_later_stands_behind_those_who_wait() -> None:
    # Given
    beginners = Beginners()

    # When
    async with asyncio.TaskGroup() as tasks:
        for number in range(2 * BOUND):
            tasks.create_task(beginners.begin(number))
        await asyncio.sleep(0)
        for number in range(2 * BOUND, 4 * BOUND):
            tasks.create_task(beginners.begin(number))

    # Then
    assert beginners.names == list(range(4 * BOUND))


async def test_as_many_as_may_begin_in_a_turn_do_so_without_a_pause_in_every_turn() -> None:
    # Given
    turns = WakingTurns(BOUND)

    # When
    is_paused = []
    for _ in range(10):
        for _ in range(BOUND):
            wait = turns.begin()
            try:
                wait.send(None)
            except StopIteration:
                is_paused.append(False)
            else:
                is_paused.append(True)
                wait.close()
        await asyncio.sleep(0)

    # Then
    assert is_paused == [False] * (10 * BOUND)


async def test_who_begins_alone_gives_the_loop_nothing_to_do() -> None:
    # Given
    turns, loop = WakingTurns(BOUND), asyncio.get_running_loop()
    called = Counter[str]()
    call_soon = loop.call_soon

    def counted(*arguments: object, **options: object) -> asyncio.Handle:
        called["call_soon"] += 1
        return call_soon(*arguments, **options)  # type: ignore[arg-type]  # as it came

    loop.call_soon = counted  # type: ignore[method-assign]

    # When
    await turns.begin()

    # Then
    assert called["call_soon"] == 0


async def test_who_is_cancelled_leaves_the_line_and_takes_nobodys_place() -> None:
    # Given
    beginners = Beginners()
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(beginners.begin(number)) for number in range(4 * BOUND)]
        await asyncio.sleep(0)

        # When
        for cancelled in waiting[BOUND : 3 * BOUND]:
            cancelled.cancel()

    # Then
    assert beginners.names == [*range(BOUND), *range(3 * BOUND, 4 * BOUND)]
    assert len(beginners.turns) == 0


async def test_who_is_cancelled_in_the_turn_in_which_it_may_begin_holds_up_nobody() -> None:
    # Given
    beginners = Beginners()
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(beginners.begin(number)) for number in range(4 * BOUND)]
        await asyncio.sleep(0)

        # When
        loop.call_soon(waiting[BOUND].cancel)

    # Then
    assert waiting[BOUND].cancelled()
    assert beginners.names == [*range(BOUND), *range(BOUND + 1, 4 * BOUND)]


async def test_after_a_crowd_a_turn_has_room_again() -> None:
    # Given
    beginners = Beginners()
    await asyncio.gather(*(beginners.begin(number) for number in range(3 * BOUND)))
    await until_all_wait()

    # When
    async with asyncio.TaskGroup() as tasks:
        late = [tasks.create_task(beginners.begin(number)) for number in range(BOUND)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)

        # Then
        assert all(task.done() for task in late)


async def test_those_who_began_alone_leave_a_later_turn_room_for_half_as_many() -> None:
    # Given
    beginners = Beginners()
    for number in range(BOUND // 2):
        await beginners.begin(number)
        await asyncio.sleep(0)

    # When
    async with asyncio.TaskGroup() as tasks:
        crowd = [tasks.create_task(beginners.begin(number)) for number in range(BOUND)]
        await asyncio.sleep(0)
        begun_at_once = sum(task.done() for task in crowd)

    # Then
    assert begun_at_once == BOUND // 2


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_requests_that_arrive_together_begin_in_turns_of_the_loop_that_follow_each_other() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        under_test.relay.turns = WakingTurns(2)
        writers = [(await under_test.connect())[1] for _ in range(8)]
        turn_count, begun_in = 0, []

        async def serve(_request: DecodedRequest, _context: RequestContext) -> ShareFetchResponse:
            begun_in.append(turn_count)
            return ShareFetchResponse()

        async def count_turns() -> None:
            nonlocal turn_count
            while True:  # until it is cancelled
                turn_count += 1
                await asyncio.sleep(0)

        under_test.apis.serve = serve  # type: ignore[method-assign, assignment]  # tells when it was asked

        # When
        async with asyncio.TaskGroup() as tasks:
            counting = tasks.create_task(count_turns())
            for writer in writers:
                writer.write(share_fetch(1))
            await until(lambda: len(begun_in) == len(writers))
            counting.cancel()
        for writer in writers:
            writer.close()

        # Then
        assert max(Counter(begun_in).values()) == 2
