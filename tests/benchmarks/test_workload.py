from collections.abc import Mapping

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.workload import Arm, Measurements, Rounds, measure_in_turn

RATE = Quantity("rate", "MB/s")
OTHER_RATE = Quantity("rate", "requests/s")


class CountingWorkload:
    """Gives 1, 2, 3, … and remembers which arm got which."""

    name = "counting"

    def __init__(self) -> None:
        self.arms: list[str] = []

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        self.arms.append(arm.name)
        return {RATE: float(len(self.arms))}


class RecordedSteps:
    def __init__(self) -> None:
        self.begun: list[str] = []
        self.finished_count = 0

    def begin(self, text: str) -> None:
        self.begun.append(text)

    def finish(self) -> None:
        self.finished_count += 1


def arms_named(*names: str) -> list[Arm]:
    return [Arm(name, "127.0.0.1:1", None) for name in names]


def test_arms_take_turns_and_warm_ups_are_not_kept() -> None:
    # Given
    workload, steps, measurements = CountingWorkload(), RecordedSteps(), Measurements()

    # When
    measure_in_turn(workload, arms_named("a", "b"), Rounds(measured=2, warm_ups=1), steps, measurements)

    # Then
    assert workload.arms == ["a", "b", "b", "a", "a", "b"]
    assert measurements.series("counting", RATE).values("a") == (4.0, 5.0)
    assert measurements.series("counting", RATE).values("b") == (3.0, 6.0)


def test_every_step_is_told_with_its_round() -> None:
    # Given
    steps = RecordedSteps()

    # When
    measure_in_turn(CountingWorkload(), arms_named("a"), Rounds(2, warm_ups=1), steps, Measurements())

    # Then
    assert steps.begun == [
        "counting, warm-up: a",
        "counting, round 1 of 2: a",
        "counting, round 2 of 2: a",
    ]
    assert steps.finished_count == 3


def test_quantities_of_one_name_and_different_units_are_kept_apart() -> None:
    # Given
    measurements = Measurements()

    # When
    measurements.add("consume", "a", {RATE: 1.0})
    measurements.add("ask", "a", {OTHER_RATE: 2.0})

    # Then
    assert [name for name, _ in measurements.of_quantity(RATE)] == ["consume"]
    assert ("ask", OTHER_RATE) in measurements
    assert ("ask", RATE) not in measurements


def test_every_value_is_written_down_with_its_unit() -> None:
    # Given
    measurements = Measurements()
    measurements.add("consume", "a", {RATE: 1.0})
    measurements.add("consume", "a", {RATE: 3.0})

    # Then
    assert measurements.as_json() == [
        {"workload": "consume", "quantity": "rate", "unit": "MB/s", "values": {"a": [1.0, 3.0]}}
    ]
