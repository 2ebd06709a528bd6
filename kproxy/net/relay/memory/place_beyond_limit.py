"""`PlaceBeyondLimit`: who is read on whatever is held, for how long, and who is next."""

from collections.abc import Hashable
from enum import Enum, auto
from typing import Final

from kproxy.net.relay.memory.waiting_line import WaitingLine

MOST_ANSWERS_IN_A_ROW: Final = 8
"""How many answers of brokers have the place before a request has it that waits as well."""

LEAST_BYTES_A_SECOND: Final = 1024 * 1024
"""How fast a frame that others wait for has to come to its end, beside a tenth of a frame deadline for each. Its socket
is read 256 kB at once, so turns of a quarter of a second are quick enough."""

LITTLE_BYTES: Final = 8 * 1024
"""Who brings less than this in `MOST_LOOKS` looks and `LEAST_MS` may have the place no longer, though it may go on in
its next turn. Who is slow and steady keeps it: where all have turns with a part of their frames, none is whole."""

MOST_LOOKS: Final = 3
"""Not milliseconds alone: a loop that stood still has read nobody in that time."""

LEAST_MS: Final = 250
"""Nor looks alone: so long may a packet take that was lost, or one way and back."""


class Verdict(Enum):
    """What becomes of who has the place."""

    STAYS = auto()
    BRINGS_LITTLE = auto()
    OVERSTAYS = auto()


class PlaceBeyondLimit:
    """Remembers who has the place since when, and what it held then; time begins with the first look at it."""

    __slots__ = (
        "_answers_in_a_row",
        "_is_smallest_next",
        "_looks",
        "_most_bytes",
        "_since_ms",
        "_then_bytes",
        "_window_bytes",
        "_window_ms",
        "held_before",
        "owner",
    )

    def __init__(self) -> None:
        self.owner: Hashable | None = None
        self.held_before = 0
        """What it held when it was given."""
        self._answers_in_a_row = 0
        """How many had it last; 0 when the last one was a request."""
        self._is_smallest_next = True
        self.forget_time()

    @property
    def is_for_answer(self) -> bool:
        """Whether what was let in last is an answer of a broker."""
        return self._answers_in_a_row > 0

    def give(self, owner: Hashable, *, is_answer: bool, held_bytes: int) -> None:
        """Let `owner` have it, which holds so much now, with the answer of a broker or with a request."""
        self.owner, self.held_before = owner, held_bytes
        self._answers_in_a_row = self._answers_in_a_row + 1 if is_answer else 0
        self.forget_time()

    def leave(self) -> None:
        """Let nobody have it."""
        self.owner = None

    def forget_time(self) -> None:
        """Let the time begin anew: nobody else waits."""
        self._since_ms: int | None = None
        self._then_bytes = self._most_bytes = self._window_bytes = 0
        self._looks = self._window_ms = 0

    def look(self, now_ms: int, held_bytes: int, *, patience_ms: int, most_ms: int) -> Verdict:
        """Return what becomes of who has it, and holds so much by now, while others wait.

        It overstays after `patience_ms` and what `LEAST_BYTES_A_SECOND` grant it for what came, or after `most_ms`.
        """
        if self._since_ms is None:
            self._since_ms = self._window_ms = now_ms
            self._then_bytes = self._most_bytes = self._window_bytes = held_bytes
            return Verdict.STAYS
        self._most_bytes = max(held_bytes, self._most_bytes)
        earned_ms = (self._most_bytes - self._then_bytes) * 1000 // LEAST_BYTES_A_SECOND
        if now_ms - self._since_ms >= min(most_ms, patience_ms + earned_ms):
            return Verdict.OVERSTAYS
        self._looks += 1
        if self._most_bytes - self._window_bytes >= LITTLE_BYTES:
            self._window_bytes, self._window_ms, self._looks = self._most_bytes, now_ms, 0
        is_slow = self._looks >= MOST_LOOKS and now_ms - self._window_ms >= LEAST_MS
        return Verdict.BRINGS_LITTLE if is_slow else Verdict.STAYS

    def next_of(self, requests: WaitingLine, answers: WaitingLine) -> Hashable:
        """Return who has it next: one of either, of which one at least is not empty."""
        if answers and (self._answers_in_a_row < MOST_ANSWERS_IN_A_ROW or not requests):
            return answers.oldest()
        self._is_smallest_next = not self._is_smallest_next
        return requests.oldest() if self._is_smallest_next else requests.smallest()
