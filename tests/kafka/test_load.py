"""One process under the load of many: members of many share groups beside plain clients, for a long time.

`LOAD_MINUTES`, `LOAD_MEMBERS`, `LOAD_GROUPS` and `LOAD_PLAIN` make it another one.
"""

import asyncio
import math
import os
import resource
import threading
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Final

import pytest
from confluent_kafka import Producer
from prometheus_client.utils import floatToGoString

from kproxy.telemetry.metric_table import DECLARATIONS
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.crowded_members import CrowdedMember, CrowdLedger, ask_now_and_then
from tests.real_kafka.kproxy_process import KproxyProcess, MetricValues

MINUTES: Final = float(os.environ.get("LOAD_MINUTES", "10"))
MEMBERS: Final = int(os.environ.get("LOAD_MEMBERS", "1000"))
GROUPS: Final = int(os.environ.get("LOAD_GROUPS", "100"))
PLAIN: Final = int(os.environ.get("LOAD_PLAIN", "2000"))

PARTITIONS: Final = 10
RECORDS_PER_SECOND: Final = 5
JOINING_AT_ONCE: Final = 20
METADATA_EVERY_S: Final = 10.0
MOST_LAG_S: Final = 0.1
LAG_BUCKETS: Final = tuple(
    end for each in DECLARATIONS if each.name == "event_loop_lag_seconds" for end in (*each.buckets, math.inf)
)
SAMPLE_SECONDS: Final = 1.0
MIB: Final = 1024 * 1024


@dataclass
class Seen:
    """What kproxy said of itself, second by second."""

    lags_s: list[float] = field(default_factory=list)
    resident_bytes: list[int] = field(default_factory=list)
    held_bytes: list[float] = field(default_factory=list)
    _lag_counts: Counter[float] = field(default_factory=Counter)

    def note_lags(self, metrics: MetricValues) -> None:
        """Add the lags since the last scrape, each as the end of its bucket."""
        below = 0
        for end in LAG_BUCKETS:
            up_to = int(metrics.value("kproxy_event_loop_lag_seconds_bucket", le=floatToGoString(end)))  # type: ignore[no-untyped-call]
            self.lags_s += [end] * (up_to - below - self._lag_counts[end])
            self._lag_counts[end] = up_to - below
            below = up_to


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process, and those that it starts, open as many files as they may."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.soak
@pytest.mark.timeout(int(MINUTES * 60) + 600)
@pytest.mark.usefixtures("many_files")
def test_a_thousand_members_and_two_thousand_plain_connections_get_what_they_ask_for() -> None:
    ledger = CrowdLedger()
    with KafkaCluster() as cluster:
        topic = administration.create_topic(
            cluster.bootstrap_servers, unique_name("load"), partitions=PARTITIONS
        )
        with KproxyProcess(cluster.bootstrap_servers) as kproxy:
            # Given
            kproxy.wait_until_ready()
            idle_bytes = kproxy.resident_bytes()

            # When
            with _produced(cluster.bootstrap_servers, topic) as produced, _watched(kproxy) as seen:
                asyncio.run(_load(kproxy.broker_addresses[1], topic, ledger, seen))

            # Then
            metrics = kproxy.metrics()
    lag_p99_s = sorted(seen.lags_s)[int(len(seen.lags_s) * 0.99)]
    budget_bytes = metrics.value("kproxy_memory_budget_bytes")
    print(
        f"\n{MEMBERS} members in {GROUPS} groups, {PLAIN} plain connections, {MINUTES} minutes: "
        f"{produced[0]} records produced, {ledger.accepted_count} accepted, {ledger.rounds} fetches, "
        f"{ledger.plain_count} metadata; "
        f"loop lag p99 {lag_p99_s * 1000:.0f} ms, most {max(seen.lags_s) * 1000:.0f} ms; "
        f"median {median(seen.lags_s) * 1000:.0f} ms, "
        f"processor {metrics.value('process_cpu_seconds_total'):.0f} s; "
        f"memory {max(seen.resident_bytes) / MIB:.0f} MiB ({idle_bytes / MIB:.0f} idle), "
        f"budget {max(seen.held_bytes) / MIB:.1f} of {budget_bytes / MIB:.0f} MiB; errors {dict(ledger.errors)}"
    )
    assert not ledger.errors
    assert ledger.accepted_count > 0
    assert metrics.total("kproxy_connection_errors_total") == 0
    assert metrics.total("kproxy_connections_refused_total") == 0
    assert max(seen.held_bytes) <= budget_bytes
    assert lag_p99_s <= MOST_LAG_S


async def _load(address: str, topic: str, ledger: CrowdLedger, seen: Seen) -> None:
    """Let all join, then work for `MINUTES`; what is seen of kproxy while they join does not count."""
    members = [
        CrowdedMember(f"{topic}-{number % GROUPS}", f"member-{number}", topic, ledger)
        for number in range(MEMBERS)
    ]
    turns = asyncio.Semaphore(JOINING_AT_ONCE)

    async def join(member: CrowdedMember) -> None:
        async with turns:
            await member.join(address)

    await asyncio.gather(*map(join, members))
    del seen.lags_s[:]
    until_s = asyncio.get_running_loop().time() + MINUTES * 60
    await asyncio.gather(
        *(member.work(until_s) for member in members), *_plain(address, topic, ledger, until_s)
    )
    await asyncio.gather(*(member.leave() for member in members))


def _plain(
    address: str, topic: str, ledger: CrowdLedger, until_s: float
) -> Iterator[Coroutine[None, None, None]]:
    """Yield the plain clients, which begin one after the other."""
    pause_s = METADATA_EVERY_S / PLAIN
    for number in range(PLAIN):
        yield ask_now_and_then(
            address, topic, ledger, first_s=number * pause_s, every_s=METADATA_EVERY_S, until_s=until_s
        )


@contextmanager
def _produced(bootstrap_servers: str, topic: str) -> Iterator[list[int]]:
    """Produce at an even pace until the block ends; how many records."""
    producer, count, is_over = Producer({"bootstrap.servers": bootstrap_servers}), [0], threading.Event()

    def produce() -> None:
        while not is_over.wait(1 / RECORDS_PER_SECOND):
            producer.produce(topic, value=b"x" * 100, partition=count[0] % PARTITIONS)
            producer.poll(0)
            count[0] += 1

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield count
    finally:
        is_over.set()
        thread.join()
        producer.flush(30)


@contextmanager
def _watched(kproxy: KproxyProcess) -> Iterator[Seen]:
    seen, is_over = Seen(), threading.Event()

    def watch() -> None:
        while not is_over.wait(SAMPLE_SECONDS):
            metrics = kproxy.metrics()
            seen.note_lags(metrics)
            seen.held_bytes.append(metrics.value("kproxy_memory_budget_held_bytes"))
            seen.resident_bytes.append(kproxy.resident_bytes())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()
