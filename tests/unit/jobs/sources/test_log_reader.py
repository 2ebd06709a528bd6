from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.sources.log_reader import Gap, gaps_below, ranges_between


def test_what_was_deleted_before_it_was_read_is_a_gap() -> None:
    # Given
    held = [LogRange(0, 100, 200), LogRange(1, 5, 9), LogRange(2, 7, 9)]

    # When
    gaps = gaps_below(held, {0: 60, 1: 5})

    # Then
    assert gaps == [Gap(0, 60, 100, "the log begins later by now")]


def test_what_was_read_begins_where_the_log_did_and_ends_where_reading_did() -> None:
    # Given
    held = [LogRange(0, 0, 9), LogRange(1, 5, 8), LogRange(2, 3, 3)]

    # When
    read = ranges_between({0: 4, 1: 0, 2: 3}, {0: 12, 1: 8, 2: 3, 3: 2}, held)

    # Then
    assert read == [LogRange(0, 4, 12), LogRange(1, 5, 8), LogRange(3, 0, 2)]
