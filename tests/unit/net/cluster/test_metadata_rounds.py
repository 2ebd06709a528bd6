import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.metadata_rounds import MetadataRound, MetadataRounds, MetadataTiming
from kproxy.net.deadlines import MonotonicClock
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import MOST_IN_A_TURN
from tests.worlds.backing import ORDERS, PAYMENTS


class Rounds:
    """Rounds that are over when the test says so."""

    def __init__(self, *, min_interval_ms: int = 0, max_wait_ms: int = 5_000) -> None:
        self.asked: list[tuple[list[str], list[bytes], bool]] = []
        self.began_ms: list[int] = []
        self.may_end = asyncio.Event()
        self.has_begun = asyncio.Event()
        self.failure: Exception | None = None
        self.tasks = TaskKeeper()
        self.clock = MonotonicClock()
        self.rounds = MetadataRounds(
            self._run,
            clock=self.clock,
            tasks=self.tasks,
            timing=MetadataTiming(min_interval_ms=min_interval_ms, max_wait_ms=max_wait_ms),
        )

    async def _run(self, this_round: MetadataRound) -> None:
        self.asked.append((sorted(this_round.names), sorted(this_round.topic_ids), this_round.is_full))
        self.began_ms.append(self.clock.now_ms())
        self.has_begun.set()
        await self.may_end.wait()
        if self.failure is not None:
            raise self.failure


async def test_those_who_ask_while_a_round_is_under_way_share_the_next_one() -> None:
    # Given
    rounds = Rounds()
    async with asyncio.TaskGroup() as callers:
        callers.create_task(rounds.rounds.join(names={"a"}))
        await rounds.has_begun.wait()

        # When
        callers.create_task(rounds.rounds.join(names={"b"}))
        callers.create_task(rounds.rounds.join(names={"c"}, topic_ids={ORDERS}))
        callers.create_task(rounds.rounds.join(topic_ids={PAYMENTS}, is_full=True))
        await asyncio.sleep(0)
        rounds.may_end.set()

    # Then
    assert rounds.asked == [(["a"], [], False), (["b", "c"], [ORDERS, PAYMENTS], True)]


async def test_a_failure_that_is_told_to_many_never_comes_to_refer_to_those_before_it() -> None:
    """Who is told of one round's failure, and asks again while it handles that, is told of the next one's."""
    # Given
    rounds = Rounds()
    rounds.failure, rounds.may_end = BrokerUnavailable("the first one"), asyncio.Event()
    first, second = rounds.failure, BrokerUnavailable("the second one")
    told: list[BrokerUnavailable] = []

    async def ask_twice() -> None:
        try:
            await rounds.rounds.join()
        except BrokerUnavailable:
            rounds.failure = second
            try:
                await rounds.rounds.join()
            except BrokerUnavailable as again:
                told.append(again)

    # When
    rounds.may_end.set()
    await asyncio.gather(ask_twice(), ask_twice())

    # Then
    assert [str(each) for each in told] == ["the second one"] * 2
    assert told[0] is not told[1]
    assert (first.__context__, second.__context__) == (None, None)


@pytest.mark.parametrize("failure", [None, BrokerUnavailable("nobody answers")])
async def test_of_very_many_who_share_a_round_only_so_many_go_on_in_a_turn(
    failure: BrokerUnavailable | None,
) -> None:
    # Given
    rounds = Rounds()
    rounds.failure = failure
    turn, gone_on_in = 0, Counter[int]()

    async def join() -> None:
        with suppress(BrokerUnavailable):
            await rounds.rounds.join(names={"a"}, is_in_line=True)
        gone_on_in[turn] += 1

    async with asyncio.TaskGroup() as callers:
        for _ in range(100):
            callers.create_task(join())
        await rounds.has_begun.wait()

        # When
        rounds.may_end.set()
        while gone_on_in.total() < 100:
            await asyncio.sleep(0)
            turn += 1

    # Then
    assert len(rounds.asked) == 1
    assert max(gone_on_in.values()) <= MOST_IN_A_TURN


async def test_who_is_not_in_line_goes_on_before_very_many_who_are() -> None:
    # Given
    rounds, order = Rounds(), list[str]()

    async def join(who: str, *, is_in_line: bool) -> None:
        await rounds.rounds.join(names={"a"}, is_in_line=is_in_line)
        order.append(who)

    async with asyncio.TaskGroup() as callers:
        for _ in range(100):
            callers.create_task(join("a fetch", is_in_line=True))
        callers.create_task(join("the state log", is_in_line=False))
        await rounds.has_begun.wait()

        # When
        rounds.may_end.set()

    # Then
    assert order.index("the state log") <= MOST_IN_A_TURN


