"""`SharedQuestion`: a question that many ask at the same moment, and that is put once for all of them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kproxy.errors import BrokerUnavailable, KproxyError

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Put(Generic[Answer]):
    """A question that was put: the how-manieth it was, and what came of it."""

    number: int
    answers: tuple[Answer, ...] = ()
    """One, or none where it failed."""
    failure: KproxyError | None = None


class SharedQuestion(Generic[Answer]):
    """Calls `put`, one call at a time.

    Its `failures` are told to all who share a call. What else it raises is raised to one of them alone, and the next
    one calls again, as when that one is cancelled.
    """

    def __init__(
        self,
        put: Callable[[], Awaitable[Answer]],
        *,
        failures: tuple[type[KproxyError], ...] = (BrokerUnavailable,),
    ) -> None:
        self.waiting_count = 0
        """How many wait for an answer."""
        self._put = put
        self._failures = failures
        self._putting = asyncio.Lock()
        self._begun_count = 0
        self._last: _Put[Answer] = _Put(0)

    async def answer(self) -> Answer:
        """Return what `put` returns. All who ask before a call begins share it; none hears of one that began before.

        Raises:
            KproxyError: `put` did; everybody is raised one of their own.
        """
        first_of_use = self._begun_count + 1
        self.waiting_count += 1
        try:
            async with self._putting:
                if self._last.number < first_of_use:
                    await self._put_once()
                last = self._last
        finally:
            self.waiting_count -= 1
        if last.failure is not None:
            # One object raised in several tasks would mix their traces.
            raise type(last.failure)(*last.failure.args)
        (answer,) = last.answers
        return answer

    async def _put_once(self) -> None:
        await asyncio.sleep(0)  # whoever asks in the same turn of the loop shares it
        self._begun_count += 1
        number = self._begun_count
        try:
            self._last = _Put(number, (await self._put(),))
        except self._failures as failure:
            self._last = _Put(number, failure=failure)
