"""`BrokerSearch`: where the brokers are, asked again because a client found one of them unreachable."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from kproxy.errors import KproxyError
from kproxy.net.tasks import TaskKeeper
from kproxy.telemetry import logs

log = logs.logger("net.cluster.broker_search")

LEAST_INTERVAL_SECONDS: Final = 1.0
"""Between two questions: while a broker is down, every one of its clients dials it again and again."""


class BrokerSearch:
    """Asks for the brokers alone, once for all who want it at the same time.

    Args:
        ask_for_brokers: asks the cluster; raises KproxyError when nobody answers.
        on_failure: called when nobody did.
        tasks: where it runs.
    """

    def __init__(
        self,
        ask_for_brokers: Callable[[], Awaitable[None]],
        on_failure: Callable[[], None],
        *,
        tasks: TaskKeeper,
    ) -> None:
        self._ask_for_brokers = ask_for_brokers
        self._on_failure = on_failure
        self._tasks = tasks
        self._is_wanted = False
        self._search: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Ask now, or `LEAST_INTERVAL_SECONDS` after the last question; never with an answer older than this call."""
        self._is_wanted = True
        if self._search is None or self._search.done():
            self._search = self._tasks.spawn(self._run(), name="look for brokers")

    async def _run(self) -> None:
        while self._is_wanted:
            self._is_wanted = False
            try:
                await self._ask_for_brokers()
            except KproxyError as failure:
                log.debug("brokers_not_found", err=failure)
                self._on_failure()
            await asyncio.sleep(LEAST_INTERVAL_SECONDS)
