"""`MetadataRounds`: many who ask, few requests."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import Clock
from kproxy.net.backoff import Backoff
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import WakingTurns
from kproxy.share.identifiers import TopicId
from kproxy.telemetry import logs

Key = TypeVar("Key", str, TopicId)

log = logs.logger("net.cluster.metadata_rounds")

TOPICS_PER_REQUEST: Final = 500
"""More are asked in several requests, so that decoding one response does not hold the loop for long."""


@dataclass(frozen=True, slots=True)
class MetadataTiming:
    """How fresh, and at what price. All in milliseconds."""

    max_age_ms: int = 300_000
    """`metadata.max.age.ms`: everything is asked again after this long."""
    min_interval_ms: int = 50
    """Between the beginnings of two rounds."""
    max_wait_ms: int = 15_000
    """How long one who asks waits for a round at most."""
    unknown_ttl_ms: int = 1_000
    """How long the answer "there is no such topic" is believed."""
    idle_topic_ttl_ms: int = 600_000
    """After how long a topic that nobody asks about is forgotten."""


@dataclass(slots=True, eq=False)
class MetadataRound:
    """What is asked together. `is_full` means every topic in the cache as well."""

    done: asyncio.Future[BrokerUnavailable | None]
    """Why it failed; None when it succeeded."""
    names: set[str] = field(default_factory=set)
    topic_ids: set[TopicId] = field(default_factory=set)
    expected: dict[TopicId, str] = field(default_factory=dict)
    """Topics that somebody believes to be there, with their names."""
    denied: set[TopicId] = field(default_factory=set)
    """Those of them that are not there, as the answers to this very round say."""
    is_full: bool = False

    def expected_ids(self) -> Mapping[str, Collection[TopicId]]:
        """Return the ids of the expected topics by name: several, where a topic was created anew."""
        ids: dict[str, set[TopicId]] = {}
        for topic_id, name in self.expected.items():
            ids.setdefault(name, set()).add(topic_id)
        return ids

    def fail(self, failure: BrokerUnavailable) -> None:
        """Tell everybody who joined, if nobody has told them anything yet."""
        if not self.done.done():
            self.done.set_result(failure)


class MetadataRounds:
    """Runs one round at a time; whoever asks while one is running, or pausing, joins the next.

    A round that somebody joined begins after they did, so its answer is never older than the question.
    Between the beginnings of two rounds lie at least `min_interval_ms`, and after failures a pause that
    grows to a second.
    """

    def __init__(
        self,
        run: Callable[[MetadataRound], Awaitable[None]],
        *,
        clock: Clock,
        tasks: TaskKeeper,
        timing: MetadataTiming,
    ) -> None:
        self.backoff = Backoff(clock)
        self._run = run
        self._clock = clock
        self._tasks = tasks
        self._timing = timing
        self._next: MetadataRound | None = None
        self._current: MetadataRound | None = None
        self._turns = WakingTurns()
        self._runner: asyncio.Task[None] | None = None
        self._began_ms: int | None = None

    async def join(
        self,
        *,
        names: Iterable[str] = (),
        topic_ids: Iterable[TopicId] = (),
        expected: Mapping[TopicId, str] | None = None,
        is_full: bool = False,
        is_in_line: bool = False,
    ) -> Collection[TopicId]:
        """Return when a round that asks for all this has succeeded; the expected topics that are gone, anybody's.

        Of topics that are `expected`, and asked for by name, the absence is not believed to one broker alone. Of those
        who are in line, as clients are, so many go on in a turn of the event loop (`WakingTurns`).

        Raises:
            BrokerUnavailable: it failed, or was not over after `max_wait_ms`.
        """
        joined = self._next_round()
        joined.names.update(names)
        joined.topic_ids.update(topic_ids)
        joined.expected.update(expected or {})
        joined.is_full |= is_full
        failure = await self._outcome_of(joined)
        if is_in_line:
            await self._turns.begin()
        if failure is not None:
            raise failure.again()
        return joined.denied

    async def run_one(self) -> None:
        """Return when a round that begins from now on has succeeded, however long it takes.

        Raises:
            BrokerUnavailable: it failed.
        """
        failure = await asyncio.shield(self._next_round().done)
        if failure is not None:
            raise failure.again()

    def _next_round(self) -> MetadataRound:
        if self._tasks.is_closed:
            raise BrokerUnavailable("kproxy is stopping")
        if self._next is None:
            self._next = MetadataRound(asyncio.get_running_loop().create_future())
        if self._runner is None:
            self._runner = self._tasks.spawn(self._run_all(), name="metadata rounds")
            self._runner.add_done_callback(self._stopped)
        return self._next

    async def _outcome_of(self, joined: MetadataRound) -> BrokerUnavailable | None:
        try:
            async with asyncio.timeout(self._timing.max_wait_ms / 1000):
                # Shared, so one who is cancelled must not end it for the others.
                return await asyncio.shield(joined.done)
        except TimeoutError:
            return self.unanswered()

    def unanswered(self) -> BrokerUnavailable:
        """Return what one is told who has waited for `max_wait_ms`."""
        return BrokerUnavailable(f"the backing cluster did not answer within {self._timing.max_wait_ms} ms")

    async def _run_all(self) -> None:
        while self._next is not None:
            await self._pause()
            self._began_ms = self._clock.now_ms()
            self._current, self._next = self._next, None
            await self._run_one(self._current)
        # In this very turn: who asks before the callback of this task is called has to begin another.
        self._runner = self._current = None

    async def _pause(self) -> None:
        pause_ms = self.backoff.remaining_ms
        if self._began_ms is not None:
            pause_ms = max(pause_ms, self._began_ms + self._timing.min_interval_ms - self._clock.now_ms())
        if pause_ms > 0:
            await asyncio.sleep(pause_ms / 1000)

    async def _run_one(self, current: MetadataRound) -> None:
        try:
            await self._run(current)
        except BrokerUnavailable as failure:
            self.backoff.failed()
            current.fail(failure)
        except Exception as fault:  # noqa: BLE001 - who asked is to be told, and the next round not to begin at once
            self.backoff.failed()
            log.crash("metadata_round_failed", fault)
            current.fail(BrokerUnavailable(f"the metadata met a {type(fault).__name__} in kproxy itself"))
        else:
            self.backoff.succeeded()
            current.done.set_result(None)

    def _stopped(self, runner: asyncio.Task[None]) -> None:
        if runner is not self._runner:
            return  # It came to its end, and what was asked since is another's.
        self._runner = None
        for unfinished in (self._current, self._next):
            if unfinished is not None:
                unfinished.fail(BrokerUnavailable("kproxy is stopping"))
        self._current = self._next = None


def in_requests(keys: Collection[Key]) -> Iterator[list[Key]]:
    """Return `keys`, which are names or ids, in order, in parts for one request each."""
    ordered = sorted(keys)
    return (
        ordered[start : start + TOPICS_PER_REQUEST] for start in range(0, len(ordered), TOPICS_PER_REQUEST)
    )
