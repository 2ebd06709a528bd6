"""Eight share groups that consume as fast as it goes through one process, and through two that share the groups."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.process_accounting import cpu_seconds
from tests.benchmarks.share_consumption import (
    FROM_THE_BEGINNING,
    figures,
    size_name,
)
from tests.benchmarks.share_job import ConsumeJob, MemberReport
from tests.benchmarks.share_members import ConsumingMembers
from tests.benchmarks.workload import Arm
from tests.real_kafka import administration
from tests.real_kafka.kproxy_fleet import KproxyFleet
from tests.real_kafka.kproxy_process import KproxyProcess

ONE: Final = "1 process"
TWO_AT_OWNERS: Final = "2, at the owner"
"""Each member is connected to the process that serves its group."""
TWO_ANYWHERE: Final = "2, half relayed"
"""Every other pair of members is connected to the process that does not serve its group."""
GROUPS: Final = 8


class ConsumeByGroups:
    """All records of a topic, consumed by each of eight new groups at the same time; a group has one member."""

    def __init__(
        self,
        members: Sequence[ConsumingMembers],
        fleets: Mapping[str, KproxyFleet],
        *,
        record_bytes: int,
        count: int,
        topic: str,
    ) -> None:
        """`fleets` by the name of the arm; `topic` has `count` records; there are as many `members` as groups."""
        self.name = f"{len(members)} groups, {size_name(record_bytes)}"
        self._members = members
        self._fleets = fleets
        self._topic = topic
        self._count = count

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        fleet = self._fleets[arm.name]
        jobs = self._jobs(fleet, is_half_relayed=arm.name == TWO_ANYWHERE)
        [broker] = fleet.cluster.node_ids
        broker_process_id = fleet.cluster.broker_process_id(broker)
        kproxies = [kproxy.process_id for kproxy in fleet.kproxies]
        before = _cpu_seconds(kproxies), cpu_seconds(broker_process_id)
        reports = self._consume(jobs)
        return figures(
            reports,
            self._count * len(jobs),
            kproxy_seconds=_cpu_seconds(kproxies) - before[0],
            broker_seconds=cpu_seconds(broker_process_id) - before[1],
        )

    def _jobs(self, fleet: KproxyFleet, *, is_half_relayed: bool) -> list[ConsumeJob]:
        jobs = []
        for number in range(len(self._members)):
            owner = fleet.kproxies[number % len(fleet.kproxies)]
            is_relayed = is_half_relayed and number // len(fleet.kproxies) % 2 == 1
            group = fleet.new_group_of(owner)
            administration.set_group_settings(owner.bootstrap_servers, group, FROM_THE_BEGINNING)
            way = _other_than(owner, fleet) if is_relayed else owner
            jobs.append(ConsumeJob(way.bootstrap_servers, group, self._topic, self._count))
        return jobs

    def _consume(self, jobs: Sequence[ConsumeJob]) -> list[MemberReport]:
        with ThreadPoolExecutor(len(jobs)) as threads:
            done = threads.map(ConsumingMembers.consume, self._members, jobs)
            return [report for reports in done for report in reports]


def _other_than(owner: KproxyProcess, fleet: KproxyFleet) -> KproxyProcess:
    return next(kproxy for kproxy in fleet.kproxies if kproxy is not owner)


def _cpu_seconds(process_ids: Sequence[int]) -> float:
    return sum(map(cpu_seconds, process_ids))
