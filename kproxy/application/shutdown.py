"""`Shutdown`: when the process is to end, and how long that may take."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Final

LAST_PART_SECONDS: Final = 1.0
"""What is kept of the grace for what those leave behind who were not ready in time; half of a shorter one."""


class Shutdown:
    """Requested by a signal. A second one, or the end of `grace_ms`, cuts short what is waited for.

    The time runs once, from `begin`, however many steps the end has.
    """

    def __init__(self, grace_ms: int) -> None:
        self.requested = asyncio.Event()
        self._grace_seconds = grace_ms / 1000
        self._grace_ends_at: float | None = None
        self._is_hurried = False
        self._step: asyncio.Timeout | None = None

    def request(self) -> None:
        """End the process; at once, if that was requested before."""
        self._is_hurried = self.requested.is_set()
        self.requested.set()
        if self._is_hurried and self._step is not None and not self._step.expired():
            self._step.reschedule(asyncio.get_running_loop().time())

    async def pause(self, seconds: float) -> None:
        """Wait so long, unless the end is requested meanwhile."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.requested.wait(), seconds)

    async def unless_requested(self, step: Coroutine[object, object, None]) -> None:
        """Return when `step` is over; it is cancelled when the end is requested."""
        async with asyncio.TaskGroup() as group:
            end = group.create_task(self.requested.wait())
            doing = group.create_task(step)
            await asyncio.wait({end, doing}, return_when=asyncio.FIRST_COMPLETED)
            end.cancel()
            doing.cancel()

    def begin(self) -> None:
        """Let the time run."""
        self._grace_ends_at = asyncio.get_running_loop().time() + self._grace_seconds

    async def before_last_part(self, step: Coroutine[object, object, None]) -> None:
        """Return when `step` is over; it is cancelled `LAST_PART_SECONDS` before the grace ends, or at a signal."""
        assert self._grace_ends_at is not None, "the time runs"
        last_part = min(LAST_PART_SECONDS, self._grace_seconds / 2)
        await self._until(self._grace_ends_at - last_part, step)

    async def within_grace(self, step: Coroutine[object, object, None]) -> None:
        """Return when `step` is over; it is cancelled when the grace is, and at a second signal."""
        assert self._grace_ends_at is not None, "the time runs"
        await self._until(self._grace_ends_at, step)

    async def unless_hurried(self, step: Coroutine[object, object, None]) -> None:
        """Return when `step` is over, which has a bound of its own; it is cancelled at a second signal."""
        await self._until(None, step)

    async def _until(self, ends_at: float | None, step: Coroutine[object, object, None]) -> None:
        if self._is_hurried:
            ends_at = asyncio.get_running_loop().time()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(ends_at) as timeout:
                self._step = timeout
                try:
                    await step
                finally:
                    self._step = None
