"""Each step is taken, whatever became of the ones before it."""

import pytest

from kproxy.net.state_log.every_step import take_every_step
from tests.worlds.state_logs import alarms


def test_a_fault_in_one_step_is_said_and_keeps_nobody_from_the_next(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    taken: list[str] = []

    def faulty() -> None:
        taken.append("faulty")
        raise RuntimeError("a fault of kproxy itself")

    # When
    take_every_step("slot_fault", faulty, lambda: taken.append("honest"))

    # Then
    assert taken == ["faulty", "honest"]
    assert [record.msg for record in alarms(caplog)] == ["slot_fault"]
