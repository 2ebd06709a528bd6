import io

from rich.console import Console

from tests.benchmarks.bars import Bar, Side
from tests.benchmarks.comparison import Quantity, Series, Spread
from tests.benchmarks.tables import Table, bar_table, comparison_table

CPU = Quantity("relay CPU", "s/GB", 3)


def cpu_series() -> Series:
    series = Series(CPU)
    for kproxy, haproxy in ((0.30, 0.20), (0.36, 0.30), (0.33, 0.30)):
        series.add("kproxy", kproxy)
        series.add("haproxy", haproxy)
    return series


def test_a_comparison_has_the_median_of_each_arm_and_the_ratios_with_their_range() -> None:
    # When
    table = comparison_table(
        "CPU",
        [("consume", cpu_series())],
        arms=("direct", "kproxy", "haproxy"),
        ratios=(("kproxy", "direct"), ("kproxy", "haproxy")),
    )

    # Then
    assert table.heads == ["", "direct", "kproxy", "haproxy", "kproxy / direct", "kproxy / haproxy"]
    assert table.rows == [["consume", "-", "0.330", "0.300", "-", "1.20 [1.10, 1.50]"]]


def test_what_is_nothing_or_less_in_a_round_is_not_divided_by() -> None:
    # Given a relay that seemed to add less than nothing once
    added = Series(Quantity("added", "µs"))
    for kproxy, haproxy in ((60.0, 40.0), (70.0, -3.0)):
        added.add("kproxy", kproxy)
        added.add("haproxy", haproxy)

    # When
    table = comparison_table(
        "latency", [("one", added)], arms=("kproxy", "haproxy"), ratios=(("kproxy", "haproxy"),)
    )

    # Then
    assert table.rows == [["one", "65", "18", "-"]]


def test_a_bar_is_met_by_its_limit_itself_and_missed_beyond_it() -> None:
    # Given
    bars = [
        Bar("CPU", Side.AT_MOST, 1.3, "x", Spread(1.3, 1.1, 1.6)),
        Bar("memory", Side.AT_MOST, 10, " kB", Spread(10.5, 9.0, 11.0)),
        Bar("rate", Side.AT_LEAST, 0.7, "x", Spread(0.7, 0.5, 0.9)),
        Bar("rate again", Side.AT_LEAST, 0.7, "x", Spread(0.69, 0.5, 0.9)),
    ]

    # When
    table = bar_table(bars)

    # Then
    assert table.rows == [
        ["CPU", "at most 1.3x", "1.30 [1.10, 1.60]", "met"],
        ["memory", "at most 10 kB", "10.50 [9.00, 11.00]", "MISSED"],
        ["rate", "at least 0.7x", "0.70 [0.50, 0.90]", "met"],
        ["rate again", "at least 0.7x", "0.69 [0.50, 0.90]", "MISSED"],
    ]


def test_a_bar_is_written_down_with_what_was_reached() -> None:
    bar = Bar("CPU", Side.AT_MOST, 1.3, "x", Spread(1.25, 1.1, 1.6))

    assert bar.as_json() == {"title": "CPU", "limit": "at most 1.3x", "measured": 1.25, "met": True}


def test_markdown_aligns_figures_to_the_right() -> None:
    table = Table("Rates", ["", "direct"], [["produce", "604"], ["consume", "1,150"]])

    assert table.markdown() == (
        "**Rates**\n\n|  | direct |\n| --- | ---: |\n| produce | 604 |\n| consume | 1,150 |\n"
    )


def test_a_terminal_is_shown_ranges_as_they_are_and_not_as_markup() -> None:
    # Given
    table = Table("Rates", ["", "ratio"], [["produce", "0.95 [0.80, 1.10]"]])
    screen = io.StringIO()

    # When
    Console(file=screen, width=60).print(table.for_terminal())

    # Then
    assert "0.95 [0.80, 1.10]" in screen.getvalue()
