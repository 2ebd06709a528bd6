"""When CPython looks through all objects for those that only hold each other: seldom, and when there is time.

A full collection walks over everything that is alive, and nobody is served meanwhile: 100 ms a million objects. CPython
by itself begins one as soon as a quarter as many objects are new as are old, which is in the middle of the largest
requests. Reference counts free nearly everything here, so next to nothing is ever found.
"""

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Final

YOUNG_OBJECTS: Final = 10_000
"""New objects that are looked through together for cycles: some 0.5 ms. Hardly any are in one, and to look after every
700, as CPython does by itself, takes several hundredths of what a share fetch costs."""

YOUNG_COLLECTIONS: Final = 3
"""After so many of these what they left is looked through once more, 40,000 objects at most: some 5 ms."""

_NEVER: Final = 1_000_000_000

LOOK_SECONDS: Final = 5.0

LEAST_BETWEEN: Final = 25
"""Middle collections, each after 40,000 objects more, before a full one is worth its time, when there is time."""

MOST_BETWEEN: Final = 100
"""When so many were, there is no waiting for time: what is garbage by then is some hundred megabytes at most."""

IDLE_SHARE: Final = 0.25
"""There is time when the process has used less than this share of the seconds that passed."""


def _middle_count() -> int:
    return gc.get_count()[2]


class FullCollections:
    """Begins full collections while `run` goes on, which is for ever; CPython begins none by itself then.

    Args:
        collect: the collection itself.
        middle_count: how many collections of the middle generation there were since the last full one.
        cpu_seconds: what the process has used so far.
    """

    def __init__(
        self,
        *,
        collect: Callable[[], object] = gc.collect,
        middle_count: Callable[[], int] = _middle_count,
        cpu_seconds: Callable[[], float] = time.process_time,
    ) -> None:
        self._collect = collect
        self._middle_count = middle_count
        self._cpu_seconds = cpu_seconds
        self._used_before = cpu_seconds()

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
        """Collect if it is worth it and there was time in the seconds that passed, or if it is overdue."""
        used = self._cpu_seconds() - self._used_before
        self._used_before += used
        between = self._middle_count()
        has_time = used < IDLE_SHARE * passed_seconds
        if between >= MOST_BETWEEN or (has_time and between >= LEAST_BETWEEN):
            self._collect()
