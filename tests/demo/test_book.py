from typing import Final

from tests.demo.book import Book
from tests.demo.events import Delivered, FellAsleep, Finished, Produced, ProducedRecord, Settled, Woke
from tests.demo.jobs import JobKind
from tests.demo.ledger import Delivery, DeliveryId, Outcome, RecordId, tallies_of
from tests.demo.outage import OutageKind

FIRST: Final = DeliveryId(RecordId(0, 0), 1)
SECOND: Final = DeliveryId(RecordId(0, 1), 1)
THIRD: Final = DeliveryId(RecordId(0, 2), 1)


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
    assert book.tallies == tallies_of(book.deliveries)
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


# ---- the kill


def a_book_with_a_kill() -> Book:
    """Alice had accepted one record, bob holds another, carol sleeps on a third that alice got meanwhile."""
    book = Book(["alice", "bob", "carol"])
    book.note("carol", Delivered([THIRD]), 1.0)
    book.note("carol", FellAsleep(18.0), 1.0)
    book.note("alice", Delivered([FIRST]), 2.0)
    book.note("alice", Settled(Outcome.ACCEPTED, [FIRST], None), 2.0)
    book.note("alice", Delivered([DeliveryId(THIRD.record, 2)]), 3.0)
    book.note("bob", Delivered([SECOND]), 3.0)
    book.note_kill(4.0)
    return book


def test_what_awake_members_hold_at_the_kill_is_in_flight_and_what_had_gone_to_others_is_not() -> None:
    # When
    book = a_book_with_a_kill()

    # Then
    [kill] = book.outages
    assert {book.deliveries[one].id for one in kill.in_flight} == {SECOND, DeliveryId(THIRD.record, 2)}
    assert [book.deliveries[one].id for one in kill.overtaken] == [THIRD]
    assert kill.settled_before == {FIRST.record}


def test_a_failed_acknowledgement_of_what_was_in_flight_is_the_kills() -> None:
    # Given
    book = a_book_with_a_kill()

    # When
    book.note("bob", Settled(Outcome.FAILED, [SECOND], "_TRANSPORT"), 5.0)

    # Then
    assert book.deliveries[3] == Delivery("bob", SECOND, Outcome.CUT_OFF)
    assert book.without_answer == 1
    assert book.errors == {}


def test_an_answer_that_came_before_the_kill_and_is_told_after_it_counts() -> None:
    # Given
    book = a_book_with_a_kill()

    # When
    book.note("bob", Settled(Outcome.ACCEPTED, [SECOND], None), 5.0)

    # Then
    assert book.deliveries[3] == Delivery("bob", SECOND, Outcome.ACCEPTED)
    assert book.without_answer == 0


def test_a_sleeper_whose_lock_ran_out_before_the_kill_has_timed_out_whatever_it_is_told() -> None:
    # Given
    book = a_book_with_a_kill()

    # When
    book.note("carol", Settled(Outcome.FAILED, [THIRD], "INVALID_SHARE_SESSION_EPOCH"), 19.0)

    # Then
    assert book.deliveries[0] == Delivery("carol", THIRD, Outcome.TIMED_OUT)


def test_what_a_dead_kproxy_had_sent_is_in_flight_too() -> None:
    # Given
    book = a_book_with_a_kill()
    sent_before = DeliveryId(RecordId(1, 0), 1)
    book.note("alice", Delivered([sent_before]), 4.1)
    book.note_back(5.0)

    # When
    book.note("alice", Settled(Outcome.FAILED, [sent_before], "_TRANSPORT"), 5.1)

    # Then
    assert book.deliveries[-1] == Delivery("alice", sent_before, Outcome.CUT_OFF)


def test_a_failure_of_what_the_new_process_delivered_stays_a_failure() -> None:
    # Given
    book = a_book_with_a_kill()
    book.note("bob", Settled(Outcome.FAILED, [SECOND], "_TRANSPORT"), 4.5)
    book.note_back(5.0)
    book.note("bob", Delivered([SECOND]), 6.0)

    # When
    book.note("bob", Settled(Outcome.FAILED, [SECOND], "_TRANSPORT"), 7.0)

    # Then
    assert book.deliveries[-1] == Delivery("bob", SECOND, Outcome.FAILED)
    assert book.errors == {"_TRANSPORT": 1}


