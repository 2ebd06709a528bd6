from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.sources.tracked_log import TrackedLog
from tests.in_memory.in_memory_log_reader import InMemoryLogReader

HELD = [LogRange(0, 10, 100), LogRange(1, 0, 50)]


def a_log(reader: InMemoryLogReader) -> TrackedLog:
    return TrackedLog(None, reader)  # no Spark is needed where no record is read


def test_a_span_of_time_becomes_ranges_of_offsets() -> None:
    # Given
    log = a_log(InMemoryLogReader(HELD, {1000: {0: 20, 1: 50}, 2000: {0: 60, 1: 50}}))

    # When
    ranges = log.ranges(since_ms=1000, until_ms=2000)

    # Then
    assert ranges == [LogRange(0, 20, 60), LogRange(1, 50, 50)]


def test_the_names_of_topics_are_asked_for_once() -> None:
    # Given
    log = a_log(InMemoryLogReader(HELD, names=[{"b3JkZXJzb3JkZXJzb3JkZQ": "orders"}]))
    first = log.topic_names()

    # When
    again = log.topic_names()

    # Then
    assert again == first == {"b3JkZXJzb3JkZXJzb3JkZQ": "orders"}


def test_a_partition_that_begins_above_offset_0_has_lost_records() -> None:
    # When
    shorter = a_log(InMemoryLogReader(HELD)).with_lost_beginning(HELD)

    # Then
    assert shorter == [HELD[0]]


def test_where_records_stood_among_others_a_first_offset_says_nothing() -> None:
    # When
    shorter = a_log(InMemoryLogReader(HELD, starts_at_offset_zero=False)).with_lost_beginning(HELD)

    # Then
    assert shorter == []
