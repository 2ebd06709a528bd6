"""What clients name is asked for in rounds of bounded size, a little of everybody in each."""

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Iterator

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.net.cluster.topic_questions import MOST_PER_ROUND
from tests.worlds.backing import ORDERS
from tests.worlds.topic_questions import Questions, names
from tests.worlds.waiting import until_all_wait


async def outcome_of(asking: Awaitable[int]) -> str:
    """Return what the asker is told."""
    try:
        await asking
    except BrokerUnavailable as failure:
        return str(failure)
    return "asked for"


async def test_no_round_is_larger_than_the_bound_however_many_ask_for_however_much() -> None:
    # Given
    asked = Questions()
    asked.may_end.set()
    wide = [names(f"{asker}", 8_000) for asker in range(3)]

    # When
    await asyncio.gather(*(asked.ask(*each) for each in wide))

    # Then
    assert max(len(each) for each in asked.rounds) <= MOST_PER_ROUND + 50
    assert set().union(*asked.rounds) == {name for each in wide for name in each}
    assert len(asked.rounds) <= 6


async def test_who_asks_for_a_few_topics_is_answered_by_the_next_round() -> None:
    # Given
    asked = Questions()
    async with asyncio.TaskGroup() as callers:
        wide = [callers.create_task(asked.ask(*names(f"{asker}", 10_000))) for asker in range(30)]
        await asked.has_begun.wait()

        # When
        few = callers.create_task(asked.ask("orders"))
        callers.create_task(asked.questions.ask([ORDERS]))
        await asyncio.sleep(0)
        asked.may_end.set()

    # Then
    assert await few <= 3
    assert {"orders", ORDERS} <= asked.rounds[1]
    assert min(each.result() for each in wide) > await few


async def test_who_waits_is_told_when_kproxy_stops() -> None:
    # Given
    asked = Questions()
    async with asyncio.TaskGroup() as callers:
        waiting = [callers.create_task(outcome_of(asked.ask(f"topic {number}"))) for number in range(3)]
        await asked.has_begun.wait()
        waiting.append(callers.create_task(outcome_of(asked.ask("later"))))
        await until_all_wait()

        # When
        await asked.tasks.close()

    # Then
    assert [each.result() for each in waiting] == ["kproxy is stopping"] * 4
    assert await outcome_of(asked.ask("after that")) == "kproxy is stopping"


async def test_what_several_ask_for_is_asked_for_once() -> None:
    # Given
    asked = Questions()
    asked.may_end.set()
    same = names("same", 7_000)

    # When
    await asyncio.gather(*(asked.ask(*same) for _ in range(20)))

    # Then
    assert sum(len(each) for each in asked.rounds) == 7_000


async def test_those_who_asked_for_many_topics_go_on_one_by_one() -> None:
    # Given
    asked = Questions()
    asked.may_end.set()
    turn, turns = 0, list[int]()

    async def ask() -> None:
        await asked.ask(*names("same", 1_000))
        turns.append(turn)

    async def count_turns() -> None:
        nonlocal turn
        while len(turns) < 5:
            turn += 1
            await asyncio.sleep(0)

    # When
    await asyncio.gather(count_turns(), *(ask() for _ in range(5)))

    # Then
    assert len(set(turns)) == 5


async def test_those_who_ask_for_many_topics_after_the_same_wait_begin_one_by_one() -> None:
    # Given
    asked = Questions()
    asked.may_end.set()
    turn, turns = 0, list[int]()
    common_wait = asyncio.Event()

    class Names(list[str]):
        """Names that tell in which turn the second of them is looked at."""

        def __iter__(self) -> Iterator[str]:
            yield "first"
            turns.append(turn)
            yield from names("many", 600)

    async def ask() -> None:
        await common_wait.wait()
        await asked.questions.ask(Names(names("many", 601)))

    async def count_turns() -> None:
        nonlocal turn
        common_wait.set()
        while len(turns) < 5:
            turn += 1
            await asyncio.sleep(0)

    # When
    await asyncio.gather(*(ask() for _ in range(5)), count_turns())

    # Then
    assert len(set(turns)) == 5


async def test_those_who_ask_for_many_topics_heard_of_before_go_on_one_by_one_too() -> None:
    # Given
    asked = Questions()
    asked.heard = {*names("known", 501)}
    common_wait = asyncio.Event()
    turn, turns = 0, list[int]()

    async def ask() -> None:
        await common_wait.wait()
        await asked.questions.ask(names("known", 501))
        turns.append(turn)

    async def count_turns() -> None:
        nonlocal turn
        common_wait.set()
        while len(turns) < 5:
            turn += 1
            await asyncio.sleep(0)

    # When
    await asyncio.gather(*(ask() for _ in range(5)), count_turns())

    # Then
    assert len(set(turns)) == 5


async def test_what_was_heard_of_before_is_not_asked_for() -> None:
    # Given
    asked = Questions()
    asked.heard = {*names("known", 1_000)}

    # When
    count = await asked.ask(*names("known", 1_000))

    # Then
    assert count == 0


async def test_a_failed_round_is_told_to_everybody_who_waits_for_it() -> None:
    # Given
    asked = Questions()
    asked.failure = BrokerUnavailable("nobody answers")
    asked.may_end.set()

    # When
    outcomes = await asyncio.gather(
        *(asked.ask(*names(f"{asker}", 400)) for asker in range(3)), return_exceptions=True
    )

    # Then
    assert [str(outcome) for outcome in outcomes] == ["nobody answers"] * 3
    assert len({id(outcome) for outcome in outcomes}) == 3
    assert len(asked.rounds) == 1


async def test_what_its_asker_was_cancelled_over_is_not_asked_for_by_the_round_that_it_had_joined() -> None:
    # Given
    asked = Questions()
    async with asyncio.TaskGroup() as callers:
        callers.create_task(asked.ask("first"))
        await asked.has_begun.wait()
        leaves = callers.create_task(asked.ask(*names("left", 400)))
        callers.create_task(asked.ask("stays"))
        await until_all_wait()

        # When
        leaves.cancel()
        await until_all_wait()
        asked.may_end.set()

    # Then
    assert asked.rounds == [{"first"}, {"stays"}]


async def test_of_who_is_gone_nothing_is_kept_while_the_round_before_goes_on() -> None:
    # Given
    class Name(str):
        """One that a weak reference may be to."""

        __slots__ = ("__weakref__",)

    asked = Questions()
    async with asyncio.TaskGroup() as callers:
        callers.create_task(asked.ask("first"))
        await asked.has_begun.wait()
        name = Name("left")
        known, leaves = weakref.ref(name), callers.create_task(asked.ask(name))
        del name
        await until_all_wait()

        # When
        leaves.cancel()
        await until_all_wait()
        del leaves
        gc.collect()
        is_kept = known() is not None
        asked.may_end.set()

    # Then
    assert not is_kept


async def test_nobody_waits_for_ever_and_what_is_not_waited_for_is_not_asked_for() -> None:
    # Given
    asked = Questions(max_wait_ms=20)

    # When
    with pytest.raises(BrokerUnavailable, match="the backing cluster did not answer within 20 ms"):
        await asked.ask(*names("many", 20_000))
    asked.may_end.set()
    await let_others_go_on()
    await asked.ask("orders")

    # Then
    assert [len(each) for each in asked.rounds] == [MOST_PER_ROUND, 1]
