"""How much of the machine others used while something was measured: what a result's noise comes from."""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from tests.benchmarks.comparison import Quantity, Spread
from tests.benchmarks.process_accounting import busy_seconds_of_machine, cpu_seconds
from tests.benchmarks.workload import Arm, Measurements, Workload

CORES_OF_OTHERS: Final = Quantity("cores used by other processes", "", 2)


class Watched:
    """A workload that says in addition how many cores all processes used that have no part in it."""

    def __init__(self, workload: Workload, process_ids: Sequence[int]) -> None:
        """`process_ids` are those that do have a part in it."""
        self.name = workload.name
        self._workload = workload
        self._process_ids = process_ids

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        started, before = time.perf_counter(), self._seconds_of_others()
        values = self._workload.measure(arm)
        elapsed = time.perf_counter() - started
        return {**values, CORES_OF_OTHERS: max(self._seconds_of_others() - before, 0.0) / elapsed}

    def _seconds_of_others(self) -> float:
        return busy_seconds_of_machine() - sum(map(cpu_seconds, self._process_ids))


def noise_remark(measured: Measurements) -> str:
    """What the processes used that had no part in it, in a sentence."""
    values = [
        value
        for _name, series in measured.of_quantity(CORES_OF_OTHERS)
        for arm in series.arms
        for value in series.values(arm)
    ]
    others = Spread.of(values)
    return (
        f"Meanwhile processes that had no part in it used {others.median:.2f} cores (median; {others.lowest:.2f} to "
        f"{others.highest:.2f})."
    )
