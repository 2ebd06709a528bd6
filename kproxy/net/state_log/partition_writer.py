"""`PartitionWriter`: one partition of the state log, written by this process alone, one append at a time.

A queue of `kproxy.statelog` decides what is written; this sends it, and compares what came back with what was to
come back. What is certainly not in the log is sent again for as long as a leader may take, and then refused, or
refused at once where no later try would help: the sequence numbers are used again, and nothing is in doubt. What was
refused because of its date alone is sent again with another one (`append_dates`). Whatever
else comes back ends this writer: its owner finds out what is true from the log itself.

Many records are made, and taken in, one append of all partitions in a turn of the event loop
(`let_other_appends_go_on`), and so are few where those of all partitions are many. Until then all is as if the turn,
or the answer, had come later: who ends the writer meanwhile finds nothing sent, or nothing taken in.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final, Protocol

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, StateNotWritten, StateRefused
from kproxy.handlers.live.pauses import MOST_AT_FIRST, SharedStart, let_other_appends_go_on
from kproxy.handlers.ports import TopicDescription
from kproxy.net.state_log.append_dates import AppendDates
from kproxy.net.state_log.append_outcome import AppendFate, AppendOutcome
from kproxy.net.state_log.every_step import take_every_step
from kproxy.net.state_log.log_appender import LogAppender
from kproxy.net.state_log.producer_identities import ProducerIdentity
from kproxy.net.tasks import TaskKeeper
from kproxy.statelog.tickets import Append
from kproxy.telemetry import logs
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record
from kproxy.wording import counted

log = logs.logger("net.state_log.partition_writer")

SEQUENCE_COUNT: Final = 2**31
"""Sequence numbers of an idempotent producer begin again at 0 after 2^31 - 1."""

RETRY_PAUSE_SECONDS: Final = 0.1
"""Before an append is sent again (Kafka's `retry.backoff.ms`)."""

FEW_BYTES: Final = 32 * 1024
"""A larger append is taken in when other writers have gone on: even few records may be much work."""

_TOO_LARGE: Final = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})


class Doubt(Enum):
    """Why what is in memory may not be what is in the log."""

    UNKNOWN_OUTCOME = "unknown_outcome"
    """Nobody knows what became of the append."""
    FENCED = "fenced"
    """The partition's leader says that somebody else claimed the partition."""
    FOREIGN_WRITE = "foreign_write"
    """The append landed behind records that this claim did not write: another's, or a late batch of our own."""
    TRUNCATED = "truncated"
    """The append landed below the end of the log: records that were durable are gone."""


class AppendQueue(Protocol):
    """What `StateQueue` and `GroupQueue` have in common."""

    @property
    def waiting_count(self) -> int:
        """How many operations wait for an append or are in one."""
        ...

    def waiting_work(self, at_most: int) -> int:
        """Return about how many records the work is that has to be done for what waits; more than `at_most` is much."""
        ...

    def next_append(self, now_ms: int, *, max_bytes: int, claim_epoch: int) -> Append | None:
        """Make records of what waits; None when nothing has to be written, or nothing of what it had the time for."""
        ...

    def succeeded(self, base_offset: int) -> None:
        """Take in the append as durable from `base_offset` on, and settle its tickets."""
        ...

    def refuse(self, error: ApiError) -> bool:
        """Refuse what is in flight, and what waits as far as that is not much; tell whether more is to be refused.

        Then this is called again, in another turn, before the next append is made.
        """
        ...


class AppendObserver(Protocol):
    """Who counts appends and measures them."""

    def appended(self, topic: str, *, records: int, batch_bytes: int, seconds: float) -> None:
        """Note an append that is durable."""
        ...

    def refused(self, partition: str, *, reason: str, detail: str, advice: str) -> None:
        """Note an append that was given up and is certainly not in the log of `partition`."""
        ...


@dataclass(frozen=True, slots=True)
class ClaimedPartition:
    """A partition of the state log with the claim under which it is written; the claim record has sequence 0."""

    topic: TopicDescription
    partition: int
    identity: ProducerIdentity
    claim_epoch: int
    """The offset of the claim record."""

    def __str__(self) -> str:
        return f"{self.topic.name}-{self.partition}"


@dataclass(frozen=True, slots=True)
class _Flight:
    """An append under way. `date_ms` is the timestamp of its batch, `began` is in seconds of the loop's clock."""

    records: Sequence[Record]
    batch: bytes
    date_ms: int
    began: float

    @property
    def record_count(self) -> int:
        return len(self.records)


