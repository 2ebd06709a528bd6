"""Long work of all connections goes on one piece in a turn of the loop."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise

import pytest

from kproxy.handlers.live.pauses import let_other_appends_go_on, let_others_go_on
from kproxy.interception.request_stream import LARGE_FRAME_BYTES
from kproxy.wire import codecs
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import RelayUnderTest, share_fetch
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


async def test_of_all_long_work_one_piece_goes_on_in_a_turn_first_come_first_served_and_short_work_in_between() -> (
    None
):
    # Given
    events: list[str] = []

    async def long_work(name: str) -> None:
        for _ in range(3):
            await let_others_go_on()
            events.append(name)

    async def watch_turns(works: Sequence[asyncio.Task[None]]) -> None:
        while not all(work.done() for work in works):
            events.append("turn")
            await asyncio.sleep(0)

    # When
    async with asyncio.TaskGroup() as tasks:
        works = [tasks.create_task(long_work(name)) for name in "abc"]
        tasks.create_task(watch_turns(works))

    # Then
    turns = "".join(events).split("turn")
    assert max(map(len, turns)) == 1
    assert "".join(turns) == "abcabcabc"


async def test_a_turn_has_one_piece_of_long_work_and_one_of_an_append() -> None:
    # Given
    events: list[str] = []

    async def work(name: str, pause: Callable[[], Awaitable[None]]) -> None:
        for _ in range(3):
            await pause()
            events.append(name)

    async def watch_turns(works: Sequence[asyncio.Task[None]]) -> None:
        while not all(each.done() for each in works):
            events.append("turn")
            await asyncio.sleep(0)

    # When
    async with asyncio.TaskGroup() as tasks:
        works = [tasks.create_task(work(name, let_others_go_on)) for name in "abc"]
        works += [tasks.create_task(work(name, let_other_appends_go_on)) for name in "xy"]
        tasks.create_task(watch_turns(works))

    # Then
    turns = "".join(events).split("turn")
    long_work = ["".join(name for name in turn if name in "abc") for turn in turns]
    appends = ["".join(name for name in turn if name in "xy") for turn in turns]
    assert (max(map(len, long_work)), max(map(len, appends))) == (1, 1)
    assert ("".join(long_work), "".join(appends)) == ("abcabcabc", "xyxyxy")
    assert any(len(turn) == 2 for turn in turns), "neither waits for the other"


async def test_who_is_cancelled_in_the_line_holds_nobody_up() -> None:
    # Given
    async with asyncio.TaskGroup() as tasks:
        first, second = (tasks.create_task(_wait_in_line()) for _ in range(2))
        await asyncio.sleep(0)

        # When
        first.cancel()

    # Then
    assert (first.cancelled(), second.result()) == (True, True)


async def _wait_in_line() -> bool:
    await let_others_go_on()
    return True


async def test_large_requests_of_several_connections_are_taken_one_in_a_turn_and_small_ones_in_between() -> (
    None
):
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        asked = under_test.apis.requests
        many = [FetchPartition(number) for number in range(LARGE_FRAME_BYTES // 4)]
        large = b"".join(
            codecs.encode_request(78, 1, 1, "c", ShareFetchRequest(topics=[FetchTopic(bytes(16), many)]))
        )
        writers = [(await under_test.connect())[1] for _ in range(5)]
        await until(lambda: len(under_test.relay.connections) == 5)
        for writer in writers[:4]:
            writer.write(large)
        writers[4].write(share_fetch(2))
        counts: list[int] = []
        while len(asked) < 5:
            counts.append(len(asked))
            await asyncio.sleep(0)
        counts.append(len(asked))
        order = [each.correlation_id for each in asked]
        under_test.apis.may_answer.set()
        for writer in writers:
            writer.close()

        assert max(after - before for before, after in pairwise(counts)) == 1
        assert order[0] == 2
