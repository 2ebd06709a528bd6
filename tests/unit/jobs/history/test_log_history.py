from typing import Any

import pytest

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.history.log_history import LogHistory
from kproxy.jobs.sources.tracked_log import TrackedLog
from tests.in_memory.in_memory_log_reader import InMemoryLogReader

NO_SPARK: Any = None
HELD = [LogRange(0, 10, 100), LogRange(1, 0, 50), LogRange(2, 7, 50)]


@pytest.mark.parametrize(("since_ms", "shorter"), [(None, [0, 2]), (1000, [2])])
def test_a_partition_that_begins_late_matters_when_earlier_records_are_asked_for(
    since_ms: int | None, shorter: list[int]
) -> None:
    # Given
    reader = InMemoryLogReader(HELD, {1000: {0: 11, 1: 0, 2: 7}})

    # When
    found = LogHistory(TrackedLog(NO_SPARK, reader)).with_lost_beginning(since_ms)

    # Then
    assert [part.partition for part in found] == shorter
