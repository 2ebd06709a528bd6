"""What kproxies of a test let members acquire, and when, as the processes themselves note it.

A client does not show when it was given a record: its connection may be stalled, or the client busy, and a poll then
brings what was acquired, lost and accepted by another one seconds before. librdkafka and Java's client both keep such
records.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kproxy.share.acquisition import AcquiredRange
from kproxy.share.share_partition import SharePartition
from tests.real_kafka.accepter import RecordId

FILE_VARIABLE: Final = "ACQUISITIONS_FILE"
"""The variable of the environment that names the file of a kproxy that notes."""
NOTING_MODULE: Final = "tests.real_kafka.noting_kproxy"
"""What Python runs with the arguments of kproxy, in place of `kproxy`."""


@dataclass(frozen=True, slots=True)
class Acquisition:
    """Records of one share-partition that became somebody's; `at` in seconds of `time.monotonic`, ends inclusive."""

    at: float
    group: str
    topic_id: bytes
    partition: int
    first_offset: int
    last_offset: int
    delivery_count: int

    def records(self, names: Mapping[bytes, str]) -> Iterator[RecordId]:
        """Yield them as clients know them; none of a topic without a name."""
        if self.topic_id in names:
            for offset in range(self.first_offset, self.last_offset + 1):
                yield names[self.topic_id], self.partition, offset


def note_acquisitions() -> None:
    """Let this process write down every acquisition from now on, a line each: nothing waits, nothing is left behind.

    The clock is the machine's: CLOCK_MONOTONIC is one for all processes of a Linux host, in every network namespace.
    """
    acquire = SharePartition.acquire
    file = os.open(os.environ[FILE_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def acquire_and_note(share_partition: SharePartition, *args: Any, **named: Any) -> list[AcquiredRange]:
        acquired = acquire(share_partition, *args, **named)
        group, topic_id, partition = share_partition.key
        for each in acquired:
            place = (time.monotonic(), group, bytes(topic_id).hex(), partition)
            line = (*place, each.first_offset, each.last_offset, each.delivery_count)
            os.write(file, json.dumps(line).encode() + b"\n")
        return acquired

    SharePartition.acquire = acquire_and_note  # type: ignore[method-assign, assignment]


def times_of_acquisition(
    acquisitions: Iterable[Acquisition], names: Mapping[bytes, str]
) -> dict[RecordId, list[float]]:
    """When each record of these topics became somebody's, in order; `names` by topic id."""
    times: defaultdict[RecordId, list[float]] = defaultdict(list)
    for each in sorted(acquisitions, key=lambda each: each.at):
        for record in each.records(names):
            times[record].append(each.at)
    return dict(times)


def last_acquired_at(
    acquisitions: Iterable[Acquisition], names: Mapping[bytes, str]
) -> dict[RecordId, float]:
    """When each record of these topics became somebody's for the last time; `names` by topic id."""
    return {record: times[-1] for record, times in times_of_acquisition(acquisitions, names).items()}


def read_acquisitions(file: Path) -> list[Acquisition]:
    """What one kproxy, or one after the other, noted in a file, in order."""
    lines = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return [Acquisition(at, group, bytes.fromhex(topic), *numbers) for at, group, topic, *numbers in lines]
