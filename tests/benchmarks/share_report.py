"""What the share benchmark's values say: its tables, and the bars that kproxy has to reach."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.benchmarks.background import noise_remark
from tests.benchmarks.bars import Bar, Side
from tests.benchmarks.comparison import Quantity
from tests.benchmarks.result_files import Result
from tests.benchmarks.share_cold_start import COLD_RATE, FIRST_RECORD, STARTED_RATE
from tests.benchmarks.share_consumption import (
    BROKER_CPU,
    KPROXY_CPU,
    RECORD_RATE,
    RECORDS_PER_POLL,
    TOTAL_CPU,
)
from tests.benchmarks.share_latency import ARRIVAL_LATE, ARRIVAL_MEDIAN, COMMIT_LATE, COMMIT_MEDIAN
from tests.benchmarks.share_setting import KPROXY, NATIVE
from tests.benchmarks.tables import Table, bar_table, comparison_table
from tests.benchmarks.workload import Measurements

ARMS: Final = (KPROXY, NATIVE)
RATIOS: Final = ((KPROXY, NATIVE),)

LEAST_RATE_OF_NATIVE: Final = 0.5
LEAST_COLD_RATE_OF_NATIVE: Final = 1.0
MOST_COMMIT_OF_NATIVE: Final = 3.0
WITHOUT_BAR: Final = "100 B"

HOW_TO_READ: Final = (
    "Medians over the rounds. A ratio is taken within each round; its lowest and highest stand in brackets. "
    "Everything ran on all cores."
)


def result(name: str, machine: Mapping[str, str], measured: Measurements) -> Result:
    """Put together what was measured."""
    bars = _bars(measured)
    return Result(
        name=name,
        machine=machine,
        remarks=[HOW_TO_READ, noise_remark(measured)],
        tables=[
            _compared("Share groups, records/s", measured, [RECORD_RATE]),
            _compared(
                "Share groups, CPU seconds per million records", measured, [KPROXY_CPU, BROKER_CPU, TOTAL_CPU]
            ),
            _compared("Share groups, records a poll", measured, [RECORDS_PER_POLL]),
            _compared(
                "Share groups, latency, ms",
                measured,
                [COMMIT_MEDIAN, COMMIT_LATE, ARRIVAL_MEDIAN, ARRIVAL_LATE],
            ),
            _compared(
                "Share groups, members that start together", measured, [COLD_RATE, STARTED_RATE, FIRST_RECORD]
            ),
            bar_table(bars),
        ],
        values={"share": measured.as_json(), "bars": [bar.as_json() for bar in bars]},
    )


def _compared(title: str, measured: Measurements, quantities: Sequence[Quantity]) -> Table:
    is_one = len(quantities) == 1
    rows = [
        (workload if is_one else f"{workload}: {quantity.title}", series)
        for quantity in quantities
        for workload, series in measured.of_quantity(quantity)
    ]
    return comparison_table(title, rows, arms=ARMS, ratios=RATIOS)


def _bars(measured: Measurements) -> list[Bar]:
    rates = [
        Bar(
            f"{workload}: rate of the stock broker's",
            Side.AT_LEAST,
            LEAST_RATE_OF_NATIVE,
            "x",
            series.ratio(KPROXY, NATIVE),
        )
        for workload, series in measured.of_quantity(RECORD_RATE)
        if not workload.startswith(WITHOUT_BAR)
    ]
    commits = [
        Bar(
            f"{workload}: commit p50 of the stock broker's",
            Side.AT_MOST,
            MOST_COMMIT_OF_NATIVE,
            "x",
            series.ratio(KPROXY, NATIVE),
        )
        for workload, series in measured.of_quantity(COMMIT_MEDIAN)
    ]
    return [*rates, *_cold_bars(measured), *commits]


def _cold_bars(measured: Measurements) -> list[Bar]:
    return [
        Bar(
            f"{workload}: rate from the first subscribe of the stock broker's",
            Side.AT_LEAST,
            LEAST_COLD_RATE_OF_NATIVE,
            "x",
            series.ratio(KPROXY, NATIVE),
        )
        for workload, series in measured.of_quantity(COLD_RATE)
    ]
