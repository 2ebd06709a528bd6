"""What members and share-partitions cost while there is nothing to consume: memory, and processor time."""

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.process_accounting import cpu_seconds, resident_bytes
from tests.benchmarks.record_streams import RecordsLost, new_topic
from tests.benchmarks.share_job import share_consumer
from tests.benchmarks.share_setting import STATE_TOPIC_SETTINGS
from tests.benchmarks.share_soundness import require_sound
from tests.benchmarks.workload import Arm
from tests.real_kafka import administration
from tests.real_kafka.crowded_members import CrowdedMember, CrowdLedger
from tests.real_kafka.kproxy_process import KproxyProcess

MEMBER_MEMORY: Final = Quantity("memory of kproxy", "kB a member", 1)
MEMBER_CPU: Final = Quantity("CPU of kproxy", "% of a core for 1,000 members", 1)
MEMBER_CONNECTIONS: Final = Quantity("client connections", "a member", 1)
PARTITION_MEMORY: Final = Quantity("memory of kproxy", "kB a share-partition", 2)
PARTITION_CPU: Final = Quantity("CPU of kproxy", "% of a core for 1,000 share-partitions", 2)

JOINING_AT_ONCE: Final = 20
ROUNDS_BEFORE: Final = 2
"""Fetches of every member before anything is measured, each of which waits for 4 s."""
POLL_SECONDS: Final = 1.0
SECONDS_BEFORE: Final = 3.0
SECONDS_A_ROUND: Final = 4.0


class IdleMembers:
    """Members of many groups, a connection each, that send heartbeats and fetch from a topic without records."""

    def __init__(self, count: int, *, groups: int, seconds: float, broker_address: str) -> None:
        self.name = f"{count} members of {groups} groups"
        self._count = count
        self._groups = groups
        self._seconds = seconds
        self._topic = new_topic(broker_address)

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        label, ledger = administration.unique_name("idle"), CrowdLedger()
        members = [
            CrowdedMember(f"{label}-{number % self._groups}", f"member-{number}", self._topic, ledger)
            for number in range(self._count)
        ]
        before, found = _before_and_with(arm, members, self._seconds)
        if ledger.errors:
            raise RecordsLost(f"members were told of errors: {dict(ledger.errors)}")
        return {
            MEMBER_MEMORY: (found.resident - before.resident) / self._count / 1e3,
            MEMBER_CPU: (found.cores - before.cores) / self._count * 1_000 * 100,
        }


