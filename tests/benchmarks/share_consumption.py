"""Consuming with a share group as fast as it goes, and what that costs kproxy and the broker."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.process_accounting import cpu_use
from tests.benchmarks.record_streams import RecordsLost
from tests.benchmarks.share_job import ConsumeJob, MemberReport
from tests.benchmarks.share_members import ConsumingMembers
from tests.benchmarks.workload import Arm
from tests.real_kafka import administration

RECORD_RATE: Final = Quantity("rate", "records/s", 0)
"""From the first record that any member received to the last commit that was answered to any."""
RECORDS_PER_POLL: Final = Quantity("records a poll", "", 0)
KPROXY_CPU: Final = Quantity("CPU of kproxy", "s per million records", 2)
BROKER_CPU: Final = Quantity("CPU of the broker", "s per million records", 2)
TOTAL_CPU: Final = Quantity("CPU of kproxy and broker", "s per million records", 2)

FROM_THE_BEGINNING: Final = {"share.auto.offset.reset": "earliest"}


class ConsumeTogether:
    """All records of a topic, consumed by the members of a new group, acknowledged implicitly."""

    def __init__(
        self,
        members: ConsumingMembers,
        *,
        record_bytes: int,
        count: int,
        topics: Mapping[str, str],
        brokers: Mapping[str, int],
    ) -> None:
        """`topics` with `count` records each, and the broker's process ids, by the name of the arm."""
        self.name = (
            f"{size_name(record_bytes)}, {len(members)} {'member' if len(members) == 1 else 'members'}"
        )
        self._members = members
        self._count = count
        self._topics = topics
        self._brokers = brokers

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        group = new_group(arm)
        job = ConsumeJob(arm.bootstrap_servers, group, self._topics[arm.name], self._count)
        with cpu_use(arm.relay_process_id) as kproxy, cpu_use(self._brokers[arm.name]) as broker:
            reports = self._members.consume(job)
        return figures(reports, self._count, kproxy_seconds=kproxy.seconds, broker_seconds=broker.seconds)


def new_group(arm: Arm) -> str:
    """A group that begins at the beginning of its topics and that nobody has joined yet."""
    group = administration.unique_name("bench")
    administration.set_group_settings(arm.bootstrap_servers, group, FROM_THE_BEGINNING)
    return group


def figures(
    reports: Sequence[MemberReport], count: int, *, kproxy_seconds: float, broker_seconds: float
) -> dict[Quantity, float]:
    """What the members' reports of `count` records come to. Raises `RecordsLost` if they received more or fewer."""
    require_all(reports, count)
    consuming = [report for report in reports if report.received]
    elapsed = max(report.last_answer_s for report in reports) - min(
        report.first_record_s for report in consuming
    )
    millions = count / 1e6
    found = {
        RECORD_RATE: count / elapsed,
        RECORDS_PER_POLL: count / sum(report.polls for report in reports),
        BROKER_CPU: broker_seconds / millions,
        TOTAL_CPU: (kproxy_seconds + broker_seconds) / millions,
    }
    return {**found, KPROXY_CPU: kproxy_seconds / millions} if kproxy_seconds else found


def require_all(reports: Sequence[MemberReport], count: int) -> None:
    """Raise `RecordsLost` if the members together received more or fewer than `count` records."""
    received = sum(report.received for report in reports)
    if received != count:
        raise RecordsLost(f"the members received {received} records, and there are {count}")


def size_name(record_bytes: int) -> str:
    """Return the size of a record as reports show it."""
    return f"{record_bytes // 1_000} KB" if record_bytes >= 1_000 else f"{record_bytes} B"
