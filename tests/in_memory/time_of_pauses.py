"""`TimeOfPauses`: a clock for deadlines that goes on when somebody pauses, however long everything else takes."""

from typing import Final

from kproxy.clients.cluster.deadline import Deadline

PATIENCE_MS: Final = 10_400
"""The last attempt, behind pauses of 0.1, 0.2, 0.4, 0.8 and eight of 1 s, has 0.9 s left for its answer."""


class TimeOfPauses:
    """Notes the pauses, and makes none."""

    def __init__(self) -> None:
        self.now_s = 5.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Let the time go on."""
        self.pauses.append(seconds)
        self.now_s += seconds

    def deadline(self, timeout_ms: int = PATIENCE_MS) -> Deadline:
        """Return one that begins now."""
        return Deadline(timeout_ms, now_s=lambda: self.now_s, sleep_s=self.sleep)
