"""Members of share groups, each a process of its own, so that no client waits for another one's interpreter."""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.benchmarks.share_job import ConsumeJob, MemberReport
from tests.real_kafka.child import Child

BYTES_PER_COUNT: Final = 8
JOB_TIMEOUT_SECONDS: Final = 120.0
SETTLING_SECONDS: Final = 2.5
"""How long members have to be assigned their partitions: two heartbeats, and the time between two assignments."""


class ConsumingMember(Child):
    """A process that joins a group for each job, with a client of its own for each."""

    def __init__(self, counters: Path, member_count: int, index: int) -> None:
        arguments = [str(counters), str(member_count), str(index)]
        super().__init__(
            f"member {index}",
            [Path(sys.executable), "-m", "tests.benchmarks.share_member_process", *arguments],
        )


class ConsumingMembers:
    """As many members as a group has, for one job after the other."""

    def __init__(self, members: list[ConsumingMember], counters: Path) -> None:
        self._members = members
        self._counters = counters

    def __len__(self) -> int:
        return len(self._members)

    @property
    def process_ids(self) -> list[int]:
        """The processes."""
        return [member.process_id for member in self._members]

    def consume(self, job: ConsumeJob) -> list[MemberReport]:
        """Let all members do `job` together; what each did. Raises `ChildEnded` and `ChildTimedOut`."""
        clear_counts(self._counters, len(self))
        self._tell_all(json.dumps(job.as_json()))
        self._answers()
        if not job.is_cold:
            time.sleep(SETTLING_SECONDS)
        self._tell_all("")
        return [MemberReport(**json.loads(answer)) for answer in self._answers()]

    def _tell_all(self, line: str) -> None:
        for member in self._members:
            member.send_line(line)

    def _answers(self) -> list[str]:
        return [member.next_line(timeout_seconds=JOB_TIMEOUT_SECONDS) for member in self._members]


@contextmanager
def consuming_members(count: int) -> Iterator[ConsumingMembers]:
    """Start `count` member processes; they are gone when the `with` ends."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="kproxy-bench-")))
        counters = folder / "counters"
        counters.write_bytes(bytes(count * BYTES_PER_COUNT))
        members = [running.enter_context(ConsumingMember(counters, count, index)) for index in range(count)]
        yield ConsumingMembers(members, counters)


def clear_counts(counters: Path, member_count: int) -> None:
    """Set all counts to 0, in place: the members have this very file in memory."""
    with counters.open("r+b") as file:
        file.write(bytes(member_count * BYTES_PER_COUNT))
