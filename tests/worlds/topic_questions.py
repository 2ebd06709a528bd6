"""`Questions`: topic questions whose rounds a test ends."""

import asyncio
from collections.abc import Callable, Sequence

from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.metadata_rounds import MetadataRound, MetadataTiming
from kproxy.net.cluster.topic_questions import TopicQuestions
from kproxy.net.deadlines import MonotonicClock
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import TopicId
from tests.worlds.waiting import until_all_wait


class Questions:
    """Questions whose rounds are over when the test says so; what was asked for is heard of then."""

    def __init__(self, *, max_wait_ms: int = 5_000) -> None:
        self.rounds: list[set[str | TopicId]] = []
        self.heard: set[str | TopicId] = set()
        self.may_end = asyncio.Event()
        self.has_begun = asyncio.Event()
        self.failure: BrokerUnavailable | None = None
        self.on_round: Callable[[], None] | None = None
        self.tasks = TaskKeeper()
        self.questions = TopicQuestions(
            self._ask_for,
            lambda key: key not in self.heard,
            clock=MonotonicClock(),
            tasks=self.tasks,
            timing=MetadataTiming(min_interval_ms=0, max_wait_ms=max_wait_ms),
        )

    async def _ask_for(self, this_round: MetadataRound) -> None:
        self.rounds.append({*this_round.names, *this_round.topic_ids})
        self.has_begun.set()
        if self.on_round is not None:
            self.on_round()
            await until_all_wait()
        await self.may_end.wait()
        if self.failure is not None:
            raise self.failure
        self.heard |= self.rounds[-1]

    async def ask(self, *keys: str) -> int:
        """Return after how many rounds all were asked for."""
        await self.questions.ask(keys)
        return len(self.rounds)


def names(kind: str, count: int) -> Sequence[str]:
    """That many names of one kind."""
    return [f"{kind}.{number}" for number in range(count)]
