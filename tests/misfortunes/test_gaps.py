"""Gaps are counted from one answer to the next."""

from tests.misfortunes.gaps import longest_gap, percentile


def test_the_longest_gap_goes_from_the_last_answer_before_to_the_first_one_after() -> None:
    assert longest_gap([1.0, 2.0, 6.0, 6.5], began=2.5, ended=5.0) == 4.0
    assert longest_gap([1.0, 2.0, 2.5, 3.5], began=1.5, ended=3.0) == 1.0
    assert longest_gap([1.0, 9.0], began=9.5, ended=12.0) == 0.0


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3.0, 1.0, 2.0, 4.0], 0.5) == 3.0
    assert percentile([3.0, 1.0], 0.99) == 3.0
    assert percentile([], 0.99) == 0.0
