"""Until when a command may take, over everything that it asks."""

import time
from collections.abc import Callable
from typing import Final

_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 1.0


class Deadline:
    """`timeout_ms` from now on: whoever waits takes `remaining_s` for its limit, and pauses here before another try."""

    def __init__(
        self,
        timeout_ms: int,
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep_s: Callable[[float], None] = time.sleep,
    ) -> None:
        self.timeout_ms: Final = timeout_ms
        self._now_s = now_s
        self._sleep_s = sleep_s
        self._ends_s = now_s() + timeout_ms / 1000

    @property
    def remaining_s(self) -> float:
        """What is left, in seconds; 0 when it has passed."""
        return max(0.0, self._ends_s - self._now_s())

    def pause(self, attempt_count: int) -> bool:
        """Wait before the next attempt: 100 ms after the first one, twice as long each time, at most a second.

        Return False, at once, when no time would be left for another attempt.
        """
        pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(attempt_count - 1, 10))
        if self.remaining_s <= pause_s:
            return False
        self._sleep_s(pause_s)
        return True
