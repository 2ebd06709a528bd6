from dataclasses import replace

from hypothesis import given

from kproxy.clients.history.folded_records import folded
from kproxy.statelog.actors import ACTOR_HEADER
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.wire.records import Record
from tests.worlds.histories import KEYS, History, histories

KEY = KEYS[0]


def a_history() -> History:
    history = History()
    history.claim()
    history.snapshot(KEY)
    history.update(KEY, (), 7)
    return history


@given(history=histories())
def test_records_at_hand_are_folded_as_any_others(history: History) -> None:
    # Given
    fold, other = StateLogFold(on_corrupt="skip"), StateLogFold(on_corrupt="skip")
    outcomes = [other.apply(record) for record in history.records]

    # When
    found = [folded(record, fold) for record in history.records]

    # Then
    assert [each.outcome for each in found] == outcomes
    assert fold.image() == other.image()


def test_what_stood_before_a_record_is_at_hand() -> None:
    # Given
    fold = StateLogFold(on_corrupt="skip")

    # When
    claim, snapshot, update = (folded(record, fold) for record in a_history().records)

    # Then
    assert (claim.key, snapshot.key, update.key) == (None, KEY, KEY)
    assert (claim.before, snapshot.before) == (None, None)
    assert update.before is not None
    assert update.before.start_offset < fold.states[KEY].start_offset


def test_a_record_that_is_none_says_why_and_the_fold_goes_on() -> None:
    # Given
    fold, history = StateLogFold(on_corrupt="skip"), a_history()
    corrupt = Record(b"\x00\x09", b"?", (), 0, 0)

    # When
    found = folded(corrupt, fold)

    # Then
    assert (found.decoded, found.record, found.key, found.claim_epoch, found.outcome) == (None,) * 5
    assert found.error == "unknown record type 9"
    later = [replace(record, offset=record.offset + 1) for record in history.records[:1]]
    assert [folded(record, fold).outcome for record in later] == [Outcome.CLAIMED]


def test_a_header_that_names_no_actor_is_an_error_of_its_record() -> None:
    # Given
    fold, history = StateLogFold(on_corrupt="skip"), a_history()
    claim, snapshot, _ = history.records
    folded(claim, fold)

    # When
    found = folded(replace(snapshot, headers=(*snapshot.headers, (ACTOR_HEADER, b"nobody"))), fold)

    # Then
    assert (found.decoded, found.outcome) == (None, None)
    assert "names no actor" in found.error


def test_a_record_that_cannot_follow_says_why_and_of_whom_it_speaks() -> None:
    # Given
    fold, history = StateLogFold(on_corrupt="skip"), a_history()
    for record in history.records:
        folded(record, fold)
    again = replace(history.records[1], offset=history.next_offset)

    # When
    found = folded(again, fold)

    # Then
    assert (found.key, found.outcome) == (KEY, None)
    assert "snapshot epoch" in found.error
    assert found.actors == (found.decoded.actors if found.decoded else None)
