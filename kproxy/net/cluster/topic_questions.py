"""`TopicQuestions`: what clients name that nobody has heard of lately, asked in rounds of bounded size, asker by asker.

One heartbeat may name 10,000 topics, one fetch 5,000 ids. Each round takes a little of everybody who waits, so that who
asks for a few is answered by the next one, however much others ask for. Where more wait than a round has turns for,
half of it makes up for the turns that those missed who were given nothing for longest. In the other half every other
turn is that of who will have been given least with it, and the turns between are those of who was given nothing for
longest. So who asks for a few does not wait for those who ask for much, and who asks for much is given as much as
others, though not as soon: of N who wait each has a turn in every N/25th round at least, whoever comes after it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Final

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.handlers.ports import Clock
from kproxy.net.cluster.metadata_rounds import MetadataRound, MetadataRounds, MetadataTiming
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import WakingTurns
from kproxy.share.identifiers import TopicId

MOST_PER_ROUND: Final = 5_000
"""Names and ids that are asked for in one round: ten requests."""

MOST_IN_TURN: Final = 50
"""Names and ids that are taken of one asker before it is the next one's turn."""

MOST_MISSED: Final = 9
"""Turns that are made up for together at most."""

MOST_AT_ONCE: Final = 500
"""Whoever asks for more begins, and goes on, in a turn of its own, for that is long work mostly: also where all of
it was heard of before."""


@dataclass(slots=True, eq=False)
class _Question:
    keys: Sequence[str | TopicId]
    turn_round: int
    """The number of the round in which it had its last turn; of the last one before it, where it had none."""
    outcome: asyncio.Future[BrokerUnavailable | None]
    """Why it was not asked for; None when all of it was."""
    position: int = 0

    @property
    def is_asked(self) -> bool:
        return self.position >= len(self.keys)

    @property
    def next_position(self) -> int:
        return min(self.position + MOST_IN_TURN, len(self.keys))

    def take(self, turns: int) -> Sequence[str | TopicId]:
        taken = self.keys[self.position : self.position + turns * MOST_IN_TURN]
        self.position += len(taken)
        return taken

    def end(self, failure: BrokerUnavailable | None) -> None:
        self.keys, self.position = (), 0  # nobody waits for the rest any more
        if not self.outcome.done():
            self.outcome.set_result(failure)


class TopicQuestions:
    """Has names and ids asked for by `ask_for`, but those that are not `is_unheard` any more when it is their turn.

    Who waits hears when all that it asked for was asked for, or when a round failed, and not of each round: there may
    be ten thousand. Of those who hear together, so many go on in a turn of the event loop (`WakingTurns`).
    """

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
        self._tasks = tasks
        self._timing = timing
        self._rounds = MetadataRounds(self._run, clock=clock, tasks=tasks, timing=timing)
        self._turns = WakingTurns()
        self._waiting: dict[_Question, None] = {}  # for the round that begins next, in order
        self._in_round: list[_Question] = []
        self._round_count = 0
        self._runner: asyncio.Task[None] | None = None

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
        await self._ask([first, *unheard])
        if len(keys) > MOST_AT_ONCE:
            await let_others_go_on()

    async def _ask(self, keys: Sequence[str | TopicId]) -> None:
        question = _Question(keys, self._round_count, asyncio.get_running_loop().create_future())
        self._waiting[question] = None
        if self._runner is None:
            self._runner = self._tasks.spawn(self._run_rounds(), name="questions about topics")
            self._runner.add_done_callback(self._stopped)
        try:
            async with asyncio.timeout(self._timing.max_wait_ms / 1000):
                failure = await question.outcome
        except TimeoutError:
            failure = self._rounds.unanswered()
        finally:
            question.end(None)
            self._waiting.pop(question, None)
        await self._turns.begin()
        if failure is not None:
            raise failure.again()

    async def _run_rounds(self) -> None:
        while self._waiting:
            failure: BrokerUnavailable | None = None
            try:
                await self._rounds.run_one()  # who waits has a limit of its own
            except BrokerUnavailable as told:
                failure = told
            self._end_round(failure)
        # In this very turn: who asks before the callback of this task is called has to begin another.
        self._runner = None

    def _end_round(self, failure: BrokerUnavailable | None) -> None:
        """Tell those who were in the round and have been asked for, or all of them of its failure."""
        heard, self._in_round = self._in_round, []
        if failure is not None and self._tasks.is_closed:
            heard += self._waiting  # no round begins any more
            self._waiting = {}
        left: list[_Question] = []
        for question in heard:
            if failure is None and not question.is_asked:
                left.append(question)
            else:
                question.end(failure)
        self._waiting = dict.fromkeys(left) | self._waiting

    def _stopped(self, runner: asyncio.Task[None]) -> None:
        if runner is self._runner:
            self._runner = None
            for question in (*self._in_round, *self._waiting):
                question.end(BrokerUnavailable("kproxy is stopping"))
            self._in_round, self._waiting = [], {}

    async def _run(self, this_round: MetadataRound) -> None:
        # In the turn in which nobody can join it any more.
        self._in_round, self._waiting = [*self._waiting], {}
        self._round_count += 1
        self._make_up(this_round)
        await self._fill(this_round, _in_line(each for each in self._in_round if not each.is_asked))
        if this_round.names or this_round.topic_ids:
            await self._ask_for(this_round)

    def _make_up(self, this_round: MetadataRound) -> None:
        left = MOST_PER_ROUND // 2
        for question in sorted(self._in_round, key=attrgetter("turn_round")):
            missed = self._round_count - question.turn_round - 1
            if missed <= 0 or left <= 0:
                return
            left -= self._take(this_round, question, min(missed, MOST_MISSED))

    async def _fill(self, this_round: MetadataRound, line: deque[_Question]) -> None:
        seen_count = 0
        while line and len(this_round.names) + len(this_round.topic_ids) < MOST_PER_ROUND:
            question = line.popleft()
            seen_count += self._take(this_round, question, 1)
            if not question.is_asked:
                line.append(question)
            if seen_count >= MOST_PER_ROUND:
                seen_count = 0
                await let_others_go_on()

    def _take(self, this_round: MetadataRound, question: _Question, turns: int) -> int:
        """Give `question` so many turns at once; return how many of its keys were looked at."""
        question.turn_round = self._round_count
        taken = question.take(turns)
        for key in taken:
            if not self._is_unheard(key):
                continue
            if isinstance(key, str):
                this_round.names.add(key)
            else:
                this_round.topic_ids.add(key)
        return len(taken)


def _in_line(questions: Iterable[_Question]) -> deque[_Question]:
    """Return them in the order of their turns, of the one kind and the other; of equals who joined first is first."""
    least = sorted(questions, key=attrgetter("next_position"))
    longest = sorted(least, key=attrgetter("turn_round"))
    return deque(dict.fromkeys(chain.from_iterable(zip(least, longest, strict=True))))
