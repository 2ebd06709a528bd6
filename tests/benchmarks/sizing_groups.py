"""Groups that consume a steady stream of records with real share consumers, and what that costs a second."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaException, Producer

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.process_accounting import cpu_seconds, resident_bytes
from tests.benchmarks.record_streams import TIMEOUT_SECONDS, RecordsLost, new_topic
from tests.benchmarks.share_consumption import new_group
from tests.benchmarks.share_job import share_consumer
from tests.benchmarks.sizing_costs import (
    APPENDS,
    KPROXY_CPU,
    LOG_BYTES,
    SECONDS_A_DAY,
    CountingProcess,
    cost_of,
)
from tests.benchmarks.workload import Arm

RECORD_BYTES: Final = 1_000
RECORDS_PER_SECOND: Final = 1_000
TICK_SECONDS: Final = 0.01
POLL_SECONDS: Final = 0.2
SETTLING_SECONDS: Final = 8.0
"""Until every group is assigned its partitions: members send heartbeats every 5 s."""

RECORDS_CONSUMED: Final = Quantity("records consumed", "a second", 0)
RECORDS_A_POLL: Final = Quantity("records a poll", "", 1)
KPROXY_CORES: Final = Quantity("CPU of kproxy", "% of a core", 1)
BROKER_CORES: Final = Quantity("CPU of the broker, above producing alone", "% of a core", 1)
PRODUCING_CORES: Final = Quantity("CPU of the broker, producing alone", "% of a core", 1)
APPENDS_PER_SECOND: Final = Quantity("Produce requests to the broker", "a second", 0)
LOG_A_DAY: Final = Quantity("state log", "MB a day", 0)
MOST_MEMORY: Final = Quantity("memory of kproxy, most", "MiB", 0)


class SteadyGroups:
    """`groups` groups of one member each, all of which consume 1,000 records a second of one topic."""

    def __init__(
        self,
        groups: int,
        *,
        pause_seconds: float,
        seconds: float,
        broker_address: str,
        kproxy: CountingProcess,
        broker: int,
    ) -> None:
        """Members rest for `pause_seconds` between two polls; records go straight to `broker_address`."""
        every = f"poll every {pause_seconds:g} s" if pause_seconds else "poll as fast as it goes"
        self.name = f"{groups} {'group' if groups == 1 else 'groups'}, members {every}"
        self._groups = groups
        self._pause_seconds = pause_seconds
        self._seconds = seconds
        self._broker_address = broker_address
        self._kproxy = kproxy
        self._broker = broker

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        # A new one: groups begin with the first record there is.
        topic = new_topic(self._broker_address)
        with steady_records(self._broker_address, topic):
            time.sleep(1.0)
            producing = self._broker_cores()
            with _consuming(arm, self._groups, topic, self._pause_seconds) as tally:
                time.sleep(SETTLING_SECONDS)
                return self._watched(tally, producing)

    def _broker_cores(self) -> float:
        began, before = time.monotonic(), cpu_seconds(self._broker)
        time.sleep(self._seconds / 2)
        return (cpu_seconds(self._broker) - before) / (time.monotonic() - began)

    def _watched(self, tally: "_Tally", producing: float) -> Mapping[Quantity, float]:
        most = 0
        with cost_of(self._kproxy, self._broker) as cost:
            began, before = time.monotonic(), tally.sums()
            while time.monotonic() < began + self._seconds:
                time.sleep(0.1)
                most = max(most, resident_bytes(self._kproxy.process_id))
            elapsed, after = time.monotonic() - began, tally.sums()
        tally.require_well()
        records, polls = (now - then for now, then in zip(after, before, strict=True))
        if not records:
            raise RecordsLost(f"{self.name}: no records came")
        per_record = cost.of_records(records)
        return {
            RECORDS_CONSUMED: records / elapsed,
            RECORDS_A_POLL: records / max(polls, 1),
            APPENDS_PER_SECOND: cost.appends / elapsed,
            APPENDS: per_record[APPENDS],
            LOG_BYTES: per_record[LOG_BYTES],
            LOG_A_DAY: cost.log_bytes / elapsed * SECONDS_A_DAY / 1e6,
            KPROXY_CORES: cost.kproxy_seconds / elapsed * 100,
            KPROXY_CPU: per_record[KPROXY_CPU],
            PRODUCING_CORES: producing * 100,
            BROKER_CORES: (cost.broker_seconds / elapsed - producing) * 100,
            MOST_MEMORY: most / 2**20,
        }


@dataclass(slots=True)
class _Member:
    records: int = 0
    polls: int = 0


class _Tally:
    """What all members have received so far."""

    def __init__(self) -> None:
        self.members: list[_Member] = []
        self.ends: list[Future[None]] = []

    def sums(self) -> tuple[int, int]:
        """Records, and polls that had some."""
        return sum(each.records for each in self.members), sum(each.polls for each in self.members)

    def require_well(self) -> None:
        """Raise what ended a member, and `RecordsLost` if one has received nothing."""
        for end in self.ends:
            if end.done():
                end.result()
        if not all(each.records for each in self.members):
            raise RecordsLost("a group received nothing")


@contextmanager
def _consuming(arm: Arm, groups: int, topic: str, pause_seconds: float) -> Iterator[_Tally]:
    """Let a member of each of `groups` new groups consume until the block ends."""
    tally, is_over = _Tally(), threading.Event()
    with ThreadPoolExecutor(groups) as threads:
        for _ in range(groups):
            member = _Member()
            tally.members.append(member)
            tally.ends.append(
                threads.submit(_consume, arm, new_group(arm), topic, pause_seconds, is_over, member)
            )
        try:
            yield tally
        finally:
            is_over.set()


def _consume(
    arm: Arm, group: str, topic: str, pause_seconds: float, is_over: threading.Event, member: _Member
) -> None:
    """Poll until `is_over`; what one poll gave is acknowledged with the next."""
    consumer = share_consumer(arm.bootstrap_servers, group=group, topic=topic)
    while not is_over.is_set():
        messages = consumer.poll(POLL_SECONDS)
        if messages:
            if (error := messages[0].error()) is not None:
                raise KafkaException(error)
            member.records += len(messages)
            member.polls += 1
            # Not after an empty poll, which has waited already.
            is_over.wait(pause_seconds)
    consumer.close()


@contextmanager
def steady_records(address: str, topic: str) -> Iterator[None]:
    """Produce 1,000 records of 1,000 bytes a second until the block ends, ten at a time."""
    producer = Producer({"bootstrap.servers": address, "acks": "all", "linger.ms": 5})
    is_over = threading.Event()

    def produce() -> None:
        for due in _ticks(time.monotonic, is_over):
            for _ in range(due):
                producer.produce(topic, bytes(RECORD_BYTES))
            producer.poll(0)

    with ThreadPoolExecutor(1) as threads, ExitStack() as ending:
        ending.callback(producer.flush, TIMEOUT_SECONDS)
        ending.callback(is_over.set)
        made = threads.submit(produce)
        yield
        is_over.set()
        made.result()


def _ticks(clock: Callable[[], float], is_over: threading.Event) -> Iterator[int]:
    """Every 10 ms, how many records are due by now; a machine that was busy elsewhere catches up."""
    began, made = clock(), 0
    while not is_over.wait(TICK_SECONDS):
        due = math.floor((clock() - began) * RECORDS_PER_SECOND) - made
        made += due
        yield due
