"""`StalledHolders`: whose connections end where others wait for room and those move little of what they hold."""

from collections.abc import Mapping
from heapq import nlargest
from typing import Final

from kproxy.net.relay.memory.holder import Holder

LEAST_HELD_BYTES: Final = 1024 * 1024
"""Who holds no more than this is left alone: it is what a slow client may have of a broker's answers."""

LEAST_BYTES_A_SECOND: Final = 256 * 1024
"""How fast what others wait for has to come, or to be taken."""

MOST_ENDED: Final = 8
"""How many are ended at one look."""


class StalledHolders:
    """Remembers since which look each holds much, and how much it had moved by then.

    What is held then and now says little of that: an answer grows while it comes, and shrinks while it is taken.
    """

    __slots__ = ("_marks",)

    def __init__(self) -> None:
        self._marks: dict[Holder, tuple[int, int]] = {}

    def forget(self) -> None:
        """Begin anew: nobody waits for room."""
        self._marks.clear()

    def look(self, now_ms: int, held: Mapping[Holder, int], *, patience_ms: int) -> list[Holder]:
        """Return who is to be ended now: who held most for longest, `MOST_ENDED` at most.

        Args:
            now_ms: the moment, on a clock that does not go back.
            held: how many bytes each holds that could move.
            patience_ms: for how long one may move too little.
        """
        marks: dict[Holder, tuple[int, int]] = {}
        stalled: list[tuple[int, Holder]] = []
        for holder, held_bytes in held.items():
            if held_bytes <= LEAST_HELD_BYTES:
                continue
            since_ms, moved_before = self._marks.get(holder, (now_ms, holder.moved_bytes))
            elapsed_ms = now_ms - since_ms
            if elapsed_ms >= patience_ms > 0:
                if (holder.moved_bytes - moved_before) * 1000 >= LEAST_BYTES_A_SECOND * elapsed_ms:
                    since_ms, moved_before = now_ms, holder.moved_bytes
                else:
                    stalled.append((held_bytes * elapsed_ms, holder))
            marks[holder] = since_ms, moved_before
        self._marks = marks
        return [holder for _, holder in nlargest(MOST_ENDED, stalled, key=lambda each: each[0])]
