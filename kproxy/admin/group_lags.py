"""`GroupLags`: how far behind every share group is, and since when; looked at once for all who ask.

`groups list` and the scrapes of Prometheus share a look: one is under way at a time, nobody waits for it longer than
they like, and what was found is good for a while.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from math import inf
from operator import itemgetter
from typing import Final, TypeAlias

from kproxy.admin.all_backlogs import AllBacklogs
from kproxy.admin.group_lag import GroupLag, lag_of_group
from kproxy.admin.group_progress import GroupProgress
from kproxy.admin.progress_views import progress_view
from kproxy.admin.turns import in_order, in_turns
from kproxy.handlers.ports import Background, Clock
from kproxy.share.identifiers import GroupId
from kproxy.statelog.actors import cut_text
from kproxy.telemetry.metrics import Metrics

Labels: TypeAlias = tuple[str, ...]

FRESH_MS: Final = 1_000
"""How old a look may be for people."""
LIST_SECONDS: Final = 4.5
"""How long a list waits for a look."""
SCRAPED_MS: Final = 10_000
"""How old a look may be for a scrape that needs no new one."""
FIRST_SCRAPE_SECONDS: Final = 1.0
"""How long a scrape waits for a look while nothing is known."""
SCRAPE_SECONDS: Final = 0.1
"""How long a scrape waits for a look otherwise; after that it tells what was known before."""
REST: Final = 20
"""Scrapes let so many times the length of a look pass before the next one."""
STALE_MS: Final = 300_000
"""What is older is told to nobody."""


class GroupLags:
    """Looks at all groups when somebody asks and what is known is too old. `clock` is monotonic."""

    def __init__(
        self, progress: GroupProgress, *, backlogs: AllBacklogs, background: Background, clock: Clock
    ) -> None:
        self._progress = progress
        self._backlogs = backlogs
        self._background = background
        self._clock = clock
        self._under_way: asyncio.Event | None = None
        self._known: Mapping[GroupId, GroupLag] = {}
        self._looked_ms: int | None = None
        self._took_ms = 0
        self._metrics: Metrics | None = None
        self._lags_told: Mapping[Labels, float] = {}
        self._oldest_told: Mapping[Labels, float] = {}

    async def look(
        self, *, max_age_ms: int = FRESH_MS, patience_s: float = LIST_SECONDS
    ) -> Mapping[GroupId, GroupLag]:
        """Return what is known of each group, from no more than `max_age_ms` ago if that is there in `patience_s`."""
        if self._is_older_than(max_age_ms):
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    await self._begun().wait()
        return self._told()

    # ------------------------------------------------ for Prometheus

    def register_gauges(self, metrics: Metrics) -> None:
        """Let every scrape read what is known; `freshen` is to be awaited before."""
        self._metrics = metrics
        metrics.register_gauge("share_lag_records", self.lag_records)
        metrics.register_gauge("share_oldest_unfinished_seconds", self.oldest_unfinished_seconds)

    async def freshen(self) -> None:
        """Look at the groups again if that is due, and wait for it a little. Raises nothing."""
        due_ms = max(SCRAPED_MS, REST * self._took_ms)
        is_known = not self._is_older_than(STALE_MS)
        await self.look(max_age_ms=due_ms, patience_s=SCRAPE_SECONDS if is_known else FIRST_SCRAPE_SECONDS)

    def lag_records(self) -> Mapping[Labels, float]:
        """Return the lag of each group of which it is known, the largest first."""
        return {} if self._is_older_than(STALE_MS) else self._lags_told

    def oldest_unfinished_seconds(self) -> Mapping[Labels, float]:
        """Return the age of each group's first unfinished record, 0 where there is none, the largest first."""
        if self._is_older_than(STALE_MS):
            return {}
        now_ms = self._progress.wall_clock.now_ms()
        return {labels: max(0, now_ms - oldest_ms) / 1000 for labels, oldest_ms in self._oldest_told.items()}

    def _told(self) -> Mapping[GroupId, GroupLag]:
        return {} if self._is_older_than(STALE_MS) else self._known

    # ------------------------------------------------ looking

    def _is_older_than(self, age_ms: int) -> bool:
        return self._looked_ms is None or self._clock.now_ms() - self._looked_ms > age_ms

    def _begun(self) -> asyncio.Event:
        """Return the end of the look that is under way."""
        if self._under_way is None:
            self._under_way = asyncio.Event()
            self._background.begin_now(self._look, name="lag of all share groups")
        return self._under_way

    async def _look(self) -> None:
        done, began_ms = self._under_way, self._clock.now_ms()
        assert done is not None
        try:
            known = await self._lags()
            await self._choose_told(known)
            self._known = known
            self._looked_ms, self._took_ms = began_ms, self._clock.now_ms() - began_ms
        finally:
            self._under_way = None
            done.set()

    async def _lags(self) -> Mapping[GroupId, GroupLag]:
        of_groups = await self._progress.windows_of_all()
        windows = [window for of_group in of_groups.values() for window in of_group]
        backlogs = iter(await self._backlogs.look(windows))
        now_ms = self._progress.wall_clock.now_ms()
        found = {}
        for group_id, of_group in of_groups.items():
            progress = [progress_view(window, next(backlogs), now_ms) async for window in in_turns(of_group)]
            found[group_id] = lag_of_group(progress, now_ms=now_ms)
            await asyncio.sleep(0)
        return found

    async def _choose_told(self, known: Mapping[GroupId, GroupLag]) -> None:
        """Find out what scrapes tell until the next look."""
        lags = [(lag.lag, group_id) async for group_id, lag in in_turns(known.items())]
        oldest = [(_oldest_ms(lag), group_id) async for group_id, lag in in_turns(known.items())]
        self._lags_told = await self._first_of(lags, "share_lag_records", is_largest_first=True)
        self._oldest_told = await self._first_of(
            oldest, "share_oldest_unfinished_seconds", is_largest_first=False
        )

    async def _first_of(
        self, readings: Iterable[tuple[float | None, GroupId]], gauge: str, *, is_largest_first: bool
    ) -> Mapping[Labels, float]:
        """Return as many as may be told of what is known, and count the others as dropped; others have turns.

        Of ids that are the same as far as a label goes, the first one is told.
        """
        if self._metrics is None:
            return {}
        found = [(value, group_id) async for value, group_id in in_turns(readings) if value is not None]
        ordered = await in_order(found, itemgetter(0), reverse=is_largest_first)
        told: dict[Labels, float] = {}
        async for value, group_id in in_turns(islice(ordered, self._metrics.max_series)):
            told.setdefault((cut_text(group_id),), value)
        if len(found) > self._metrics.max_series:
            self._metrics.count("metrics_dropped_series", len(found) - self._metrics.max_series, gauge)
        return told


def _oldest_ms(lag: GroupLag) -> float | None:
    """Return the date of the first unfinished record, infinity where there certainly is none."""
    if lag.oldest_ms is not None:
        return lag.oldest_ms
    return inf if lag.is_oldest_exact else None
