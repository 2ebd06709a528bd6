"""`BacklogSurvey`: where logs end, and how old the first record is that a share group has not finished.

It uses connections of its own, so that no fetch stands behind it, and asks for so little at once that brokers do not
notice: one ListOffsets at a time of each leader, one more of those partitions of which it is asked where committed
records end, then the first batches of `READS_AT_ONCE` partitions at a time. One
that is larger than `FIRST_BATCH_BYTES` comes only if it is the first of a Fetch (KIP-74), so such partitions are read
one by one, and no more than `LARGE_BATCHES` of them.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable, MalformedMessage
from kproxy.handlers.backlog import Backlog, BacklogQuestion
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.pauses import let_other_looks_go_on
from kproxy.handlers.ports import PartitionData, PartitionRead, PartitionReader
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.reading.log_ends import LogEnds
from kproxy.net.reading.partition_reader import BrokerPartitionReader
from kproxy.share.identifiers import TopicIdPartition
from kproxy.wire.record_times import RecordTime, time_of_first_record

SURVEY_SECONDS: Final = 3.0
"""What a survey takes at most; the command line waits for five seconds."""
SURVEYS_AT_ONCE: Final = 2
READS_AT_ONCE: Final = 64
QUESTIONS_AT_ONCE: Final = 5_000
"""So many are gone through before others have a turn: some 10 ms."""
FIRST_BATCH_BYTES: Final = 16 * 1024
LARGE_BATCHES: Final = 64

_WHATEVER_COMES: Final = 2**30
"""Bytes for a whole Fetch: each partition has a bound of its own."""


class BacklogSurvey:
    """Implements `Backlogs`. At most `SURVEYS_AT_ONCE` are under way; others wait their turn, in their own time."""

    def __init__(
        self,
        *,
        metadata: ClusterMetadataCache,
        connections: BrokerConnections,
        timeout_s: float = SURVEY_SECONDS,
    ) -> None:
        self._metadata = metadata
        self._connections = connections.survey()
        self._reader = BrokerPartitionReader(metadata=metadata, connections=self._connections)
        self._timeout_s = timeout_s
        self._turnstile = asyncio.Semaphore(SURVEYS_AT_ONCE)

    async def look(self, questions: Sequence[BacklogQuestion]) -> Sequence[Backlog]:
        """Return an answer to each question, in order, within `timeout_s`. Raises nothing."""
        ends, stable = (
            LogEnds(metadata=self._metadata, connections=self._connections, isolation=isolation)
            for isolation in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)
        )
        round_ = _SurveyRound(
            questions, metadata=self._metadata, ends=ends, stable=stable, reader=self._reader
        )
        unanswered = ""
        try:
            async with asyncio.timeout(self._timeout_s), self._turnstile:
                await round_.run()
        except TimeoutError:
            unanswered = f"the brokers did not answer within {self._timeout_s:g} s"
        answers: list[Backlog] = []
        async for some in _portions(questions):
            answers += [round_.answer(question, unanswered) for question in some]
        return answers


class _SurveyRound:
    """One survey, and what it knows so far."""

    def __init__(
        self,
        questions: Sequence[BacklogQuestion],
        *,
        metadata: ClusterMetadataCache,
        ends: LogEnds,
        stable: LogEnds,
        reader: PartitionReader,
    ) -> None:
        self._questions = questions
        self._metadata = metadata
        self._ends, self._stable = ends, stable
        self._reader = reader
        self._times: dict[TopicIdPartition, RecordTime | None] = {}
        self._notes: dict[TopicIdPartition, str] = {}
        self._large: list[PartitionRead] = []
        self._moved: list[PartitionRead] = []

    async def run(self) -> None:
        async for some in _portions(self._questions):
            await self._find_ends(some)
        async for some in _portions(self._questions):
            await self._read_each([read for question in some for read in self._read_of(question)])
        moved = self._moved
        self._moved = []
        await self._read_each(moved)
        for read in self._large[:LARGE_BATCHES]:
            await self._read([read])
        for read in self._large[LARGE_BATCHES:]:
            self._note(
                read, f"its batch is larger than {FIRST_BATCH_BYTES} bytes, as are {LARGE_BATCHES} others"
            )

    def answer(self, question: BacklogQuestion, unanswered: str) -> Backlog:
        """Return what is known; `unanswered` says why the survey ended early, if it did."""
        place = _place(question)
        end = self._ends.ends.get(place)
        if end is None:
            reason = self._ends.reasons.get(place) or unanswered
            return Backlog(None, None, reason, self._ends.codes.get(place, ErrorCode.REQUEST_TIMED_OUT))
        is_due = question.first_unfinished is not None and question.first_unfinished < end
        reason = self._notes.get(place, "")
        if is_due and place not in self._times:
            reason = reason or unanswered
        stable = self._stable.ends.get(place)
        return Backlog(end, self._times.get(place), reason, last_stable_offset=stable)

    # ------------------------------------------------ private

    async def _find_ends(self, questions: Sequence[BacklogQuestion]) -> None:
        await self._learn_topics(questions)
        await self._ends.find([_place(question) for question in questions])
        if committed := [_place(question) for question in questions if _is_committed(question)]:
            await self._stable.find(committed)

    async def _learn_topics(self, questions: Sequence[BacklogQuestion]) -> None:
        names = {question.topic_name for question in questions if question.topic_name is not None}
        nameless = {question.topic_id for question in questions if question.topic_name is None}
        try:
            await self._metadata.topics_named(names)
            for topic_id in nameless:
                await self._metadata.topic_with_id(topic_id)
        except BrokerUnavailable:
            return  # whoever asks for the ends says so of each partition

    def _read_of(self, question: BacklogQuestion) -> Iterator[PartitionRead]:
        end = self._ends.ends.get(_place(question))
        first = question.first_unfinished
        if end is not None and first is not None and first < end:
            yield PartitionRead(question.topic_id, question.partition, first, FIRST_BATCH_BYTES)

    async def _read_each(self, reads: Sequence[PartitionRead]) -> None:
        for start in range(0, len(reads), READS_AT_ONCE):
            await self._read(reads[start : start + READS_AT_ONCE])

    async def _read(self, reads: Sequence[PartitionRead]) -> None:
        is_alone = len(reads) == 1
        found = await self._reader.read(reads, max_bytes=_WHATEVER_COMES)
        for read, data in zip(reads, found, strict=True):
            self._take(read, data, is_alone=is_alone)

    def _take(self, read: PartitionRead, data: PartitionData, *, is_alone: bool) -> None:
        if data.error_code is ErrorCode.OFFSET_OUT_OF_RANGE and data.log_start_offset > read.offset:
            self._note(read, f"the records below offset {data.log_start_offset} are deleted")
            begin = PartitionRead(read.topic_id, read.partition, data.log_start_offset, read.max_bytes)
            if begin.offset < self._ends.ends[TopicIdPartition(read.topic_id, read.partition)]:
                self._moved.append(begin)
        elif data.error_code is not ErrorCode.NONE:
            self._note(read, f"offset {read.offset} cannot be read: {data.error_code.name}")
        elif not data.records and not is_alone:
            self._large.append(read)
        else:
            self._take_time(read, data.records)

    def _take_time(self, read: PartitionRead, records: memoryview) -> None:
        place = TopicIdPartition(read.topic_id, read.partition)
        try:
            time = time_of_first_record(records, read.offset)
        except MalformedMessage as malformed:
            self._note(read, f"offset {read.offset} cannot be read: {malformed}")
            return
        self._times[place] = time
        if time is None:
            self._note(read, f"no record with a timestamp was found at offset {read.offset}")

    def _note(self, read: PartitionRead, reason: str) -> None:
        self._notes[TopicIdPartition(read.topic_id, read.partition)] = reason


async def _portions(questions: Sequence[BacklogQuestion]) -> AsyncIterator[Sequence[BacklogQuestion]]:
    """Yield `QUESTIONS_AT_ONCE` after the other; others have a turn in between."""
    for start in range(0, len(questions), QUESTIONS_AT_ONCE):
        if start:
            await let_other_looks_go_on()
        yield questions[start : start + QUESTIONS_AT_ONCE]


def _place(question: BacklogQuestion) -> TopicIdPartition:
    return TopicIdPartition(question.topic_id, question.partition)


def _is_committed(question: BacklogQuestion) -> bool:
    return question.isolation is IsolationLevel.READ_COMMITTED
