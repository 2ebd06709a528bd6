from typing import Any

import pytest

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.silver_files import SilverFiles
from kproxy.jobs.job import JobContext, JobSource
from kproxy.jobs.sources.log_files import FoundFiles
from tests.in_memory.in_memory_log_reader import InMemoryLogReader

NO_SPARK: Any = None


def test_a_log_has_records_and_a_history_and_no_cluster_unless_it_is_in_one() -> None:
    # Given
    reader = InMemoryLogReader([LogRange(0, 0, 5)])

    # When
    context = JobContext(NO_SPARK, JobSource.of_log(NO_SPARK, reader), print)

    # Then
    assert context.log.ranges() == [LogRange(0, 0, 5)]
    assert context.history.name == context.log.name == "a log in memory"
    assert (context.cluster, context.ranges_read) == (None, [])


def test_exported_history_has_no_log() -> None:
    # Given
    exported = SilverFiles(NO_SPARK, FoundFiles("history", ("history/a.parquet",), ""))
    context = JobContext(NO_SPARK, JobSource(exported), print)

    # When
    with pytest.raises(JobFailed, match="exported history at history has no log records") as refusal:
        _ = context.log

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE
    assert context.ranges_read == []