def test_a_delivery_with_the_same_count_after_the_kill_is_not_the_first_of_its_record() -> None:
    # Given
    book = a_book_with_a_kill()
    book.note("bob", Settled(Outcome.FAILED, [SECOND], "_TRANSPORT"), 4.5)
    book.note_back(5.0)

    # When
    book.note("bob", Delivered([SECOND]), 6.0)
    book.note("bob", Settled(Outcome.ACCEPTED, [SECOND], None), 6.5)

    # Then
    assert book.tallies["bob"].redelivered == 1
    assert book.tallies["bob"] == tallies_of(book.deliveries)["bob"]
    assert book.without_answer == 0


def test_the_first_record_accepted_after_the_kill_is_one_that_the_new_process_delivered() -> None:
    # Given
    book = a_book_with_a_kill()
    again = DeliveryId(THIRD.record, 2)
    book.note_back(5.0)
    book.note("bob", Settled(Outcome.ACCEPTED, [SECOND], None), 5.5)
    book.note("alice", Settled(Outcome.FAILED, [again], "_TRANSPORT"), 5.5)
    book.note("alice", Delivered([again]), 6.0)

    # When
    book.note("alice", Settled(Outcome.ACCEPTED, [again], None), 6.5)

    # Then
    [kill] = book.outages
    assert kill.first_accepted_at == 6.5
    assert kill.accepted_by == {"alice"}


# ---- one of several kproxies


def test_what_comes_after_the_silence_of_a_killed_kproxy_is_anothers() -> None:
    # Given
    book = a_book_with_a_kill()
    book.note("bob", Settled(Outcome.FAILED, [SECOND], "_TRANSPORT"), 4.5)
    book.note_silence()
    book.note("bob", Delivered([SECOND]), 10.0)

    # When
    book.note("bob", Settled(Outcome.ACCEPTED, [SECOND], None), 10.5)

    # Then
    [kill] = book.outages
    assert (kill.first_accepted_at, kill.back_at) == (10.5, None)


def test_while_the_killed_kproxy_gets_its_slots_again_what_fails_was_cut_off() -> None:
    # Given
    book = a_book_with_a_kill()
    book.note_silence()
    moved = DeliveryId(RecordId(1, 0), 1)
    book.note("alice", Delivered([moved]), 12.0)

    # When
    book.note("alice", Settled(Outcome.FAILED, [moved], "NOT_LEADER_FOR_PARTITION"), 12.5)

    # Then
    assert book.deliveries[-1] == Delivery("alice", moved, Outcome.CUT_OFF)


def test_a_restart_is_an_outage_of_its_own_during_which_members_go_on() -> None:
    # Given
    book = a_book_with_a_kill()
    book.note_silence()
    book.note("bob", Settled(Outcome.ACCEPTED, [SECOND], None), 11.0)
    book.note_back(12.0)
    book.note("alice", Delivered([DeliveryId(RecordId(1, 0), 1)]), 13.0)

    # When
    book.note_restart(13.5, "kproxy 1")
    book.note("alice", Settled(Outcome.FAILED, [DeliveryId(RecordId(1, 0), 1)], "_TRANSPORT"), 14.0)
    book.note("bob", Delivered([DeliveryId(RecordId(1, 0), 1)]), 14.5)
    book.note("bob", Settled(Outcome.ACCEPTED, [DeliveryId(RecordId(1, 0), 1)], None), 15.0)

    # Then
    assert book.outage is not None
    assert (book.outage.kproxy, book.outage.kind) == ("kproxy 1", OutageKind.RESTART)
    assert book.outage.accepted_by == {"bob"}
    assert book.outage.longest_pause_seconds == 1.5
    assert book.deliveries[-2].outcome is Outcome.CUT_OFF
