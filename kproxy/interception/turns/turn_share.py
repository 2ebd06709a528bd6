"""`TurnShare`: how much a session does before others have a turn of the event loop, of which it knows nothing.

What is looked into whole waits for others once the turn's work is done: a request, when it is handed over, and a
response, when it is changed. What only has to be sent on waits once as much again is done, whoever did it: of thousands
of connections that each send a little the turn would have no end. One unit of work takes about a microsecond.
"""

from collections.abc import Iterable
from typing import Final

WORK_A_TURN: Final = 8 * 1024
"""What all sessions look into in a turn; the last piece that begins in it may go beyond."""

LITTLE_WORK: Final = 512
"""Who did no more lately, and has no more than so many bytes to be looked into, goes on before others."""

_TURNS_TO_HALVE: Final = 16
_MOST_RECENT_WORK: Final = WORK_A_TURN
"""What was done counts half as much after so many turns, and no more than this, so that it is soon forgotten."""

_WORK_OF_FRAME: Final = 16
_FRAME_BYTES_OF_WORK: Final = 8
_ANSWER_BYTES_OF_WORK: Final = 12
_WORK_OF_READ: Final = 20
_WORK_OF_RELAYED: Final = 3
_WORK_OF_QUESTION: Final = 10
_WORK_OF_KEY: Final = 2


def work_of_frame(frame_bytes: int) -> int:
    """Return what it takes to decode a request, or to look into a response, of so many bytes."""
    return _WORK_OF_FRAME + frame_bytes // _FRAME_BYTES_OF_WORK


def work_of_answer(buffers: Iterable[bytes | memoryview]) -> int:
    """Return what it takes to make an answer of kproxy's own that is `buffers`."""
    return sum(map(len, buffers)) // _ANSWER_BYTES_OF_WORK


def work_of_relayed(count: int) -> int:
    """Return what it takes to pass on what was read at once with so many requests in it, and their answers."""
    return _WORK_OF_READ + _WORK_OF_RELAYED * count


def work_of_questions(count: int) -> int:
    """Return what it takes to make so many requests to an older broker of one of a newer client."""
    return _WORK_OF_QUESTION * count


def work_of_search(key_count: int) -> int:
    """Return what it takes to find so many share coordinators."""
    return _WORK_OF_KEY * key_count


class CommonShare:
    """What all sessions have left of a turn together. This one, of sessions that are alone, is never used up."""

    __slots__ = ("left", "turn")

    def __init__(self) -> None:
        self.left = WORK_A_TURN
        """How much; 0 or less when whoever would look into something is to wait for another turn."""
        self.turn = 0
        """Which one it is, as far as anybody had to look; it passes in those in which much is done."""

    def spend(self, work: int) -> None:
        """Count what was done."""


_NEVER_USED_UP: Final = CommonShare()


class TurnShare:
    """What one session finds left, and how much it did lately."""

    __slots__ = ("_common", "_recent_work", "_turn")

    def __init__(self, common: CommonShare | None = None) -> None:
        self._common = _NEVER_USED_UP if common is None else common
        self._recent_work = 0
        self._turn = 0

    @property
    def is_used_up(self) -> bool:
        """Whether others are to go on before this session looks into anything."""
        return self._common.left <= 0

    @property
    def is_overdrawn(self) -> bool:
        """Whether so much was done that not even what only has to be sent on is looked at in this turn."""
        return self._common.left <= -WORK_A_TURN

    def spend(self, work: int) -> None:
        """Count what was done."""
        self._recent_work += work
        self._common.spend(work)

    def is_little(self, waiting_bytes: int) -> bool:
        """Tell whether what waits, so many bytes, is to be looked into before what others have that is more."""
        halvings = (self._common.turn - self._turn) // _TURNS_TO_HALVE
        self._turn += halvings * _TURNS_TO_HALVE
        self._recent_work = min(self._recent_work, _MOST_RECENT_WORK) >> halvings
        return waiting_bytes <= LITTLE_WORK and self._recent_work <= LITTLE_WORK
