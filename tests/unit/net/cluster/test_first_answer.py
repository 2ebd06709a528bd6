"""Who is asked when, and whose answer counts."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.first_answer import NobodyAnswered, first_answer
from kproxy.net.cluster.view import TopicIdsMissing


class Asked:
    """Attempts, and what became of them."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.cancelled: list[str] = []

    def answering(self, name: str) -> Callable[[], Awaitable[str]]:
        async def attempt() -> str:
            self.begun.append(name)
            return name

        return attempt

    def failing(self, name: str, failure: Exception | None = None) -> Callable[[], Awaitable[str]]:
        async def attempt() -> str:
            self.begun.append(name)
            raise failure or BrokerUnavailable(name)

        return attempt

    def hanging(self, name: str, *, until: asyncio.Event | None = None) -> Callable[[], Awaitable[str]]:
        async def attempt() -> str:
            self.begun.append(name)
            try:
                await (until or asyncio.Event()).wait()
            except asyncio.CancelledError:
                self.cancelled.append(name)
                raise
            return name

        return attempt


async def test_while_the_first_answers_in_time_no_other_is_asked() -> None:
    asked = Asked()
    attempts = [asked.answering("a"), asked.answering("b")]
    assert await first_answer(attempts, patience_seconds=10) == "a"
    assert asked.begun == ["a"]


async def test_behind_a_failure_the_next_is_asked_at_once() -> None:
    asked = Asked()
    attempts = [asked.failing("a"), asked.answering("b")]
    assert await first_answer(attempts, patience_seconds=10) == "b"


async def test_one_that_hangs_is_overtaken_and_given_up() -> None:
    asked = Asked()
    attempts = [asked.hanging("a"), asked.answering("b")]
    assert await first_answer(attempts, patience_seconds=0.01) == "b"
    assert asked.cancelled == ["a"]


async def test_one_that_is_slow_may_answer_while_others_are_asked() -> None:
    # Given
    asked, answers = Asked(), asyncio.Event()

    async def let_the_first_answer() -> str:
        answers.set()
        return await asked.hanging("b")()

    # When
    attempts = [asked.hanging("a", until=answers), let_the_first_answer]
    answer = await first_answer(attempts, patience_seconds=0.01)

    # Then
    assert answer == "a"
    assert asked.cancelled == ["b"]


async def test_the_last_one_has_all_the_time_it_needs() -> None:
    # Given
    asked, answers = Asked(), asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, answers.set)

    # When
    answer = await first_answer([asked.hanging("a", until=answers)], patience_seconds=0.001)

    # Then
    assert answer == "a"


async def test_without_patience_to_run_out_nobody_is_asked_beside_another() -> None:
    # Given
    asked, answers = Asked(), asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, answers.set)

    # When
    attempts = [asked.hanging("a", until=answers), asked.answering("b")]
    answer = await first_answer(attempts, patience_seconds=None)

    # Then
    assert (answer, asked.begun) == ("a", ["a"])


async def test_when_all_fail_every_failure_is_told_in_order() -> None:
    asked = Asked()
    with pytest.raises(NobodyAnswered) as nobody:
        await first_answer([asked.failing("a"), asked.failing("b")], patience_seconds=1)
    assert [str(failure) for failure in nobody.value.failures] == ["a", "b"]


async def test_of_nobody_nothing_is_heard() -> None:
    with pytest.raises(NobodyAnswered):
        await first_answer([], patience_seconds=1)


@pytest.mark.parametrize("failure", [TopicIdsMissing("no ids"), ZeroDivisionError("a fault")])
async def test_what_is_no_failure_of_one_broker_ends_it(failure: Exception) -> None:
    asked = Asked()
    with pytest.raises(type(failure)):
        await first_answer([asked.failing("a", failure), asked.answering("b")], patience_seconds=1)
    assert asked.begun == ["a"]
