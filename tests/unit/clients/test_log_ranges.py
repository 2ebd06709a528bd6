from hypothesis import given
from hypothesis import strategies as st

from kproxy.clients.log_ranges import LogRange


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
