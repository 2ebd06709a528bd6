"""`InMemoryBacklogs`: the port `Backlogs` over logs that a test writes."""

from collections.abc import Sequence

from kproxy.error_codes import ErrorCode
from kproxy.handlers.backlog import Backlog, BacklogQuestion
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.share.identifiers import TopicIdPartition
from kproxy.wire.record_times import time_of_first_record
from tests.in_memory.scripted_partition_reader import InMemoryLog


class InMemoryBacklogs:
    """Answers from `logs`; what is in `silent` is not answered. What was asked is kept in `asked`."""

    def __init__(self) -> None:
        self.logs: dict[TopicIdPartition, InMemoryLog] = {}
        self.silent: set[TopicIdPartition] = set()
        self.asked: list[BacklogQuestion] = []

    async def look(self, questions: Sequence[BacklogQuestion]) -> Sequence[Backlog]:
        self.asked += questions
        return [self._answer(question) for question in questions]

    def _answer(self, question: BacklogQuestion) -> Backlog:
        place = TopicIdPartition(question.topic_id, question.partition)
        if place in self.silent:
            reason = "the brokers did not answer within 3 s"
            return Backlog(None, None, reason, ErrorCode.REQUEST_TIMED_OUT)
        if place not in self.logs:
            reason = "the cluster has no topic with this id"
            return Backlog(None, None, reason, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        log, first = self.logs[place], question.first_unfinished
        is_committed = question.isolation is IsolationLevel.READ_COMMITTED
        stable = log.last_stable_offset if is_committed else None
        if first is None or first >= log.high_watermark:
            return Backlog(log.high_watermark, last_stable_offset=stable)
        begin = max(first, log.log_start_offset)
        note = f"the records below offset {begin} are deleted" if begin > first else ""
        records = memoryview(log.bytes_from(begin, 1, at_least_one=True))
        oldest = time_of_first_record(records, begin)
        return Backlog(log.high_watermark, oldest, note, last_stable_offset=stable)
