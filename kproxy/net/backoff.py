"""How long to leave a broker alone after a failure."""

import random
from collections.abc import Callable
from typing import Final

from kproxy.handlers.ports import Clock

JITTER: Final = 0.2
"""Each pause is up to this share shorter or longer, so that many kproxies do not come back in step."""


class Backoff:
    """A pause that doubles with each failure in a row up to a cap, and is gone at the first success.

    The defaults are those of Kafka's clients (`reconnect.backoff.ms`, `reconnect.backoff.max.ms`).
    """

    __slots__ = ("_clock", "_failure_count", "_first_ms", "_last_ms", "_over_at_ms", "_random")

    def __init__(
        self,
        clock: Clock,
        *,
        first_ms: int = 50,
        last_ms: int = 1000,
        random_fraction: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._first_ms = first_ms
        self._last_ms = last_ms
        self._random = random_fraction
        self._failure_count = 0
        self._over_at_ms = 0

    @property
    def remaining_ms(self) -> int:
        """How much of the pause is left; 0 when there is none."""
        if self._failure_count == 0:
            return 0
        return max(0, self._over_at_ms - self._clock.now_ms())

    def failed(self) -> None:
        """Begin the next pause, from now."""
        pause_ms = min(self._first_ms << min(self._failure_count, 20), self._last_ms)
        self._failure_count += 1
        self._over_at_ms = self._clock.now_ms() + round(pause_ms * (1 - JITTER + 2 * JITTER * self._random()))

    def succeeded(self) -> None:
        """End the pause; the next failure is a first one again."""
        self._failure_count = 0
