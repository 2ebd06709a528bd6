import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.record_streams import RecordsLost
from tests.benchmarks.share_soundness import KproxyBroke, Sound
from tests.benchmarks.workload import Arm

RATE = Quantity("rate", "records/s")
ARM = Arm("kproxy", "127.0.0.1:1", 1)


class StagedProcess:
    """A process in a state that a test chooses."""

    def __init__(self, *lines: str, exit_status: int | None = None) -> None:
        self._lines = lines
        self._exit_status = exit_status

    @property
    def is_running(self) -> bool:
        return self._exit_status is None

    def wait(self, *, timeout_seconds: float) -> int:
        assert timeout_seconds == 0, "it has ended"
        assert self._exit_status is not None
        return self._exit_status

    def errors(self) -> str:
        return "\n".join(self._lines)

    def log_events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._lines if line.startswith("{")]


class StagedWorkload:
    name = "1 KB, 1 member"

    def __init__(self, failure: Exception | None = None) -> None:
        self._failure = failure

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        assert arm is ARM
        if self._failure is not None:
            raise self._failure
        return {RATE: 1.0}


def line(level: str, event: str) -> str:
    return json.dumps({"level": level, "event": event})


def test_values_of_a_kproxy_that_runs_without_an_error_count() -> None:
    # Given
    kproxy = StagedProcess(line("info", "started"), line("warning", "refused"))

    # When
    values = Sound(StagedWorkload(), kproxy).measure(ARM)

    # Then
    assert values == {RATE: 1.0}


@pytest.mark.parametrize(
    ("kproxy", "told"),
    [
        (StagedProcess(line("info", "started"), exit_status=-9), r"exit status -9: .*started"),
        (
            StagedProcess(line("error", "slot_failed"), line("info", "goes_on")),
            r"first slot_failed: .*goes_on",
        ),
        (StagedProcess("Fatal Python error: Segmentation fault"), "Fatal Python error"),
    ],
    ids=["it ended", "it logged an error", "its interpreter spoke"],
)
def test_values_of_a_kproxy_that_broke_do_not_count_and_its_log_is_shown(
    kproxy: StagedProcess, told: str
) -> None:
    # When / Then
    with pytest.raises(KproxyBroke, match=f"(?s){told}"):
        Sound(StagedWorkload(), kproxy).measure(ARM)


def test_when_clients_fail_because_kproxy_ended_that_is_what_is_told() -> None:
    # Given
    workload = Sound(StagedWorkload(RecordsLost("none came")), StagedProcess(exit_status=1))

    # When / Then
    with pytest.raises(KproxyBroke, match="exit status 1"):
        workload.measure(ARM)


def test_when_clients_fail_by_themselves_that_is_what_is_told() -> None:
    # Given
    workload = Sound(StagedWorkload(RecordsLost("none came")), StagedProcess())

    # When / Then
    with pytest.raises(RecordsLost, match="none came"):
        workload.measure(ARM)
