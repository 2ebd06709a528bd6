"""One member and one record at a time: how long a record takes to it, and a commit to be answered."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import Producer, ShareConsumer

from tests.benchmarks.comparison import Quantity, percentile
from tests.benchmarks.record_streams import TIMEOUT_SECONDS, RecordsLost
from tests.benchmarks.share_consumption import new_group
from tests.benchmarks.share_job import share_consumer
from tests.benchmarks.workload import Arm
from tests.real_kafka import administration

COMMIT_MEDIAN: Final = Quantity("commit_sync p50", "ms", 2)
COMMIT_LATE: Final = Quantity("commit_sync p99", "ms", 2)
ARRIVAL_MEDIAN: Final = Quantity("produce to poll p50", "ms", 2)
ARRIVAL_LATE: Final = Quantity("produce to poll p99", "ms", 2)

NOT_MEASURED: Final = 20
"""Records at the beginning: connections are opened, and the group is joined."""
VALUE: Final = bytes(100)


class OneRecordAtATime:
    """Produce a record, poll it, commit it, and only then go on to the next one."""

    name = "one record at a time"

    def __init__(self, *, count: int) -> None:
        self._count = count

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        topic = administration.create_topic(arm.bootstrap_servers, administration.unique_name("bench"))
        producer = Producer({"bootstrap.servers": arm.bootstrap_servers, "acks": "all", "linger.ms": 0})
        consumer = share_consumer(arm.bootstrap_servers, group=new_group(arm), topic=topic)
        arrivals: list[float] = []
        commits: list[float] = []
        for _ in range(NOT_MEASURED + self._count):
            arrivals.append(_milliseconds(lambda: _pass_on(producer, topic, consumer)))
            commits.append(_milliseconds(lambda: _commit(consumer)))
        consumer.close()
        producer.flush(TIMEOUT_SECONDS)
        return _figures(arrivals[NOT_MEASURED:], commits[NOT_MEASURED:])


def _pass_on(producer: Producer, topic: str, consumer: ShareConsumer) -> None:
    producer.produce(topic, VALUE)
    messages = consumer.poll(TIMEOUT_SECONDS)
    if len(messages) != 1 or messages[0].error() is not None:
        raise RecordsLost(f"one record was produced, and a poll gave {len(messages)}")


def _commit(consumer: ShareConsumer) -> None:
    (error,) = consumer.commit_sync().values()
    if error is not None:
        raise error


def _milliseconds(step: Callable[[], None]) -> float:
    began = time.perf_counter()
    step()
    return (time.perf_counter() - began) * 1e3


def _figures(arrivals: list[float], commits: list[float]) -> dict[Quantity, float]:
    return {
        COMMIT_MEDIAN: percentile(commits, 50),
        COMMIT_LATE: percentile(commits, 99),
        ARRIVAL_MEDIAN: percentile(arrivals, 50),
        ARRIVAL_LATE: percentile(arrivals, 99),
    }
