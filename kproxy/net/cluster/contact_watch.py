"""`ContactWatch`: whether the backing cluster answers, seen within seconds also when nobody asks it for anything.

An idle connection does not tell that its broker is gone, and the metadata are believed for minutes. So the cluster is
asked for its brokers whenever nothing was heard of it for a moment.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.view import TopicIdsMissing
from kproxy.telemetry import logs

LOOK_SECONDS: Final = 2.0
"""How often it is seen whether the cluster was heard of, and for how long its word counts."""
SILENCE_MS: Final = 8_000
"""Nothing was heard of it for so long: it cannot be reached, also where connections only hang. Above it is the time
that a probe may come late; below it that of a slow broker's answer."""

LOST_ADVICE: Final = (
    "see whether its brokers run and can be reached from here; kproxy goes on by itself once they answer"
)

log = logs.logger("net.cluster.contact_watch")


class Contacted(Protocol):
    """The backing cluster, as `ClusterMetadataCache` asks it."""

    @property
    def last_failure(self) -> BrokerUnavailable | None:
        """Why the last question found nobody; None when it did not."""
        ...

    @property
    def contact_age_ms(self) -> int | None:
        """How long ago it last answered; None if it never has."""
        ...

    async def ask_for_brokers(self) -> None:
        """Ask it for its brokers. Raises BrokerUnavailable."""
        ...

    async def refresh(self) -> None:
        """Ask it for everything. Raises BrokerUnavailable."""
        ...


class ContactWatch:
    """Looks for ever, and tells `on_change` whenever `problem` begins or ends."""

    def __init__(self, cluster: Contacted, *, on_change: Callable[[], None]) -> None:
        self._cluster = cluster
        self._on_change = on_change
        self._was_lost = False

    @property
    def problem(self) -> str:
        """Why the cluster cannot be reached, though it could before; empty while it can, or never could."""
        age_ms = self._cluster.contact_age_ms
        failure = self._cluster.last_failure
        if isinstance(failure, TopicIdsMissing):
            failure = None  # Plain traffic is not concerned.
        if age_ms is None or (failure is None and age_ms < SILENCE_MS):
            return ""
        return f"the backing cluster was last reached {age_ms} ms ago: {failure or 'it does not answer'}; {LOST_ADVICE}"

    async def run(self) -> None:
        """Look every `LOOK_SECONDS`."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Ask the cluster if it was not heard of lately; everything, if it is back."""
        self._tell()
        age_ms = self._cluster.contact_age_ms
        if age_ms is None or (age_ms < LOOK_SECONDS * 1000 and self._cluster.last_failure is None):
            return
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await (self._cluster.refresh() if self._was_lost else self._cluster.ask_for_brokers())
        except (BrokerUnavailable, TimeoutError):
            pass  # `problem` says so
        self._tell()

    def _tell(self) -> None:
        is_lost = bool(self.problem)
        if is_lost is not self._was_lost:
            self._was_lost = is_lost
            if is_lost:
                log.error("backing_cluster_lost", detail=self.problem)
            self._on_change()