async def test_a_round_that_is_run_is_waited_for_however_long_it_takes() -> None:
    # Given
    rounds = Rounds(max_wait_ms=1)
    async with asyncio.TaskGroup() as callers:
        run = callers.create_task(rounds.rounds.run_one())
        with pytest.raises(BrokerUnavailable, match="did not answer within 1 ms"):
            await rounds.rounds.join()

        # When
        was_done = run.done()
        rounds.may_end.set()

    # Then
    assert not was_done
    assert len(rounds.asked) == 1


async def test_who_asks_in_the_turn_after_the_last_round_is_answered_by_another_one() -> None:
    """The task that ran the rounds has ended then, and what is called when it has ended was not called yet."""
    # Given
    rounds = Rounds()
    async with asyncio.TaskGroup() as callers:
        callers.create_task(rounds.rounds.join(names={"a"}))
        await rounds.has_begun.wait()

        # When
        rounds.may_end.set()
        callers.create_task(rounds.rounds.join(names={"b"}))

    # Then
    assert [names for names, _, _ in rounds.asked] == [["a"], ["b"]]


async def test_rounds_begin_no_sooner_than_the_interval() -> None:
    # Given
    rounds = Rounds(min_interval_ms=30)
    rounds.may_end.set()
    # What a round notes may come later than it began: only this is certainly before all of them.
    before_ms = rounds.clock.now_ms()

    # When
    for _ in range(3):
        await rounds.rounds.join(is_full=True)

    # Then
    _, second_ms, third_ms = rounds.began_ms
    assert second_ms >= before_ms + 30
    assert third_ms >= before_ms + 60


async def test_a_failed_round_is_told_to_everybody_in_it_and_the_next_one_waits() -> None:
    # Given
    rounds = Rounds()
    rounds.failure = BrokerUnavailable("nobody answers")
    rounds.may_end.set()

    # When
    outcomes = await asyncio.gather(
        rounds.rounds.join(names={"a"}), rounds.rounds.join(names={"b"}), return_exceptions=True
    )

    # Then
    assert [str(outcome) for outcome in outcomes] == ["nobody answers", "nobody answers"]
    assert 1 <= rounds.rounds.backoff.remaining_ms <= 60
    rounds.failure = None
    await rounds.rounds.join(is_full=True)
    assert rounds.began_ms[1] - rounds.began_ms[0] >= 39
    assert rounds.rounds.backoff.remaining_ms == 0


async def test_a_fault_of_kproxy_in_a_round_is_told_as_such_and_the_next_one_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    rounds = Rounds()
    rounds.failure = KeyError("nobody thought of it")
    rounds.may_end.set()

    # When
    with pytest.raises(BrokerUnavailable, match="KeyError in kproxy itself"):
        await rounds.rounds.join(is_full=True)

    # Then
    assert 1 <= rounds.rounds.backoff.remaining_ms <= 60
    assert "metadata_round_failed" in caplog.text
    rounds.failure = None
    await rounds.rounds.join(is_full=True)
    assert rounds.began_ms[1] - rounds.began_ms[0] >= 39


async def test_nobody_waits_for_ever() -> None:
    # Given
    rounds = Rounds(max_wait_ms=20)

    # When
    with pytest.raises(BrokerUnavailable, match="the backing cluster did not answer within 20 ms"):
        await rounds.rounds.join(is_full=True)

    # Then
    rounds.may_end.set()
    await rounds.rounds.join(is_full=True)


async def test_one_who_gives_up_does_not_end_the_round_for_the_others() -> None:
    # Given
    rounds = Rounds()
    async with asyncio.TaskGroup() as callers:
        impatient = callers.create_task(rounds.rounds.join(names={"a"}))
        patient = callers.create_task(rounds.rounds.join(names={"b"}))
        await rounds.has_begun.wait()

        # When
        impatient.cancel()
        rounds.may_end.set()

    # Then
    assert patient.result() == set()
    assert rounds.asked == [(["a", "b"], [], False)]


@pytest.mark.parametrize("stops_when", [lambda rounds: rounds.has_begun.wait(), lambda _: asyncio.sleep(0)])
async def test_who_waits_when_kproxy_stops_is_told(
    stops_when: Callable[[Rounds], asyncio.Future[None]],
) -> None:
    # Given
    rounds = Rounds()

    async def stop() -> None:
        await stops_when(rounds)
        await rounds.tasks.close()

    # When
    outcome, _ = await asyncio.gather(rounds.rounds.join(is_full=True), stop(), return_exceptions=True)

    # Then
    assert str(outcome) == "kproxy is stopping"
    with pytest.raises(BrokerUnavailable, match="kproxy is stopping"):
        await rounds.rounds.join(is_full=True)
