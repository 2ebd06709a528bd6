import pytest

from tests.benchmarks.comparison import Quantity, Series, Spread, percentile, rotated

RATE = Quantity("rate", "MB/s", 1)
ADDED = Quantity("added", "µs")


def series_of(**values: list[float]) -> Series:
    series = Series(RATE)
    for arm, of_rounds in values.items():
        for value in of_rounds:
            series.add(arm, value)
    return series


def test_a_spread_is_the_median_and_both_ends() -> None:
    assert Spread.of([4.0, 1.0, 9.0]) == Spread(median=4.0, lowest=1.0, highest=9.0)


def test_the_median_of_an_even_number_of_values_lies_between_the_two_in_the_middle() -> None:
    assert Spread.of([1.0, 2.0, 4.0, 100.0]).median == 3.0


def test_nothing_has_no_spread() -> None:
    with pytest.raises(ValueError, match="no values"):
        Spread.of([])


def test_a_ratio_is_taken_within_each_round_so_that_a_slow_round_of_both_changes_nothing() -> None:
    # Given a second round in which everything is ten times slower
    series = series_of(direct=[100.0, 10.0, 200.0], kproxy=[80.0, 8.0, 100.0])

    # When
    ratio = series.ratio("kproxy", "direct")

    # Then
    assert ratio == Spread(median=0.8, lowest=0.5, highest=0.8)


def test_the_median_of_ratios_is_not_the_ratio_of_medians() -> None:
    # Given
    series = series_of(direct=[1.0, 2.0, 4.0], kproxy=[4.0, 2.0, 1.0])

    # Then
    assert series.ratio("kproxy", "direct") == Spread(median=1.0, lowest=0.25, highest=4.0)


def test_arms_with_different_numbers_of_rounds_have_no_ratio() -> None:
    series = series_of(direct=[1.0, 2.0], kproxy=[1.0])

    with pytest.raises(ValueError, match="argument 2"):
        series.ratio("kproxy", "direct")


def test_an_excess_is_what_each_other_arm_has_more_in_the_same_round() -> None:
    # Given
    series = series_of(direct=[50.0, 70.0], kproxy=[110.0, 150.0], haproxy=[90.0, 60.0])

    # When
    excess = series.excess("direct", ADDED)

    # Then
    assert excess.quantity == ADDED
    assert excess.arms == ("kproxy", "haproxy")
    assert excess.values("kproxy") == (60.0, 80.0)
    assert excess.values("haproxy") == (40.0, -10.0)


def test_an_arm_that_was_not_measured_is_not_there() -> None:
    assert not series_of(kproxy=[1.0]).has("direct")


@pytest.mark.parametrize(
    ("percent", "expected"), [(1, 10.0), (20, 10.0), (21, 20.0), (50, 30.0), (99, 50.0), (100, 50.0)]
)
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(
    percent: float, expected: float
) -> None:
    assert percentile([50.0, 10.0, 40.0, 20.0, 30.0], percent) == expected


def test_each_round_begins_with_the_next_arm() -> None:
    assert [rotated(["a", "b", "c"], number) for number in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]


def test_a_quantity_is_written_with_its_decimals_and_thousands_apart() -> None:
    assert RATE.written(1234.56) == "1,234.6"
    assert ADDED.written(1234.56) == "1,235"
