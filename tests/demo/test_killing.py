from dataclasses import dataclass
from typing import Final

from tests.demo.book import Book
from tests.demo.events import Delivered, FellAsleep, Finished, Settled
from tests.demo.killing import BREATH_SECONDS, Killing
from tests.demo.ledger import DeliveryId, Outcome, RecordId
from tests.demo.plan import MEMBERS, PRODUCER

SLEPT_ON: Final = RecordId(0, 0)
OTHER: Final = RecordId(0, 1)
SECONDS_PER_RECORD: Final = 0.1


@dataclass
class MortalInMemory:
    """Dies and is back when told."""

    deaths: int = 0
    is_up: bool = True

    def kill_and_start_again(self) -> None:
        self.deaths += 1
        self.is_up = False

    def answers(self) -> bool:
        return self.is_up


def a_book_with_a_sleeper() -> Book:
    book = Book(MEMBERS)
    book.note("carol", Delivered([DeliveryId(SLEPT_ON, 1)]), 1.0)
    book.note("carol", FellAsleep(18.0), 1.0)
    book.note("bob", Delivered([DeliveryId(OTHER, 1)]), 1.0)
    return book


def a_book_with_a_lock_that_ran_out() -> Book:
    book = a_book_with_a_sleeper()
    book.note("alice", Delivered([DeliveryId(SLEPT_ON, 2)]), 16.0)
    return book


def test_nobody_is_killed_while_the_sleepers_lock_runs() -> None:
    # Given
    kproxy, book = MortalInMemory(), a_book_with_a_sleeper()
    killing = Killing(kproxy, SECONDS_PER_RECORD)

    # When
    for now in range(2, 30):
        killing.tend(book, float(now))

    # Then
    assert kproxy.deaths == 0
    assert book.outage is None


def test_a_moment_after_the_lock_ran_out_kproxy_is_killed_once() -> None:
    # Given
    kproxy, book = MortalInMemory(), a_book_with_a_lock_that_ran_out()
    killing = Killing(kproxy, SECONDS_PER_RECORD)
    killing.tend(book, 16.0)
    deaths_at_once = kproxy.deaths

    # When
    book.note("bob", Settled(Outcome.ACCEPTED, [DeliveryId(OTHER, 1)], None), 16.2)
    book.note("bob", Delivered([DeliveryId(RecordId(0, 2), 1)]), 16.2)
    killing.tend(book, 16.0 + BREATH_SECONDS)
    killing.tend(book, 17.0)

    # Then
    assert (deaths_at_once, kproxy.deaths) == (0, 1)
    assert book.outage is not None
    assert book.outage.began_at == 16.0 + BREATH_SECONDS
    assert book.outage.back_at is None


def test_the_kill_waits_until_somebody_has_just_got_records() -> None:
    # Given
    kproxy, book = MortalInMemory(), a_book_with_a_lock_that_ran_out()
    killing = Killing(kproxy, SECONDS_PER_RECORD)
    killing.tend(book, 16.0)
    book.note("alice", Settled(Outcome.ACCEPTED, [DeliveryId(SLEPT_ON, 2)], None), 16.1)
    killing.tend(book, 17.0)
    deaths_before = kproxy.deaths

    # When
    book.note("bob", Delivered([DeliveryId(RecordId(0, 2), 1)]), 18.0)
    killing.tend(book, 18.0)

    # Then
    assert (deaths_before, kproxy.deaths) == (0, 1)


def test_when_there_is_nothing_more_to_come_the_kill_does_not_wait() -> None:
    # Given
    kproxy, book = MortalInMemory(), a_book_with_a_lock_that_ran_out()
    book.note(PRODUCER, Finished(), 16.0)

    # When
    Killing(kproxy, SECONDS_PER_RECORD).tend(book, 16.0)

    # Then
    assert kproxy.deaths == 1


def test_the_return_is_noted_when_kproxy_answers() -> None:
    # Given
    kproxy, book = MortalInMemory(), a_book_with_a_lock_that_ran_out()
    book.note(PRODUCER, Finished(), 16.0)
    killing = Killing(kproxy, SECONDS_PER_RECORD)
    killing.tend(book, 16.0)
    killing.tend(book, 17.0)
    kproxy.is_up = True

    # When
    killing.tend(book, 18.0)

    # Then
    assert book.outage is not None
    assert book.outage.back_at == 18.0
