"""`TopicQuestions`: what clients name that nobody has heard of lately, asked in rounds of bounded size, asker by asker.

One heartbeat may name 10,000 topics, one fetch 5,000 ids. Each round takes a little of everybody who waits, so that who
asks for a few is answered by the next one, however much others ask for.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.handlers.ports import Clock
from kproxy.net.cluster.metadata_rounds import MetadataRound, MetadataRounds, MetadataTiming
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import TopicId

MOST_PER_ROUND: Final = 5_000
"""Names and ids that are asked for in one round: ten requests."""

MOST_IN_TURN: Final = 50
"""Names and ids that are taken of one asker before it is the next one's turn."""

MOST_AT_ONCE: Final = 500
"""Whoever asks for more begins, and goes on, in a turn of its own, for that is long work mostly: also where all of
it was heard of before."""


@dataclass(slots=True, eq=False)
class _Question:
    keys: Sequence[str | TopicId]
    position: int = 0

    @property
    def is_asked(self) -> bool:
        return self.position >= len(self.keys)

    def take(self) -> Sequence[str | TopicId]:
        taken = self.keys[self.position : self.position + MOST_IN_TURN]
        self.position += len(taken)
        return taken


class TopicQuestions:
    """Has names and ids asked for by `ask_for`, but those that are not `is_unheard` any more when it is their turn."""

    def __init__(
        self,
        ask_for: Callable[[MetadataRound], Awaitable[None]],
        is_unheard: Callable[[str | TopicId], bool],
        *,
        clock: Clock,
        tasks: TaskKeeper,
        timing: MetadataTiming,
    ) -> None:
        self._ask_for = ask_for
        self._is_unheard = is_unheard
        self._timing = timing
        self._rounds = MetadataRounds(self._run, clock=clock, tasks=tasks, timing=timing)
        self._joined: list[_Question] = []  # who waits for the round that begins next

    async def ask(self, keys: Collection[str] | Collection[TopicId]) -> None:
        """Return when all of `keys` have been heard of, now or before, or were asked for.

        Raises:
            BrokerUnavailable: a round failed, or they were not all asked for after `max_wait_ms`.
        """
        if len(keys) > MOST_AT_ONCE:  # very many may have waited for the same thing before
            await let_others_go_on()
        unheard = filter(self._is_unheard, keys)
        first = next(unheard, None)
        if first is None:
            return
        await self._ask(_Question([first, *unheard]))
        if len(keys) > MOST_AT_ONCE:
            await let_others_go_on()

    async def _ask(self, question: _Question) -> None:
        try:
            async with asyncio.timeout(self._timing.max_wait_ms / 1000):
                while not question.is_asked:
                    self._joined.append(question)
                    await self._rounds.join()
        except TimeoutError:
            raise self._rounds.unanswered() from None
        finally:
            question.position = len(question.keys)  # nobody waits for the rest any more

    async def _run(self, this_round: MetadataRound) -> None:
        # In the turn in which nobody can join it any more.
        joined, self._joined = self._joined, []
        await self._fill(this_round, joined)
        if this_round.names or this_round.topic_ids:
            await self._ask_for(this_round)

    async def _fill(self, this_round: MetadataRound, joined: Sequence[_Question]) -> None:
        line = deque(question for question in joined if not question.is_asked)
        seen_count = 0
        while line and len(this_round.names) + len(this_round.topic_ids) < MOST_PER_ROUND:
            question = line.popleft()
            taken = question.take()
            for key in taken:
                if not self._is_unheard(key):
                    continue
                if isinstance(key, str):
                    this_round.names.add(key)
                else:
                    this_round.topic_ids.add(key)
            if not question.is_asked:
                line.append(question)
            seen_count += len(taken)
            if seen_count >= MOST_PER_ROUND:
                seen_count = 0
                await let_others_go_on()
