"""`ClusterLooks`: a look at the topics that matter every so often, and at once when something tells of a change."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import Clock
from kproxy.net.backoff import Backoff
from kproxy.telemetry import logs

Names = TypeVar("Names")

log = logs.logger("net.cluster.topic_looks")

LEAST_INTERVAL_MS: Final = 100
"""Between the beginnings of two looks, however many changes are told of: they share the next one."""

LONGEST_PAUSE_MS: Final = 5_000
"""Between two looks while the cluster does not answer."""


class ClusterLooks(Generic[Names]):
    """Calls `look` with `names()`, one call at a time; not at all while there are no names.

    Every `interval_ms`, sooner after `look_soon` or when `look` says that brokers disagree, and later after failures
    (BrokerUnavailable) in a row.
    """

    def __init__(
        self,
        look: Callable[[Names], Awaitable[bool]],
        names: Callable[[], Awaitable[Names | None]],
        *,
        clock: Clock,
        interval_ms: int,
    ) -> None:
        self._look = look
        self._names = names
        self._clock = clock
        self._interval_ms = interval_ms
        self._is_wanted = asyncio.Event()
        self._disagreement_count = 0
        self._backoff = Backoff(clock, first_ms=interval_ms, last_ms=max(interval_ms, LONGEST_PAUSE_MS))

    def look_soon(self) -> None:
        """Look now, or as soon as may be: something may have changed."""
        self._is_wanted.set()

    async def run(self) -> None:
        """Look for ever; cancelled at the end."""
        while True:
            began_ms = self._clock.now_ms()
            self._is_wanted.clear()
            await self._look_once()
            await self._pause(began_ms)

    async def _look_once(self) -> None:
        try:
            names = await self._names()
            if not names:
                return
            is_settled = await self._look(names)
        except BrokerUnavailable as failure:
            self._backoff.failed()
            log.debug("look_failed", detail=failure)
        except Exception as fault:  # noqa: BLE001 - the top of a task: without looks nothing is noticed for minutes
            self._backoff.failed()
            log.crash("look_failed", fault)
        else:
            self._backoff.succeeded()
            self._disagreement_count = 0 if is_settled else self._disagreement_count + 1

    def _next_interval_ms(self) -> int:
        """Brokers that disagree will mostly agree in a moment; if they do not, the distance doubles."""
        if self._disagreement_count == 0:
            return self._interval_ms
        return min(LEAST_INTERVAL_MS << min(self._disagreement_count - 1, 20), self._interval_ms)

    async def _pause(self, began_ms: int) -> None:
        left_ms = began_ms + self._next_interval_ms() - self._clock.now_ms()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0, left_ms) / 1000):
                await self._is_wanted.wait()
        at_least_ms = began_ms + LEAST_INTERVAL_MS - self._clock.now_ms()
        pause_ms = max(self._backoff.remaining_ms, at_least_ms)
        if pause_ms > 0:
            await asyncio.sleep(pause_ms / 1000)
