"""`GroupLags`: how far behind every share group is, and since when; looked at once for all who ask.

`groups list` and the scrapes of Prometheus share a look: one is under way at a time, nobody waits for it longer than
they like, and what was found is good for a while.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from kproxy.admin.all_backlogs import AllBacklogs
from kproxy.admin.group_lag import GroupLag, lag_of_group
from kproxy.admin.group_progress import GroupProgress
from kproxy.admin.progress_views import progress_view
from kproxy.admin.turns import in_turns
from kproxy.handlers.ports import Background, Clock
from kproxy.share.identifiers import GroupId
from kproxy.statelog.actors import cut_text
from kproxy.telemetry.metrics import Metrics

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
        metrics.register_gauge("share_lag_records", self.lag_records)
        metrics.register_gauge("share_oldest_unfinished_seconds", self.oldest_unfinished_seconds)

    async def freshen(self) -> None:
        """Look at the groups again if that is due, and wait for it a little. Raises nothing."""
        due_ms = max(SCRAPED_MS, REST * self._took_ms)
        is_known = not self._is_older_than(STALE_MS)
        await self.look(max_age_ms=due_ms, patience_s=SCRAPE_SECONDS if is_known else FIRST_SCRAPE_SECONDS)

    def lag_records(self) -> Mapping[tuple[str, ...], float]:
        """Return the lag of each group of which it is known, the largest first."""
        return _by_label((group_id, lag.lag) for group_id, lag in self._told().items())

    def oldest_unfinished_seconds(self) -> Mapping[tuple[str, ...], float]:
        """Return the age of each group's first unfinished record, 0 where there is none, the largest first."""
        now_ms = self._progress.wall_clock.now_ms()
        return _by_label((group_id, _age_s(lag, now_ms)) for group_id, lag in self._told().items())

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
            self._known = await self._lags()
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


def _age_s(lag: GroupLag, now_ms: int) -> float | None:
    if lag.oldest_ms is not None:
        return max(0, now_ms - lag.oldest_ms) / 1000
    return 0.0 if lag.is_oldest_exact else None


def _by_label(readings: Iterable[tuple[GroupId, float | None]]) -> Mapping[tuple[str, ...], float]:
    """Return what is known, the largest first: should there be more groups than series, those are told.

    Of ids that are the same as far as a label goes, the one with the largest is told.
    """
    known = ((value, group_id) for group_id, value in readings if value is not None)
    found: dict[tuple[str, ...], float] = {}
    for value, group_id in sorted(known, key=lambda each: -each[0]):
        found.setdefault((cut_text(group_id),), value)
    return found
