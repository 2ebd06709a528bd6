from hypothesis import given
from hypothesis import strategies as st

from kproxy.jobs.folds.offsets_read import OffsetsRead


@given(offsets=st.sets(st.integers(0, 60), min_size=1).map(sorted))
def test_what_was_read_and_what_is_missing_are_all_there_is(offsets: list[int]) -> None:
    # Given
    read = OffsetsRead()

    # When
    missing = [offset for taken in offsets for offset in read.take(taken)]

    # Then
    held = [offset for offset in range(-1, 70) if read.holds(offset)]
    assert held == offsets
    assert missing == sorted(set(range(offsets[0], offsets[-1])) - set(offsets))
