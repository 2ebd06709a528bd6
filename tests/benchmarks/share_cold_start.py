"""Members that start together, with everything at its default: from the first subscribe to the last commit."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.share_consumption import new_group, require_all, size_name
from tests.benchmarks.share_job import ConsumeJob, MemberReport
from tests.benchmarks.share_members import ConsumingMembers
from tests.benchmarks.workload import Arm

COLD_RATE: Final = Quantity("rate from the first subscribe to the last commit", "records/s", 0)
STARTED_RATE: Final = Quantity("rate from the first record to the last commit", "records/s", 0)
FIRST_RECORD: Final = Quantity("first record after the first subscribe", "s", 2)


class StartTogether:
    """All records of a topic, consumed by members that subscribe at the same moment to a group that is new."""

    def __init__(
        self, members: ConsumingMembers, *, record_bytes: int, count: int, topics: Mapping[str, str]
    ) -> None:
        """`topics` with `count` records each, by the name of the arm."""
        self.name = f"{size_name(record_bytes)}, {len(members)} members that start together"
        self._members = members
        self._count = count
        self._topics = topics

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        topic = self._topics[arm.name]
        job = ConsumeJob(arm.bootstrap_servers, new_group(arm), topic, self._count, is_cold=True)
        return cold_figures(self._members.consume(job), self._count)


def cold_figures(reports: Sequence[MemberReport], count: int) -> dict[Quantity, float]:
    """What the members' reports of `count` records come to. Raises `RecordsLost` if they received more or fewer."""
    require_all(reports, count)
    subscribed_s = min(report.subscribed_s for report in reports)
    first_s = min(report.first_record_s for report in reports if report.received)
    last_s = max(report.last_answer_s for report in reports)
    return {
        COLD_RATE: count / (last_s - subscribed_s),
        STARTED_RATE: count / (last_s - first_s),
        FIRST_RECORD: first_s - subscribed_s,
    }