class IdleConsumers:
    """Real share consumers of some groups that poll a topic without records."""

    def __init__(
        self,
        count: int,
        *,
        groups: int,
        seconds: float,
        broker_address: str,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`settings` are those of the client; what they do not say is its default."""
        said = ", ".join(f"{key}={value}" for key, value in (settings or {}).items())
        self.name = f"{count} idle ShareConsumers of {groups} groups, {said or 'defaults'}"
        self._settings = settings
        self._count = count
        self._groups = groups
        self._seconds = seconds
        self._topic = new_topic(broker_address)

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        label = administration.unique_name("idle")
        with fresh_kproxy(arm.bootstrap_servers) as kproxy:
            before = asyncio.run(_Idle.during(kproxy, SECONDS_BEFORE))
            groups = [f"{label}-{number % self._groups}" for number in range(self._count)]
            with _polling(kproxy.bootstrap_servers, groups, self._topic, self._settings):
                kproxy.wait_until(lambda: _sessions(kproxy) >= self._count)
                time.sleep(ROUNDS_BEFORE * SECONDS_A_ROUND)
                connections = kproxy.metrics().value("kproxy_connections_open", side="client")
                found = asyncio.run(_Idle.during(kproxy, self._seconds))
        return {
            MEMBER_MEMORY: (found.resident - before.resident) / self._count / 1e3,
            MEMBER_CPU: (found.cores - before.cores) / self._count * 1_000 * 100,
            MEMBER_CONNECTIONS: connections / self._count,
        }


class IdleSharePartitions:
    """One member of a group that consumes all partitions of a topic, none of which has records."""

    def __init__(self, count: int, *, seconds: float, broker_address: str) -> None:
        self.name = f"{count} share-partitions of a group"
        self._count = count
        self._seconds = seconds
        self._topic = administration.create_topic(
            broker_address, administration.unique_name("wide"), partitions=count
        )

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        group = administration.unique_name("wide")
        member = CrowdedMember(group, "member", self._topic, CrowdLedger())
        before, found = _before_and_with(arm, [member], self._seconds)
        if found.share_partitions < self._count:
            raise RecordsLost(f"{found.share_partitions:.0f} of {self._count} share-partitions are in memory")
        return {
            PARTITION_MEMORY: (found.resident - before.resident) / self._count / 1e3,
            PARTITION_CPU: (found.cores - before.cores) / self._count * 1_000 * 100,
        }


class _Idle:
    """How much a kproxy occupies, and uses of a core."""

    def __init__(self, resident: float, cores: float, share_partitions: float) -> None:
        self.resident = resident
        self.cores = cores
        self.share_partitions = share_partitions

    @classmethod
    async def during(cls, kproxy: KproxyProcess, seconds: float) -> "_Idle":
        """Look for some seconds, while other tasks go on."""
        share_partitions = kproxy.metrics().value("kproxy_share_partitions")
        loop = asyncio.get_running_loop()
        began, used = loop.time(), cpu_seconds(kproxy.process_id)
        await asyncio.sleep(seconds)
        cores = (cpu_seconds(kproxy.process_id) - used) / (loop.time() - began)
        return cls(resident_bytes(kproxy.process_id), cores, share_partitions)


@contextmanager
def _polling(
    address: str, groups: Sequence[str], topic: str, settings: Mapping[str, str] | None
) -> Iterator[None]:
    """Let a share consumer of each of `groups`, which may be named again, poll until the block ends."""
    is_over = threading.Event()

    def poll(group: str) -> None:
        consumer = share_consumer(address, group=group, topic=topic, settings=settings)
        while not is_over.is_set():
            consumer.poll(POLL_SECONDS)
        consumer.close()

    with ThreadPoolExecutor(len(groups)) as threads:
        done = [threads.submit(poll, group) for group in groups]
        try:
            yield
        finally:
            is_over.set()
    for each in done:
        each.result()


def _sessions(kproxy: KproxyProcess) -> float:
    return kproxy.metrics().value("kproxy_share_sessions")


@contextmanager
def fresh_kproxy(broker_address: str) -> Iterator[KproxyProcess]:
    """A kproxy that has served nobody yet: what memory it was given before does not hide what it needs now."""
    with KproxyProcess(broker_address, settings=STATE_TOPIC_SETTINGS) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy
        require_sound(kproxy)


def _before_and_with(arm: Arm, members: Sequence[CrowdedMember], seconds: float) -> tuple[_Idle, _Idle]:
    """What a fresh kproxy in front of `arm`, the brokers themselves, needs before `members` come, and with them."""
    with fresh_kproxy(arm.bootstrap_servers) as kproxy:
        before = asyncio.run(_Idle.during(kproxy, SECONDS_BEFORE))
        return before, asyncio.run(_watched(kproxy, members, seconds))


async def _watched(kproxy: KproxyProcess, members: Sequence[CrowdedMember], seconds: float) -> _Idle:
    """Let all join and work, and look at kproxy when they have for a while."""
    loop = asyncio.get_running_loop()
    turns = asyncio.Semaphore(JOINING_AT_ONCE)

    async def join(member: CrowdedMember) -> None:
        async with turns:
            await member.join(kproxy.broker_addresses[1])

    await asyncio.gather(*map(join, members))
    settled_s = ROUNDS_BEFORE * SECONDS_A_ROUND
    until_s = loop.time() + settled_s + seconds
    async with asyncio.TaskGroup() as tasks:
        for member in members:
            tasks.create_task(member.work(until_s))
        await asyncio.sleep(settled_s)
        found = await _Idle.during(kproxy, seconds)
    await asyncio.gather(*(member.leave() for member in members))
    return found
