"""What is measured, where, and in which order: arms, workloads, and the rounds over both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.benchmarks.comparison import Quantity, Series, rotated


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to the same broker."""

    name: str
    bootstrap_servers: str
    relay_process_id: int | None
    """The process in between, if there is one."""
    client_settings: Mapping[str, str] = field(default_factory=dict)
    """What librdkafka's clients need to be let in."""


class Workload(Protocol):
    """Something that clients do."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        """Do it once through `arm`, and say what that gave."""
        ...


class Measurements:
    """Every value of a run, by workload and quantity."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, Quantity], Series] = {}

    def add(self, workload: str, arm: str, values: Mapping[Quantity, float]) -> None:
        """Note what one round of `arm` gave."""
        for quantity, value in values.items():
            series = self._series.setdefault((workload, quantity), Series(quantity))
            series.add(arm, value)

    def series(self, workload: str, quantity: Quantity) -> Series:
        """What all rounds of all arms gave; raises `KeyError` where nothing was measured."""
        return self._series[workload, quantity]

    def __contains__(self, key: tuple[str, Quantity]) -> bool:
        return key in self._series

    def of_quantity(self, quantity: Quantity) -> Sequence[tuple[str, Series]]:
        """All series of a quantity, each with its workload."""
        return [
            (workload, series)
            for (workload, measured), series in self._series.items()
            if measured == quantity
        ]

    def as_json(self) -> list[dict[str, Any]]:
        """Every value, ready for a JSON file."""
        return [
            {
                "workload": workload,
                "quantity": quantity.title,
                "unit": quantity.unit,
                "values": {arm: list(series.values(arm)) for arm in series.arms},
            }
            for (workload, quantity), series in self._series.items()
        ]


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often every arm of a workload is measured, and how often it runs before that without being measured."""

    measured: int
    warm_ups: int = 1

    @property
    def total(self) -> int:
        """Both together."""
        return self.measured + self.warm_ups


class Steps(Protocol):
    """Is told what goes on."""

    def begin(self, text: str) -> None:
        """`text` is being measured."""
        ...

    def finish(self) -> None:
        """It is done."""
        ...


def measure_in_turn(
    workload: Workload, arms: Sequence[Arm], rounds: Rounds, steps: Steps, measurements: Measurements
) -> None:
    """Run `workload` through all `arms` in every round, each round beginning with another arm."""
    by_name = {arm.name: arm for arm in arms}
    for number in range(rounds.total):
        for name in rotated(list(by_name), number):
            steps.begin(f"{workload.name}, {_round(number, rounds)}: {name}")
            values = workload.measure(by_name[name])
            if number >= rounds.warm_ups:
                measurements.add(workload.name, name, values)
            steps.finish()


def step_count(workloads: Iterable[Workload], arms: Sequence[Arm], rounds: Rounds) -> int:
    """How many steps `measure_in_turn` takes for all of `workloads`."""
    return sum(len(arms) * rounds.total for _ in workloads)


def _round(number: int, rounds: Rounds) -> str:
    if number < rounds.warm_ups:
        return "warm-up"
    return f"round {number - rounds.warm_ups + 1} of {rounds.measured}"
