"""What a read of several share-partitions has found while a part of it takes long.

Usually all leaders answer within milliseconds, and then nobody has to be told of one that was a little faster.
"""

import asyncio
from collections.abc import Iterable
from itertools import chain
from types import TracebackType
from typing import Final, Self

from kproxy.handlers.ports import OnEarly, PartitionRead

PATIENCE_SECONDS: Final = 0.05
"""After this time a read takes long."""


class EarlyReads:
    """Tells `on_early` when a read takes long, and, once each, which parts of it came. Leaving it ends that."""

    __slots__ = ("_came", "_is_late", "_on_early", "_timer")

    def __init__(self, on_early: OnEarly | None) -> None:
        self._on_early = on_early
        self._came: list[Iterable[PartitionRead]] = []
        self._is_late = False
        self._timer: asyncio.TimerHandle | None = None
        if on_early is not None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._be_late)

    def came(self, reads: Iterable[PartitionRead]) -> None:
        """Note that `reads` have their results; they are gone through when they are told of."""
        if self._on_early is not None:
            self._came.append(reads)
            if self._is_late:
                self._tell()

    def _be_late(self) -> None:
        self._is_late = True
        self._tell()

    def _tell(self) -> None:
        assert self._on_early is not None
        came, self._came = self._came, []
        self._on_early(chain.from_iterable(came))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
