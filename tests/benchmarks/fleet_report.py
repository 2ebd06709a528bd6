"""What the values of a fleet's benchmark say: two tables of frames, and two of eight groups that consume."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.benchmarks.background import noise_remark
from tests.benchmarks.comparison import Quantity
from tests.benchmarks.fleet_consumption import ONE, TWO_ANYWHERE, TWO_AT_OWNERS
from tests.benchmarks.fleet_frames import CPU, FRAMES, LOCAL, RELAYED, late_of, median_of
from tests.benchmarks.result_files import Result
from tests.benchmarks.share_consumption import BROKER_CPU, KPROXY_CPU, RECORD_RATE, TOTAL_CPU
from tests.benchmarks.tables import Table, comparison_table
from tests.benchmarks.workload import Measurements

WAYS: Final = (LOCAL, RELAYED)
RATIO_OF_WAYS: Final = ((RELAYED, LOCAL),)
PROCESSES: Final = (ONE, TWO_AT_OWNERS, TWO_ANYWHERE)
RATIOS_OF_PROCESSES: Final = ((TWO_AT_OWNERS, ONE), (TWO_ANYWHERE, ONE))

HOW_TO_READ: Final = (
    "Medians over the rounds, in which ways take turns. A ratio is taken within each round; its lowest and highest "
    "stand in brackets. Everything ran on all cores. Local: through the process that serves the group; relayed: "
    "through another one."
)


def result(name: str, machine: Mapping[str, str], measured: Measurements) -> Result:
    """Put together what was measured."""
    latencies = [quantity(frame) for frame in FRAMES.values() for quantity in (median_of, late_of)]
    rates = [RECORD_RATE]
    costs = [KPROXY_CPU, BROKER_CPU, TOTAL_CPU]
    return Result(
        name=name,
        machine=machine,
        remarks=[HOW_TO_READ, noise_remark(measured)],
        tables=[
            _table("A share request, from sent to answered, µs", measured, latencies, WAYS),
            _table("A share request, CPU of both processes, µs", measured, [CPU], WAYS),
            _table("Groups that consume at the same time, records/s", measured, rates, PROCESSES),
            _table(
                "Groups that consume at the same time, CPU seconds per million records",
                measured,
                costs,
                PROCESSES,
            ),
        ],
        values={"fleet": measured.as_json()},
    )


def _table(title: str, measured: Measurements, quantities: Sequence[Quantity], arms: Sequence[str]) -> Table:
    rows = [
        (f"{workload}: {quantity.title}", series)
        for quantity in quantities
        for workload, series in measured.of_quantity(quantity)
    ]
    ratios = RATIO_OF_WAYS if arms is WAYS else RATIOS_OF_PROCESSES
    return comparison_table(title, rows, arms=arms, ratios=ratios)