class PartitionWriter:
    """Drives a queue until doubt ends it.

    Args:
        claimed: where, and under which claim.
        queue: what to write.
        dates: what appends are dated with.
        max_batch_bytes: how large a batch may become.
        tasks: what is long waits there until the long appends of other partitions have gone on.
        short_appends: what is short goes on at once, as long as that of all partitions is not much in one turn.
        on_doubt: called once, with the reason, when an append did not end as it had to. The queue is left as it
            is; from then on this writer sends nothing and takes nothing in.
    """

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        claimed: ClaimedPartition,
        queue: AppendQueue,
        *,
        appender: LogAppender,
        dates: AppendDates,
        max_batch_bytes: int,
        observer: AppendObserver,
        tasks: TaskKeeper,
        short_appends: SharedStart,
        on_doubt: Callable[[Doubt, str], None],
    ) -> None:
        self._claimed = claimed
        self._queue = queue
        self._appender = appender
        self._dates = dates
        self._max_batch_bytes = max_batch_bytes
        self._observer = observer
        self._tasks = tasks
        self._short_appends = short_appends
        self._on_doubt = on_doubt
        self._next_offset = claimed.claim_epoch + 1
        self._next_sequence = 1
        self._is_awake = False
        self._is_busy = False
        self._is_ended = False
        self._loop = asyncio.get_running_loop()

    def wake(self) -> None:
        """Look at the queue after this turn of the event loop, so that all that the turn submits goes together."""
        if not self._is_awake and not self._is_busy and not self._is_ended:
            self._is_awake = True
            self._loop.call_soon(self._look)

    def end(self) -> None:
        """Send nothing more, and take in nothing that is under way."""
        self._is_ended = True

    def _look(self) -> None:
        """Write what waits: at once when it is little, and else after the other writers who were before it."""
        self._is_awake = False
        if self._is_busy or self._is_ended:
            return
        self._is_busy = True
        work = self._queue.waiting_work(MOST_AT_FIRST)
        if self._short_appends.is_over(work) or work > MOST_AT_FIRST:
            self._after_other_writers(self._write)
        else:
            self._write()

    def _after_other_writers(self, step: Callable[[], None]) -> None:
        async def wait() -> None:
            await let_other_appends_go_on()
            step()

        self._tasks.spawn(wait(), name=f"{self._claimed} is written bit by bit")

    def _write(self) -> None:
        if self._is_ended:
            return
        try:
            self._write_next()
        except Exception as fault:  # noqa: BLE001 - the top of a callback; what waits would wait for ever
            log.crash("append_not_made", fault, partition=self._claimed)
            self._give_up(Doubt.UNKNOWN_OUTCOME, f"{type(fault).__name__} when an append was made")

    def _write_next(self) -> None:
        flight = self._next_flight()
        if flight is not None:
            self._send(flight)
            return
        self._is_busy = False
        if self._queue.waiting_count:
            self.wake()

    def _next_flight(self) -> _Flight | None:
        append = self._queue.next_append(
            self._dates.now_ms(), max_bytes=self._max_batch_bytes, claim_epoch=self._claimed.claim_epoch
        )
        return None if append is None else self._flight(append.records, self._loop.time())

    def _flight(self, records: Sequence[Record], began: float) -> _Flight:
        date_ms = self._dates.date_ms()
        identity = self._claimed.identity
        batch = build_batch(
            records,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=self._next_sequence,
            timestamp_ms=date_ms,
        )
        return _Flight(records, batch, date_ms, began)

    def _send(self, flight: _Flight) -> None:
        if self._is_ended:
            return
        outcome = self._appender.append(self._claimed.topic, self._claimed.partition, flight.batch)
        outcome.add_done_callback(lambda future: self._ended(future.result(), flight))

    def _ended(self, outcome: AppendOutcome, flight: _Flight) -> None:
        if self._is_ended:
            return
        match outcome.fate:
            case AppendFate.DURABLE if outcome.base_offset == self._next_offset:
                self._landed(flight)
            case AppendFate.NOT_APPENDED if self._has_time_left(flight):
                self._loop.call_later(RETRY_PAUSE_SECONDS, self._send, flight)
            case AppendFate.REFUSED if self._dates.is_refused(outcome, flight.date_ms):
                self._send(self._flight(flight.records, flight.began))
            case AppendFate.NOT_APPENDED | AppendFate.REFUSED:
                self._refuse(outcome, flight)
            case _:
                doubt = self._doubt_of(outcome)
                self._give_up(doubt, self._in_words(doubt, outcome))

    def _has_time_left(self, flight: _Flight) -> bool:
        ends_at = flight.began + self._appender.write_timeout_ms / 1000
        return self._loop.time() + RETRY_PAUSE_SECONDS < ends_at

    def _landed(self, flight: _Flight) -> None:
        take_in = partial(self._take_in, flight, self._loop.time() - flight.began)
        is_much = flight.record_count > MOST_AT_FIRST or len(flight.batch) > FEW_BYTES
        if self._short_appends.is_over(flight.record_count) or is_much:
            self._after_other_writers(take_in)
        else:
            take_in()

    def _refuse(self, outcome: AppendOutcome, flight: _Flight) -> None:
        """Refuse what is not in the log, with all that waits: it was made on top of that."""
        is_final = outcome.fate is AppendFate.REFUSED
        reason = "refused" if is_final else "late"
        detail = outcome.detail or f"{self._claimed}: {outcome.error_code.name}"
        self._refuse_waiting(StateRefused(detail) if is_final else StateNotWritten(detail))
        advice = self._advice(outcome.error_code, flight)
        report = partial(
            self._observer.refused, str(self._claimed), reason=reason, detail=detail, advice=advice
        )
        take_every_step("append_not_reported", report)

    def _refuse_waiting(self, error: ApiError) -> None:
        """Refuse all that waits, much of it bit by bit, as if the answer came later; then go on."""
        if self._is_ended:
            return
        self._is_busy = False
        if self._queue.refuse(error):
            self._is_busy = True
            self._after_other_writers(partial(self._refuse_waiting, error))
        else:
            self.wake()

    def _advice(self, error_code: ErrorCode, flight: _Flight) -> str:
        topic, size_bytes = self._claimed.topic.name, len(flight.batch)
        if error_code in _TOO_LARGE:
            return (
                f"a batch of {counted(size_bytes, 'byte')} was refused, and kproxy was told when it started that "
                f"{self._max_batch_bytes} are allowed: set max.message.bytes of topic {topic} to at least that "
                "again, or restart kproxy"
            )
        return f"look at the leader of this partition of topic {topic}"

    def _take_in(self, flight: _Flight, seconds: float) -> None:
        """Take in what is durable, which took so long, and go on with what waits."""
        if self._is_ended:
            return
        base_offset = self._next_offset
        self._is_busy = False
        self._next_offset += flight.record_count
        self._next_sequence = (self._next_sequence + flight.record_count) % SEQUENCE_COUNT
        self._dates.taken(flight.date_ms)
        try:
            self._queue.succeeded(base_offset)
        except Exception as fault:  # noqa: BLE001 - the top of a callback; what was written must be read to be known
            log.crash("append_not_taken_in", fault, partition=self._claimed)
            self._give_up(Doubt.UNKNOWN_OUTCOME, f"{type(fault).__name__} when an append was taken in")
        self._look()
        self._report(flight, seconds)

    def _report(self, flight: _Flight, seconds: float) -> None:
        report = partial(
            self._observer.appended,
            self._claimed.topic.name,
            records=flight.record_count,
            batch_bytes=len(flight.batch),
            seconds=seconds,
        )
        take_every_step("append_not_reported", report)

    def _doubt_of(self, outcome: AppendOutcome) -> Doubt:
        if outcome.fate is AppendFate.FENCED:
            return Doubt.FENCED
        if outcome.fate is not AppendFate.DURABLE:
            return Doubt.UNKNOWN_OUTCOME
        return Doubt.FOREIGN_WRITE if outcome.base_offset > self._next_offset else Doubt.TRUNCATED

    def _in_words(self, doubt: Doubt, outcome: AppendOutcome) -> str:
        if outcome.error_code is ErrorCode.NONE:
            return (
                f"{self._claimed}: an append landed at offset {outcome.base_offset}, not {self._next_offset}"
            )
        return outcome.detail or f"{self._claimed}: {doubt.value}"

    def _give_up(self, doubt: Doubt, detail: str) -> None:
        self._is_ended = True
        self._on_doubt(doubt, detail)
