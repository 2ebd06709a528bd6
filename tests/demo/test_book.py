from typing import Final

from tests.demo.book import Book
from tests.demo.events import Delivered, FellAsleep, Finished, Produced, ProducedRecord, Settled, Woke
from tests.demo.jobs import JobKind
from tests.demo.ledger import Delivery, DeliveryId, Outcome, RecordId, tally

FIRST: Final = DeliveryId(RecordId(0, 0), 1)
SECOND: Final = DeliveryId(RecordId(0, 1), 1)


def a_book() -> Book:
    return Book(["alice", "bob"])


def test_a_delivery_is_held_until_its_member_tells_how_it_ended() -> None:
    # Given
    book = a_book()
    book.note("alice", Delivered([FIRST, SECOND]), 1.0)

    # When
    book.note("alice", Settled(Outcome.ACCEPTED, [SECOND], None), 2.0)

    # Then
    assert book.deliveries == [
        Delivery("alice", FIRST, Outcome.HELD),
        Delivery("alice", SECOND, Outcome.ACCEPTED),
    ]
    assert book.settled_count == 1
    assert book.first_accepted_at == 2.0


def test_a_delivery_told_twice_stays_twice_in_the_book() -> None:
    # Given
    book = a_book()
    book.note("alice", Delivered([FIRST]), 1.0)
    book.note("alice", Delivered([FIRST]), 1.0)

    # When
    book.note("alice", Settled(Outcome.ACCEPTED, [FIRST], None), 1.0)

    # Then
    assert [one.outcome for one in book.deliveries] == [Outcome.HELD, Outcome.ACCEPTED]


def test_the_counts_shown_meanwhile_are_those_of_the_deliveries() -> None:
    # Given
    book = a_book()
    book.note("alice", Delivered([FIRST]), 1.0)
    book.note("bob", Delivered([SECOND]), 1.0)
    book.note("alice", Settled(Outcome.RELEASED, [FIRST], None), 1.0)
    again = DeliveryId(FIRST.record, 2)

    # When
    book.note("bob", Delivered([again]), 2.0)
    book.note("bob", Settled(Outcome.REJECTED, [SECOND, again], None), 2.0)

    # Then
    assert book.tallies["alice"] == tally(one for one in book.deliveries if one.member == "alice")
    assert book.tallies["bob"] == tally(one for one in book.deliveries if one.member == "bob")
    assert book.total(Outcome.REJECTED) == 2


def test_the_rate_counts_what_was_settled_in_the_last_two_seconds() -> None:
    # Given
    book = a_book()
    book.note("alice", Delivered([FIRST, SECOND]), 1.0)
    book.note("alice", Settled(Outcome.ACCEPTED, [FIRST], None), 1.0)
    book.note("alice", Settled(Outcome.REJECTED, [SECOND], None), 2.5)

    # When
    rates = [book.rate(2.5), book.rate(3.5), book.rate(5.0)]

    # Then
    assert rates == [1.0, 0.5, 0.0]


def test_what_failed_acknowledgements_were_answered_with_is_counted() -> None:
    # Given
    book = a_book()
    book.note("alice", Delivered([FIRST, SECOND]), 1.0)

    # When
    book.note("alice", Settled(Outcome.FAILED, [FIRST, SECOND], "NETWORK_EXCEPTION"), 1.0)

    # Then
    assert book.errors == {"NETWORK_EXCEPTION": 2}
    assert book.settled_count == 0


def test_a_sleeper_is_in_the_book_until_it_wakes() -> None:
    # Given
    book = a_book()
    book.note("bob", FellAsleep(18.0), 10.0)
    asleep = dict(book.asleep_until)

    # When
    book.note("bob", Woke(), 28.0)

    # Then
    assert asleep == {"bob": 28.0}
    assert book.asleep_until == {}


def test_the_book_knows_what_was_produced_and_who_is_finished() -> None:
    # Given
    book = a_book()

    # When
    book.note("producer", Produced([ProducedRecord(FIRST.record, JobKind.BUSY)]), 1.0)
    book.note("producer", Finished(), 1.0)

    # Then
    assert book.produced == {FIRST.record: JobKind.BUSY}
    assert book.finished == {"producer"}
