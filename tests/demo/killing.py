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

    is_at_work: Final = False
    """Nobody has to wait for the end of it: what comes after the kill is not to be seen in kproxy."""

    def __init__(self, kproxy: Mortal, seconds_per_record: float) -> None:
        """`seconds_per_record` is how long a member works on a record."""
        self._kproxy = kproxy
        self._moment = KillMoment(seconds_per_record)

    def tend(self, book: Book, now: float) -> None:
        """Do what is due now. To be called after each look at the news."""
        if book.outage is None:
            if self._moment.has_come(book, now):
                self._kproxy.kill_and_start_again()
                book.note_kill(now)
        elif book.outage.back_at is None and self._kproxy.answers():
            book.note_back(now)


class NoKilling:
    """Without kproxy nobody is killed."""

    is_at_work: Final = False

    def tend(self, book: Book, now: float) -> None:
        """Do nothing."""


class KillMoment:
    """After a lock has run out, so that the kill is not what brings those records back, and with work in hand."""

    def __init__(self, seconds_per_record: float) -> None:
        """`seconds_per_record` is how long a member works on a record."""
        self._fresh_work = FreshWork(seconds_per_record)
        self._relieved_at: float | None = None

    def has_come(self, book: Book, now: float) -> bool:
        """Whether it is now. To be asked after each look at the news."""
        slept_on = book.in_hand(asleep=True)
        if self._relieved_at is None and slept_on and all(book.is_overtaken(one) for one in slept_on):
            self._relieved_at = now
        has_fresh_work = self._fresh_work.is_there(book)
        if self._relieved_at is None or not has_fresh_work:
            return False
        return now >= self._relieved_at + BREATH_SECONDS or PRODUCER in book.finished


class FreshWork:
    """Whether members have just got enough to be busy with it for a moment."""

    def __init__(self, seconds_per_record: float) -> None:
        """`seconds_per_record` is how long a member works on a record."""
        self._seconds_per_record = seconds_per_record
        self._seen: set[int] = set()

    def is_there(self, book: Book) -> bool:
        """Whether it came since it was asked last. To be asked after each look at the news."""
        in_hand = set(book.in_hand(asleep=False))
        fresh_count = len(in_hand - self._seen)
        self._seen = in_hand
        return fresh_count * self._seconds_per_record >= FRESH_WORK_SECONDS
