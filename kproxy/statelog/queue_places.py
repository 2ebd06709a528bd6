"""`QueuePlaces`: how many operations may wait for one state-log partition, and which may take the last places."""

from typing import Final

from kproxy.errors import CoordinatorNotAvailable, StateNotWritten
from kproxy.statelog.operations import Operation, Write
from kproxy.wording import counted

MAX_WAITING: Final = 100_000
"""How many operations may wait for one state-log partition before newcomers are refused.

Half of these places are for writes alone: what administrators ask, and members that join, must not keep those from
writing who hold records.
"""


class QueuePlaces:
    """Counts what waits in a queue of at most `most` operations, writes and others."""

    __slots__ = ("_most", "_other_count", "_write_count")

    def __init__(self, most: int) -> None:
        self._most = most
        self._write_count = self._other_count = 0

    def __len__(self) -> int:
        """How many are taken."""
        return self._write_count + self._other_count

    def require_room(self, operation: Operation) -> None:
        """Return if there is a place for `operation`.

        Raises StateNotWritten for a write, for it is certainly not in the log, and CoordinatorNotAvailable for others.
        """
        is_write = isinstance(operation, Write)
        if len(self) < self._most and (is_write or self._other_count < self._most // 2):
            return
        kind = StateNotWritten if is_write else CoordinatorNotAvailable
        raise kind(f"the state log keeps {counted(len(self), 'operation')} waiting")

    def take(self, operation: Operation) -> None:
        """Note that `operation` waits."""
        self._change(operation, 1)

    def leave(self, operation: Operation, count: int = 1) -> None:
        """Note that `operation`, or so many of its kind, wait no more."""
        self._change(operation, -count)

    def _change(self, operation: Operation, by: int) -> None:
        if isinstance(operation, Write):
            self._write_count += by
        else:
            self._other_count += by
