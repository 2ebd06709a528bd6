"""Many ask for topics that nobody has heard of: none is starved by the others, and not all go on in the same turn."""

import asyncio
from collections import Counter
from functools import partial

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.topic_questions import MOST_PER_ROUND
from kproxy.net.waking_turns import MOST_IN_A_TURN
from tests.worlds.topic_questions import Questions, names
from tests.worlds.waiting import until_all_wait


async def test_who_asks_for_a_few_topics_is_not_behind_more_wide_askers_than_a_round_has_room_for() -> None:
    # Given
    asked = Questions()
    asked.on_round = asked.may_end.clear
    async with asyncio.TaskGroup() as callers:
        for asker in range(400):
            callers.create_task(asked.ask(*names(f"{asker}", 500)))
        await asked.has_begun.wait()
        callers.create_task(asked.ask("sooner"))
        await until_all_wait()
        asked.may_end.set()
        await until_all_wait()  # that one is asked for, before all others

        # When
        callers.create_task(asked.ask("orders"))
        await until_all_wait()
        asked.on_round = None
        asked.may_end.set()

    # Then
    assert "sooner" in asked.rounds[1]
    assert "orders" in asked.rounds[2]


async def test_all_who_ask_for_many_topics_are_given_about_the_same() -> None:
    # Given
    asked = Questions()
    asked.may_end.set()
    done_after = list[int]()

    async def ask(asker: int) -> None:
        done_after.append(await asked.ask(*names(f"{asker}", 300)))

    # When
    await asyncio.gather(*map(ask, range(250)))

    # Then
    assert len(asked.rounds) == 15
    assert min(done_after) >= 8


async def test_who_was_given_much_goes_on_although_more_newcomers_than_a_round_has_room_for_come_with_each() -> (
    None
):
    # Given
    asked = Questions()
    asked.may_end.set()
    newcomers: list[asyncio.Task[int]] = []

    async with asyncio.TaskGroup() as callers:

        def come() -> None:
            kinds = [f"round {len(asked.rounds)}, {number}" for number in range(110)]
            newcomers.extend(callers.create_task(asked.ask(*names(kind, 50))) for kind in kinds)

        asked.on_round = come

        # When
        round_count = await asked.ask(*names("wide", MOST_PER_ROUND + 300))
        asked.on_round = None
        for each in newcomers:
            each.cancel()

    # Then
    assert round_count <= 1 + 6 * 3  # six turns for the last 300; fewer than 150 wait for each round


async def test_of_very_many_who_are_told_together_only_so_many_go_on_in_a_turn() -> None:
    # Given
    asked = Questions()
    turn, gone_on_in = 0, Counter[int]()

    async def ask(asker: int) -> None:
        await asked.ask(f"topic {asker}")
        gone_on_in[turn] += 1

    async with asyncio.TaskGroup() as callers:
        callers.create_task(asked.ask("first"))
        await asked.has_begun.wait()
        for asker in range(100):
            callers.create_task(ask(asker))
        await until_all_wait()

        # When
        asked.may_end.set()
        while gone_on_in.total() < 100:
            await asyncio.sleep(0)
            turn += 1

    # Then
    assert len(asked.rounds) == 2
    assert max(gone_on_in.values()) <= MOST_IN_A_TURN


async def test_of_very_many_who_are_told_of_a_failure_only_so_many_go_on_in_a_turn() -> None:
    # Given
    asked = Questions()
    asked.failure = BrokerUnavailable("nobody answers")
    turn, gone_on_in = 0, Counter[int]()

    async def ask(asker: int) -> None:
        with pytest.raises(BrokerUnavailable, match="nobody answers"):
            await asked.ask(f"topic {asker}")
        gone_on_in[turn] += 1

    async with asyncio.TaskGroup() as callers:
        for asker in range(100):
            callers.create_task(ask(asker))
        await asked.has_begun.wait()

        # When
        asked.may_end.set()
        while gone_on_in.total() < 100:
            await asyncio.sleep(0)
            turn += 1

    # Then
    assert max(gone_on_in.values()) <= MOST_IN_A_TURN


async def test_who_asks_for_many_topics_makes_up_for_turns_that_went_to_very_many_who_ask_for_few() -> None:
    # Given
    asked = Questions()
    asked.may_end.set()
    others: list[asyncio.Task[int]] = []

    async with asyncio.TaskGroup() as callers:

        def come(how_many: int) -> None:
            kinds = [f"round {len(asked.rounds)}, {number}" for number in range(how_many)]
            others.extend(callers.create_task(asked.ask(*names(kind, 50))) for kind in kinds)

        come(900)
        asked.on_round = partial(come, 100)  # as many as are through with each

        # When
        round_count = await asked.ask(*names("wide", 600))
        asked.on_round = None
        for each in others:
            each.cancel()

    # Then
    assert round_count <= 60  # twelve turns, of which each alone would come after eighteen rounds
