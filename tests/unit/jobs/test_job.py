from kproxy.jobs.job import JobContext
from kproxy.jobs.sources.log_reader import Gap, LogRange
from tests.in_memory.in_memory_log_reader import InMemoryLogReader

HELD = [LogRange(0, 10, 100), LogRange(1, 0, 50)]


def test_a_span_of_time_becomes_ranges_of_offsets() -> None:
    # Given
    reader = InMemoryLogReader(HELD, {1000: {0: 20, 1: 50}, 2000: {0: 60, 1: 50}})
    context = JobContext(None, reader, print)  # no Spark is needed

    # When
    ranges = context.ranges(since_ms=1000, until_ms=2000)

    # Then
    assert ranges == [LogRange(0, 20, 60), LogRange(1, 50, 50)]


def test_the_names_of_topics_are_asked_for_once() -> None:
    # Given
    reader = InMemoryLogReader(HELD, names=[{"b3JkZXJzb3JkZXJzb3JkZQ": "orders"}])
    context = JobContext(None, reader, print)  # no Spark is needed
    first = context.topic_names()

    # When
    again = context.topic_names()

    # Then
    assert again == first == {"b3JkZXJzb3JkZXJzb3JkZQ": "orders"}


def test_missing_records_are_told_at_once_and_kept_for_the_summary() -> None:
    # Given
    said: list[str] = []
    context = JobContext(None, InMemoryLogReader(HELD), said.append)  # no Spark is needed
    gap = Gap(3, 5, 10, "deleted")

    # When
    context.report([gap])

    # Then
    assert said == ["Warning: partition 3: offsets 5-9 are missing: deleted"]
    assert context.gaps == [gap]
