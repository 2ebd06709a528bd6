"""Kills kproxy once, in the middle of the demo, while records are in flight, and has it start again at once."""

from typing import Final, Protocol

from tests.demo.book import Book
from tests.demo.plan import PRODUCER

BREATH_SECONDS: Final = 0.3
"""Between the moment when others have what a sleeper slept on, and the kill: that its lock ran out is durable then."""
FRESH_WORK_SECONDS: Final = 0.05
"""So much work has to lie in what members have just got, or they would be done with it before the kill."""


class Mortal(Protocol):
    """What can be killed and comes back: `KproxyProcess`."""

    def kill_and_start_again(self) -> None:
        """Return when the old process is dead and the new one starts."""

    def answers(self) -> bool:
        """Whether the new process is up."""


class Killing:
    """Waits for the moment, kills, and notices when kproxy is back."""

    def __init__(self, kproxy: Mortal, seconds_per_record: float) -> None:
        """`seconds_per_record` is how long a member works on a record."""
        self._kproxy = kproxy
        self._seconds_per_record = seconds_per_record
        self._relieved_at: float | None = None
        self._seen: set[int] = set()

    def tend(self, book: Book, now: float) -> None:
        """Do what is due now. To be called after each look at the news."""
        if book.crash is None:
            if self._is_due(book, now):
                self._kproxy.kill_and_start_again()
                book.note_kill(now)
        elif book.crash.back_at is None and self._kproxy.answers():
            book.note_back(now)

    def _is_due(self, book: Book, now: float) -> bool:
        """After a lock has run out, so that the kill is not what brings those records back."""
        slept_on = book.in_hand(asleep=True)
        if self._relieved_at is None and slept_on and all(book.is_overtaken(one) for one in slept_on):
            self._relieved_at = now
        in_hand = set(book.in_hand(asleep=False))
        fresh_work_seconds = len(in_hand - self._seen) * self._seconds_per_record
        self._seen = in_hand
        if self._relieved_at is None or fresh_work_seconds < FRESH_WORK_SECONDS:
            return False
        return now >= self._relieved_at + BREATH_SECONDS or PRODUCER in book.finished
