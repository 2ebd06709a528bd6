"""One question for all who ask at the same moment, and no answer that is older than who asked."""

import asyncio

from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.shared_question import SharedQuestion


class Asked:
    """A question whose answers are 1, 2, 3 …; it fails with `failure`."""

    def __init__(self) -> None:
        self.count = 0
        self.failure: Exception | None = None
        self.may_end, self.has_begun = asyncio.Event(), asyncio.Event()
        self.may_end.set()
        self.question = SharedQuestion(self._put)

    async def _put(self) -> int:
        self.count += 1
        number = self.count
        self.has_begun.set()
        await self.may_end.wait()
        if self.failure is not None:
            raise self.failure
        return number

    async def outcomes_of(self, count: int) -> list[object]:
        """Ask `count` times at once; return what was answered or raised."""
        answers = [self.question.answer() for _ in range(count)]
        return list(await asyncio.gather(*answers, return_exceptions=True))


async def test_all_who_ask_in_one_turn_share_one_answer() -> None:
    asked = Asked()

    assert await asked.outcomes_of(3) == [1, 1, 1]
    assert asked.question.waiting_count == 0


async def test_who_asks_while_it_is_put_is_answered_by_the_next_one() -> None:
    # Given
    asked = Asked()
    asked.may_end.clear()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(asked.outcomes_of(1))
        await asked.has_begun.wait()

        # When
        late = tasks.create_task(asked.outcomes_of(2))
        await asyncio.sleep(0)
        asked.may_end.set()

    # Then
    assert (first.result(), late.result()) == ([1], [2, 2])


async def test_a_failure_is_raised_to_each_as_one_of_their_own() -> None:
    # Given
    asked = Asked()
    asked.failure = BrokerUnavailable("nobody answers")

    # When
    outcomes = await asked.outcomes_of(3)

    # Then
    assert [str(outcome) for outcome in outcomes] == ["nobody answers"] * 3
    assert len({id(outcome) for outcome in outcomes}) == 3
    assert asked.count == 1


async def test_what_is_no_failure_of_the_question_is_raised_to_one_and_the_next_asks_again() -> None:
    # Given
    asked = Asked()
    asked.failure = KeyError("a fault of kproxy itself")

    # When
    outcomes = await asked.outcomes_of(2)

    # Then
    assert [type(outcome) for outcome in outcomes] == [KeyError, KeyError]
    assert asked.count == 2


async def test_who_is_cancelled_leaves_the_question_to_the_next() -> None:
    # Given
    asked = Asked()
    asked.may_end.clear()
    async with asyncio.TaskGroup() as tasks:
        impatient = tasks.create_task(asked.question.answer())
        patient = tasks.create_task(asked.question.answer())
        await asked.has_begun.wait()

        # When
        impatient.cancel()
        asked.may_end.set()

    # Then
    assert impatient.cancelled()
    assert patient.result() == 2
