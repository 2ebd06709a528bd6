import pytest

from tests.benchmarks.straight_lines import StraightLine, exponent


def test_points_on_a_line_are_explained_by_it() -> None:
    # When
    line = StraightLine.through([(place, 3 + 0.5 * place) for place in (10, 100, 1_000_000)])

    # Then
    assert (line.at_zero, line.slope) == pytest.approx((3, 0.5))
    assert line.explained == pytest.approx(1)
    assert line.farthest == pytest.approx(0, abs=1e-9)
    assert line.at(1_000) == pytest.approx(503)


def test_short_times_count_as_much_as_long_ones() -> None:
    # Given
    doubled_at_the_end = [(1, 1), (2, 2), (3, 3), (1_000, 2_000)]

    # When
    line = StraightLine.through(doubled_at_the_end)

    # Then
    assert line.at(1) == pytest.approx(1, rel=0.4)
    assert line.at(1_000) == pytest.approx(2_000, rel=0.4)
    assert 0.4 < line.farthest < 0.6


def test_a_curve_is_not_explained_by_a_line() -> None:
    # When
    line = StraightLine.through([(place, place**2) for place in (1, 10, 100, 1_000)])

    # Then
    assert line.explained < 0.9


@pytest.mark.parametrize("power", [1, 1.5, 2])
def test_the_exponent_is_the_power_that_values_grow_with(power: float) -> None:
    assert exponent([(place, 7 * place**power) for place in (10, 200, 3_000)]) == pytest.approx(power)
