"""When CPython looks through objects that are not young for those that only hold each other: seldom, and not for long.

A full collection walks over everything that is alive, and nobody is served meanwhile: half a second to a second for a
million objects. CPython by itself begins one as soon as a quarter as many objects are new as are old, which is in the
middle of the largest requests; one in idle moments comes behind every client that has made very many objects.

Reference counts free nearly everything here. What only a collection finds is what is left of a client's connection:
some 40 objects. So whatever has come through a few looks is frozen: no look walks over it any more. That is taken back,
and all are looked through, when the process uses much of its memory, and again when it uses much more.
"""

import asyncio
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kproxy.telemetry import logs

log = logs.logger("application.full_collections")

YOUNG_OBJECTS: Final = 10_000
"""New objects that are looked through together for cycles: some 0.5 ms. Hardly any are in one, and to look after every
700, as CPython does by itself, takes several hundredths of what a share fetch costs."""

YOUNG_COLLECTIONS: Final = 1
"""After more of these what they left is looked through once more, 20,000 objects at most: some 10 ms."""

_NEVER: Final = 1_000_000_000

LOOK_SECONDS: Final = 5.0

MOST_NEW: Final = 2
"""Middle collections, each after 20,000 objects more, after which it takes no long look, some 30 ms, to go through what
they left. After more of them it is frozen as it is."""

IDLE_SHARE: Final = 0.25
"""There is time when the process has used less than this share of the seconds that passed."""

MOST_COUNTED_BYTES: Final = 4 << 30
"""With more memory than this much is used as soon as with this."""


def _middle_count() -> int:
    return gc.get_count()[2]


def _resident_bytes() -> int:
    """Return what the process uses of memory, 0 where the system does not say it as Linux does."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class FullCollections:
    """Begins collections while `run` goes on, which is for ever; CPython begins no full one by itself then.

    Args:
        limit_bytes: how much memory the process may use.
        collect: goes through all that is not frozen, and returns how many objects it found.
        freeze: keeps all that there is out of collections.
        unfreeze: takes that back.
        middle_count: how many collections of the middle generation there were since `collect` or `freeze`.
        cpu_seconds: what the process has used so far.
        resident_bytes: what it uses of memory.
    """

    def __init__(  # noqa: PLR0913 - keyword-only, each one a part of the interpreter or the system
        self,
        limit_bytes: int,
        *,
        collect: Callable[[], int] = gc.collect,
        freeze: Callable[[], None] = gc.freeze,
        unfreeze: Callable[[], None] = gc.unfreeze,
        middle_count: Callable[[], int] = _middle_count,
        cpu_seconds: Callable[[], float] = time.process_time,
        resident_bytes: Callable[[], int] = _resident_bytes,
    ) -> None:
        self._limit_bytes = min(limit_bytes, MOST_COUNTED_BYTES)
        self._collect, self._freeze, self._unfreeze = collect, freeze, unfreeze
        self._middle_count = middle_count
        self._cpu_seconds = cpu_seconds
        self._resident_bytes = resident_bytes
        self._used_before = cpu_seconds()
        self._much_bytes = self._limit_bytes // 2

    async def run(self) -> None:
        """Look every five seconds whether it is time for one. The thresholds are put back when this is cancelled."""
        thresholds = gc.get_threshold()
        gc.set_threshold(YOUNG_OBJECTS, YOUNG_COLLECTIONS, _NEVER)
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                self.look(LOOK_SECONDS)
        finally:
            gc.set_threshold(*thresholds)

    def look(self, passed_seconds: float) -> None:
        """Freeze what is new; before that go through it if it is little and there was time in the seconds that passed.

        Go through all, frozen or not, when half of the memory is used and there was time, or three quarters are; and
        again with each further eighth.
        """
        used = self._cpu_seconds() - self._used_before
        self._used_before += used
        has_time = used < IDLE_SHARE * passed_seconds
        if self._is_memory_short(has_time=has_time):
            self._collect_all()
        elif new := self._middle_count():
            if has_time and new <= MOST_NEW:
                self._collect()
            self._freeze()

    def _is_memory_short(self, *, has_time: bool) -> bool:
        used_bytes = self._resident_bytes()
        # What was much once is not for ever: what was alive then may be garbage that grows again.
        step_bytes = self._limit_bytes // 8
        self._much_bytes = max(self._limit_bytes // 2, min(self._much_bytes, used_bytes + step_bytes))
        return used_bytes >= self._much_bytes and (has_time or 4 * used_bytes >= 3 * self._limit_bytes)

    def _collect_all(self) -> None:
        began = self._cpu_seconds()
        self._unfreeze()
        found = self._collect()
        self._freeze()
        used_bytes = self._resident_bytes()
        self._much_bytes = used_bytes + self._limit_bytes // 8
        seconds = self._cpu_seconds() - began
        log.info("all_objects_collected", seconds=round(seconds, 3), found=found, resident=used_bytes)
