from hypothesis import given
from hypothesis import strategies as st

from kproxy.jobs.sources.log_reader import Gap, LogRange, gaps_below, ranges_between


def test_a_range_is_cut_to_what_lies_within() -> None:
    # Given
    held = LogRange(3, 10, 20)

    # When
    parts = [held.within(0, 15), held.within(12, 99), held.within(30, 40), held.within(0, 5)]

    # Then
    assert [(part.first_offset, part.length) for part in parts] == [(10, 5), (12, 8), (30, 0), (10, 0)]


@given(first=st.integers(0, 50), length=st.integers(0, 50), most=st.integers(1, 20))
def test_the_parts_of_a_range_are_the_range(first: int, length: int, most: int) -> None:
    # Given
    whole = LogRange(0, first, first + length)

    # When
    parts = whole.parts(most)

    # Then
    covered = [offset for part in parts for offset in range(part.first_offset, part.end_offset)]
    assert covered == list(range(first, first + length))
    assert all(0 < part.length <= most for part in parts)


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
