"""`first_answer`: a question to one broker after the other, where one that hangs does not hold up the next."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.view import TopicIdsMissing

Answer = TypeVar("Answer")


class NobodyAnswered(Exception):
    """Every attempt failed; `failures` say why, in the order in which they did."""

    def __init__(self, failures: Sequence[BrokerUnavailable]) -> None:
        self.failures = failures
        super().__init__(failures)


@dataclass(frozen=True, slots=True)
class _Answered(Generic[Answer]):
    value: Answer


Outcome = _Answered[Answer] | Exception


async def first_answer(
    attempts: Iterable[Callable[[], Awaitable[Answer]]], *, patience_seconds: float | None
) -> Answer:
    """Return what the first attempt returns that raises no BrokerUnavailable; the others are cancelled then.

    The next one begins when one fails, or when nothing was heard for `patience_seconds`; None waits for failures alone.

    Raises:
        NobodyAnswered: all of them failed.
        TopicIdsMissing: one found the cluster unfit, so that no other need be made.
    """
    failures: list[BrokerUnavailable] = []
    outcomes: asyncio.Queue[Outcome[Answer]] = asyncio.Queue()
    last: Outcome[Answer] | None = None
    async with asyncio.TaskGroup() as group:
        waiting, begun = deque(attempts), list[asyncio.Task[None]]()
        while last is None and (waiting or len(failures) < len(begun)):
            if waiting:
                begun.append(group.create_task(_attempt(waiting.popleft(), outcomes)))
            outcome = await _next(outcomes, patience_seconds if waiting else None)
            if isinstance(outcome, BrokerUnavailable) and not isinstance(outcome, TopicIdsMissing):
                failures.append(outcome)
            else:
                last = outcome
        for task in begun:
            task.cancel()
    match last:
        case None:
            raise NobodyAnswered(failures)
        case Exception():
            raise last
        case _Answered(value):
            return value


async def _attempt(
    attempt: Callable[[], Awaitable[Answer]], outcomes: asyncio.Queue[Outcome[Answer]]
) -> None:
    try:
        outcomes.put_nowait(_Answered(await attempt()))
    except Exception as failure:  # noqa: BLE001 - whoever asked is to see it as it is, and not in a group
        outcomes.put_nowait(failure)


async def _next(
    outcomes: asyncio.Queue[Outcome[Answer]], patience_seconds: float | None
) -> Outcome[Answer] | None:
    """Return the next outcome, None when there was none in time."""
    try:
        async with asyncio.timeout(patience_seconds):
            return await outcomes.get()
    except TimeoutError:
        return None
