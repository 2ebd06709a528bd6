"""Figures of a kproxy that broke are none: it has to be the same process all along, without an error in its log."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.workload import Arm, Workload

LOG_TAIL_CHARACTERS: Final = 4_000
ERROR_LEVELS: Final = frozenset({"error", "critical"})


class KproxyBroke(RuntimeError):
    """kproxy ended, or logged an error, while it was measured; the message has the end of its log."""


class LoggingProcess(Protocol):
    """What is asked of kproxy's process."""

    @property
    def is_running(self) -> bool: ...

    def log_events(self) -> list[dict[str, Any]]: ...

    def errors(self) -> str: ...

    def wait(self, *, timeout_seconds: float) -> int: ...


class Sound:
    """A workload whose values count only if kproxy stayed as it was."""

    def __init__(self, workload: Workload, kproxy: LoggingProcess) -> None:
        self.name = workload.name
        self._workload = workload
        self._kproxy = kproxy

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        try:
            values = self._workload.measure(arm)
        except Exception:
            # What the clients say of it is a consequence.
            require_sound(self._kproxy)
            raise
        require_sound(self._kproxy)
        return values


def require_sound(kproxy: LoggingProcess) -> None:
    """Return if kproxy runs and has logged no error and no traceback; raises `KproxyBroke`."""
    if not kproxy.is_running:
        status = kproxy.wait(timeout_seconds=0)
        raise KproxyBroke(f"kproxy ended, exit status {status}: {_tail(kproxy)}")
    errors = [event for event in kproxy.log_events() if event["level"] in ERROR_LEVELS]
    if errors:
        raise KproxyBroke(f"kproxy logged {len(errors)} errors, first {errors[0]['event']}: {_tail(kproxy)}")
    if (foreign := _foreign_lines(kproxy)) != "":
        raise KproxyBroke(f"kproxy wrote what is no log line: {foreign}")


def _tail(kproxy: LoggingProcess) -> str:
    return kproxy.errors()[-LOG_TAIL_CHARACTERS:]


def _foreign_lines(kproxy: LoggingProcess) -> str:
    """What an interpreter says that cannot go on, for one."""
    lines = kproxy.errors().splitlines()
    return "\n".join(line for line in lines if not line.startswith("{"))[-LOG_TAIL_CHARACTERS:]
