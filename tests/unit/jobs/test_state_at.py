import click
import pytest

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.job import JobContext, JobSource
from kproxy.jobs.sources.log_reader import Gap
from kproxy.jobs.state_at import PARTITION_OFFSET, ranges_until, states_text, topic_text
from tests.in_memory.in_memory_log_reader import InMemoryLogReader

HELD = [LogRange(0, 10, 100), LogRange(1, 0, 0), LogRange(2, 0, 50)]


def a_context(*ranges: LogRange, **offsets: dict[int, dict[int, int]]) -> JobContext:
    reader = InMemoryLogReader(ranges or HELD, offsets.get("offsets"))
    return JobContext(None, JobSource.of_log(None, reader), print)  # no Spark is needed to plan


def test_without_a_moment_all_of_the_log_is_folded() -> None:
    # When
    ranges = ranges_until(a_context(), None, {})

    # Then
    assert ranges == HELD


def test_a_time_includes_what_was_written_in_its_millisecond() -> None:
    # Given
    context = a_context(offsets={1001: {0: 40, 1: 0, 2: 50}})

    # When
    ranges = ranges_until(context, 1000, {})

    # Then
    assert ranges == [LogRange(0, 10, 40), LogRange(1, 0, 0), LogRange(2, 0, 50)]


def test_an_offset_is_inclusive_and_reads_its_partition_alone() -> None:
    # When
    ranges = ranges_until(a_context(), None, {2: 7})

    # Then
    assert ranges == [LogRange(2, 0, 8)]


def test_a_time_before_the_first_record_is_not_found() -> None:
    # Given
    context = a_context(offsets={1001: {0: 10, 1: 0, 2: 0}})

    # When
    with pytest.raises(JobFailed, match=r"begins after 1970-01-01T00:00:01\.000Z") as refusal:
        ranges_until(context, 1000, {})

    # Then
    assert refusal.value.exit_code is ExitCode.NOT_FOUND


def test_a_partition_that_begins_after_the_time_is_a_gap() -> None:
    # Given
    context = a_context(offsets={1001: {0: 10, 1: 0, 2: 50}})

    # When
    ranges = ranges_until(context, 1000, {})

    # Then
    assert ranges == [LogRange(0, 10, 10), LogRange(1, 0, 0), LogRange(2, 0, 50)]
    assert context.report.gaps == [Gap(0, 0, 10, "the log begins after that, or all of it is deleted")]


def test_a_log_without_its_beginning_gets_a_warning_of_what_may_lack() -> None:
    # Given
    said: list[str] = []
    held = [LogRange(number, 10 + number, 100) for number in range(7)]

    # When
    ranges_until(JobContext(None, JobSource.of_log(None, InMemoryLogReader(held)), said.append), None, {})

    # Then
    (line,) = said
    assert line.startswith(
        "Warning: the log begins late, partition 0 at offset 10, partition 1 at offset 11,"
    )
    assert "partition 4 at offset 14, 2 more: a share-partition whose last snapshot stood before that" in line


def test_a_log_without_records_is_not_found() -> None:
    # When
    with pytest.raises(JobFailed, match="has no records") as refusal:
        ranges_until(a_context(LogRange(0, 5, 5)), None, {})

    # Then
    assert refusal.value.exit_code is ExitCode.NOT_FOUND


def test_a_partition_that_is_not_there_is_not_found() -> None:
    # When
    with pytest.raises(JobFailed, match="no partition 9") as refusal:
        ranges_until(a_context(), None, {9: 1})

    # Then
    assert refusal.value.exit_code is ExitCode.NOT_FOUND


def test_an_offset_that_is_not_written_yet_is_not_found() -> None:
    # When
    with pytest.raises(JobFailed, match="has no offset 50 yet: it ends before 50") as refusal:
        ranges_until(a_context(), None, {2: 50})

    # Then
    assert refusal.value.exit_code is ExitCode.NOT_FOUND


def test_a_time_and_an_offset_are_two_moments_and_bad_usage() -> None:
    # When
    with pytest.raises(JobFailed, match="give one of them") as refusal:
        ranges_until(a_context(), 1000, {2: 7})

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE


def test_a_partition_and_an_offset_are_read_from_one_text() -> None:
    # When
    read = PARTITION_OFFSET.convert("12:1000", None, None)

    # Then
    assert read == (12, 1000)


@pytest.mark.parametrize("text", ["12", "12:", ":1", "a:1", "1:-1"])
def test_what_is_no_partition_and_offset_is_a_usage_error(text: str) -> None:
    # When
    with pytest.raises(click.BadParameter) as refusal:
        PARTITION_OFFSET.convert(text, None, None)

    # Then
    assert "PARTITION:OFFSET" in refusal.value.message


def test_a_table_has_names_of_topics_and_of_states() -> None:
    # Given
    batches = [
        {"firstOffset": 4, "lastOffset": 4, "deliveryState": 0, "deliveryCount": 2},
        {"firstOffset": 5, "lastOffset": 9, "deliveryState": 2, "deliveryCount": 1},
    ]
    row = {"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "topicName": "jobs", "stateBatches": batches}

    # Then
    assert (topic_text(row), states_text(row)) == ("jobs", "4 Available (2), 5-9 Acknowledged (1)")


def test_a_topic_without_a_name_is_shown_by_its_id_and_very_many_batches_are_counted() -> None:
    # Given
    batch = {"firstOffset": 4, "lastOffset": 4, "deliveryState": 4, "deliveryCount": 5}
    row = {"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "topicName": None, "stateBatches": [batch] * 10}

    # Then
    assert topic_text(row) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert str(states_text(row)).endswith("4 Archived (5), and 2 more")
    assert states_text({"stateBatches": []}) is None
