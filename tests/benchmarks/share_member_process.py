"""The process of a `ConsumingMember`: a share consumer, and a processor core's worth of Python of its own.

Arguments: `COUNTERS MEMBER_COUNT INDEX`: a file of as many 8-byte numbers as there are members, of which this member
writes the one with its index. A line of standard input is a `ConsumeJob`, in JSON: the member joins the group, unless
the start is to be cold, and answers with an empty line. After another line of input it consumes, joining first if it is
cold, until all members together have received the job's records, commits, leaves, and answers with a `MemberReport`.
"""

import json
import mmap
import sys
import time
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException, ShareConsumer

from tests.benchmarks.share_job import ConsumeJob, MemberReport, share_consumer

POLL_SECONDS: Final = 0.005
"""How late a member may see that the others have received the last records."""


class ReceivedCounts:
    """How many records each member has received so far, in a file that all of them have in memory."""

    def __init__(self, path: Path, member_count: int, index: int) -> None:
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), member_count * 8)
        self._counts = memoryview(self._memory).cast("Q")
        self._index = index

    def add(self, count: int) -> None:
        """Note that this member has received `count` more."""
        self._counts[self._index] += count

    def total(self) -> int:
        """What all members have received."""
        return sum(self._counts)


def main() -> None:
    """Do the jobs of standard input until its end."""
    path, member_count, index = sys.argv[1:]
    counts = ReceivedCounts(Path(path), int(member_count), int(index))
    for line in sys.stdin:
        job = ConsumeJob(**json.loads(line))
        consumer = None if job.is_cold else _subscribed(job)
        print(flush=True)
        sys.stdin.readline()
        report = MemberReport(subscribed_s=time.monotonic())
        _consume(consumer or _subscribed(job), job.count, counts, report)
        print(json.dumps(report.as_json()), flush=True)


def _subscribed(job: ConsumeJob) -> ShareConsumer:
    return share_consumer(job.address, group=job.group, topic=job.topic)


def _consume(consumer: ShareConsumer, count: int, counts: ReceivedCounts, report: MemberReport) -> None:
    while counts.total() < count:
        messages = consumer.poll(POLL_SECONDS)
        if not messages:
            continue
        report.last_record_s = time.monotonic()
        if not report.received:
            report.first_record_s = report.last_record_s
            _require_record(messages[0])
        report.received += len(messages)
        report.polls += 1
        counts.add(len(messages))
    _commit(consumer)
    report.last_answer_s = time.monotonic()
    consumer.close()


def _require_record(message: object) -> None:
    error = message.error()  # type: ignore[attr-defined]  # the client publishes no types
    if error is not None:
        raise KafkaException(error)


def _commit(consumer: ShareConsumer) -> None:
    for error in consumer.commit_sync().values():
        if error is not None:
            raise error


if __name__ == "__main__":
    main()
