"""`TurnShare`: how much sessions do at once before others have a turn of the event loop."""

from collections.abc import Iterable
from typing import Final

WORK_A_TURN: Final = 8 * 1024
"""What is done at once in a turn, some 10 ms: a unit is what a byte of a small request takes that is held."""

WORK_OF_RELAYED: Final = 4
"""What a request that streams on takes."""

WORK_OF_QUESTION: Final = 8
"""What a request to an older broker takes that one of a newer client becomes."""

_ANSWER_BYTES_OF_WORK: Final = 16


def work_of_answer(buffers: Iterable[bytes | memoryview]) -> int:
    """Return what it takes to make an answer of kproxy's own that is `buffers`."""
    return sum(map(len, buffers)) // _ANSWER_BYTES_OF_WORK


class TurnShare:
    """What is left of that. This one belongs to a session alone, whose next call is another turn when nothing is left.

    Whoever finds nothing left does no more. Who finds little does one piece all the same, so it may be overdrawn.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = WORK_A_TURN
        """How much; 0 or less when others are to go on."""

    def enter(self) -> None:
        """Take note that the session was called, and found nothing left."""
        self.left = WORK_A_TURN

    def spend(self, work: int) -> None:
        """Count what was done."""
        self.left -= work
