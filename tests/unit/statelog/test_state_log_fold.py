"""The fold of a state-log partition. `tests/properties/test_fuzzed_state_log.py` folds what no kproxy wrote."""

from dataclasses import replace

import pytest

from kproxy.errors import CorruptStateRecord, SnapshotMissing
from kproxy.statelog.state_log_fold import NO_CLAIM, NO_OFFSET, Outcome, SnapshotPlace, StateLogFold
from kproxy.statelog.state_records import StateRecord, StateTombstone, encode_state_record
from tests.worlds.state_log_builders import (
    AVAILABLE,
    KEY,
    OTHER_KEY,
    a_batch,
    a_claim,
    a_claimed_fold_of,
    a_fold_of,
    a_snapshot,
    a_state,
    an_update,
)


def test_a_fold_of_nothing_is_empty() -> None:
    # When
    fold = StateLogFold()

    # Then
    assert (dict(fold.states), dict(fold.places)) == ({}, {})
    assert (fold.claim_epoch, fold.applied_offset, fold.recovery_point()) == (NO_CLAIM, NO_OFFSET, 0)


def test_a_snapshot_is_the_state() -> None:
    # When
    fold = a_fold_of(
        a_snapshot(
            KEY,
            a_batch(12, 14),
            snapshot_epoch=3,
            state_epoch=7,
            leader_epoch=2,
            start_offset=10,
            complete_count=3,
        ),
        first_offset=40,
    )

    # Then
    assert dict(fold.states) == {
        KEY: a_state(10, 3, a_batch(12, 14), state_epoch=7, leader_epoch=2, snapshot_epoch=3)
    }


def test_equal_neighbours_of_a_snapshot_are_joined() -> None:
    """Kafka 4.3.1 may leave them apart."""
    # When
    fold = a_fold_of(a_snapshot(KEY, a_batch(0, 4), a_batch(5, 9)))

    # Then
    assert fold.states[KEY].state_batches == (a_batch(0, 9),)


def test_updates_are_laid_over_their_snapshot() -> None:
    # When
    fold = a_fold_of(
        a_snapshot(),
        an_update(KEY, a_batch(5, 9), start_offset=0, complete_count=5, leader_epoch=1),
        an_update(KEY, a_batch(0, 1, AVAILABLE), start_offset=0, complete_count=5, leader_epoch=1),
    )

    # Then
    assert fold.states[KEY] == a_state(0, 5, a_batch(0, 1, AVAILABLE), a_batch(5, 9), leader_epoch=1)


def test_a_late_update_moves_nothing_back() -> None:
    # When
    fold = a_fold_of(
        a_snapshot(start_offset=10, complete_count=4), an_update(start_offset=5, complete_count=9)
    )

    # Then
    assert fold.states[KEY] == a_state(10, 4)


def test_a_tombstone_ends_the_state() -> None:
    # When
    fold = a_fold_of(a_snapshot(), a_snapshot(OTHER_KEY), StateTombstone(KEY))

    # Then
    assert set(fold.states) == set(fold.places) == {OTHER_KEY}


def test_an_early_deletion_marker_ends_the_state() -> None:
    # Given
    fold = a_fold_of(a_snapshot(), a_snapshot(OTHER_KEY))
    mark = encode_state_record(a_snapshot(snapshot_epoch=-1), claim_epoch=None, actors=())

    # When
    fold.apply(replace(mark, offset=2))

    # Then
    assert set(fold.states) == set(fold.places) == {OTHER_KEY}


def test_after_a_tombstone_everything_begins_at_zero_again() -> None:
    # When
    fold = a_fold_of(a_snapshot(snapshot_epoch=5, state_epoch=9), StateTombstone(KEY), a_snapshot())

    # Then
    assert fold.states[KEY] == a_state()


def test_the_fold_remembers_where_the_newest_snapshot_stands_and_what_followed() -> None:
    # Given
    fold = a_fold_of(a_snapshot(created_ms=500, written_ms=700), first_offset=40)

    # When
    fold.replay(an_update(), claim_epoch=None, offset=41, timestamp_ms=900)

    # Then
    assert fold.places[KEY] == SnapshotPlace(
        snapshot_offset=40, updates_since=1, create_timestamp_ms=500, written_ms=900
    )


def test_a_new_snapshot_begins_the_count_of_updates_anew() -> None:
    # When
    fold = a_fold_of(a_snapshot(), an_update(), a_snapshot(snapshot_epoch=1, written_ms=1500))

    # Then
    assert fold.places[KEY] == SnapshotPlace(2, 0, 1000, 1500)


def test_a_claim_has_its_own_offset_for_an_epoch() -> None:
    # Given
    fold = StateLogFold()

    # When
    outcome = fold.replay(a_claim(), claim_epoch=None, offset=17, timestamp_ms=0)

    # Then
    assert outcome is Outcome.CLAIMED
    assert (fold.claim_epoch, fold.applied_offset) == (17, 17)


def test_a_record_of_the_newest_claim_counts() -> None:
    # Given
    fold = a_claimed_fold_of()

    # When
    outcome = fold.replay(a_snapshot(), claim_epoch=0, offset=1, timestamp_ms=0)

    # Then
    assert outcome is Outcome.APPLIED
    assert KEY in fold.states


def test_a_record_of_an_older_claim_is_ignored() -> None:
    # Given
    fold = a_claimed_fold_of(a_snapshot())
    fold.replay(a_claim(), claim_epoch=None, offset=2, timestamp_ms=0)

    # When
    outcome = fold.replay(StateTombstone(KEY), claim_epoch=0, offset=3, timestamp_ms=0)

    # Then
    assert outcome is Outcome.IGNORED_STALE_CLAIM
    assert KEY in fold.states
    assert fold.applied_offset == 3


def test_a_record_without_a_claim_is_ignored_once_there_was_one() -> None:
    # Given
    fold = a_claimed_fold_of()

    # When
    outcome = fold.replay(a_snapshot(), claim_epoch=None, offset=1, timestamp_ms=0)

    # Then
    assert outcome is Outcome.IGNORED_UNCLAIMED
    assert not fold.states


def test_records_from_before_any_claim_were_imported_and_count() -> None:
    # Given
    fold = a_fold_of(a_snapshot())

    # When
    fold.replay(a_claim(), claim_epoch=None, offset=1, timestamp_ms=0)

    # Then
    assert KEY in fold.states


def test_whoever_begins_behind_a_claim_learns_it_from_the_first_record_that_names_it() -> None:
    # When
    fold = a_fold_of(a_snapshot(), first_offset=100, claim_epoch=40)

    # Then
    assert fold.claim_epoch == 40
    assert KEY in fold.states


@pytest.mark.parametrize("late_claim", [None, 10])
def test_what_was_taken_before_a_claim_was_learnt_came_late_and_is_forgotten(late_claim: int | None) -> None:
    # Given
    fold = a_fold_of(a_snapshot(OTHER_KEY), first_offset=100, claim_epoch=late_claim)
    fold.replay(an_update(), claim_epoch=late_claim, offset=101, timestamp_ms=0)

    # When
    fold.replay(a_snapshot(KEY), claim_epoch=40, offset=102, timestamp_ms=0)

    # Then
    assert set(fold.states) == set(fold.places) == {KEY}
    fold.require_snapshots()


def test_what_came_before_a_claim_record_that_was_skipped_stays() -> None:
    # Given
    fold = a_claimed_fold_of(a_snapshot(KEY))

    # When
    outcome = fold.replay(a_snapshot(OTHER_KEY), claim_epoch=2, offset=3, timestamp_ms=0)

    # Then
    assert outcome is Outcome.APPLIED
    assert set(fold.states) == {KEY, OTHER_KEY}
    assert fold.claim_epoch == 2


def test_a_claim_cannot_stand_behind_its_records() -> None:
    # Given
    fold = a_fold_of(a_snapshot())

    # When
    with pytest.raises(CorruptStateRecord, match="claim epoch 9"):
        fold.replay(an_update(), claim_epoch=9, offset=9, timestamp_ms=0)

    # Then
    assert fold.claim_epoch == NO_CLAIM


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (a_snapshot(snapshot_epoch=4), "regressing snapshot epoch 4"),
        (a_snapshot(snapshot_epoch=3), "regressing snapshot epoch 3"),
        (a_snapshot(snapshot_epoch=5, state_epoch=6), "regressing state epoch 6"),
        (a_snapshot(snapshot_epoch=5, state_epoch=7, leader_epoch=1), "regressing leader epoch 1"),
        (an_update(snapshot_epoch=4, leader_epoch=1), "regressing leader epoch 1"),
        (an_update(snapshot_epoch=3, leader_epoch=2), "an update to snapshot 3"),
        (an_update(snapshot_epoch=5, leader_epoch=2), "an update to snapshot 5"),
    ],
)
def test_an_epoch_never_regresses(record: StateRecord, reason: str) -> None:
    # Given
    fold = a_fold_of(a_snapshot(snapshot_epoch=4, state_epoch=7, leader_epoch=2))
    before = dict(fold.states)

    # When
    with pytest.raises(CorruptStateRecord, match=reason):
        fold.replay(record, claim_epoch=None, offset=1, timestamp_ms=0)

    # Then
    assert dict(fold.states) == before


@pytest.mark.parametrize(
    "record",
    [
        a_snapshot(snapshot_epoch=5, state_epoch=7, leader_epoch=2),
        a_snapshot(snapshot_epoch=6, state_epoch=7, leader_epoch=0),
        a_snapshot(snapshot_epoch=5, state_epoch=8, leader_epoch=1),
        an_update(snapshot_epoch=4, leader_epoch=2),
        an_update(snapshot_epoch=4, leader_epoch=3),
    ],
)
def test_epochs_that_stay_or_rise_are_taken(record: StateRecord) -> None:
    # Given
    fold = a_fold_of(a_snapshot(snapshot_epoch=4, state_epoch=7, leader_epoch=2))

    # When
    outcome = fold.replay(record, claim_epoch=None, offset=1, timestamp_ms=0)

    # Then
    assert outcome is Outcome.APPLIED


def test_an_update_on_the_way_to_the_snapshot_is_passed_over() -> None:
    # Given
    fold = StateLogFold()

    # When
    outcome = fold.replay(an_update(), claim_epoch=None, offset=5, timestamp_ms=0)

    # Then
    assert outcome is Outcome.IGNORED_NO_SNAPSHOT
    assert not fold.states


def test_updates_whose_snapshot_never_came_are_reported() -> None:
    # Given
    fold = a_fold_of(a_snapshot(OTHER_KEY))
    fold.replay(an_update(), claim_epoch=None, offset=5, timestamp_ms=0)
    fold.replay(an_update(), claim_epoch=None, offset=6, timestamp_ms=0)

    # When
    with pytest.raises(SnapshotMissing, match=f"{KEY}") as missing:
        fold.require_snapshots()

    # Then
    assert missing.value.offset == 5


@pytest.mark.parametrize("end", [a_snapshot(), StateTombstone(KEY)])
def test_updates_are_no_riddle_once_a_snapshot_or_a_tombstone_followed(end: StateRecord) -> None:
    # Given
    fold = StateLogFold()
    fold.replay(an_update(), claim_epoch=None, offset=5, timestamp_ms=0)

    # When
    fold.replay(end, claim_epoch=None, offset=6, timestamp_ms=0)

    # Then
    fold.require_snapshots()


def test_recovery_begins_at_the_lowest_of_the_newest_snapshots() -> None:
    # When
    fold = a_claimed_fold_of(
        a_snapshot(KEY), a_snapshot(OTHER_KEY), an_update(KEY), a_snapshot(KEY, snapshot_epoch=1)
    )

    # Then
    assert fold.recovery_point() == 2


def test_without_live_states_recovery_begins_at_the_last_record_that_counted() -> None:
    """It names the claim, so that a record of an older claim behind it is known for what it is."""
    # Given
    fold = a_claimed_fold_of(a_snapshot(KEY), StateTombstone(KEY))

    # When
    fold.replay(a_snapshot(KEY), claim_epoch=None, offset=9, timestamp_ms=0)

    # Then
    assert fold.recovery_point() == 2


def test_offsets_ascend() -> None:
    fold = a_fold_of(a_snapshot(), first_offset=4)

    with pytest.raises(AssertionError, match="offset 4 after 4"):
        fold.replay(an_update(), claim_epoch=None, offset=4, timestamp_ms=0)


def test_a_fold_goes_on_from_the_image_of_another_as_if_it_were_the_same() -> None:
    # Given
    whole = a_fold_of(a_snapshot(), a_snapshot(OTHER_KEY), first_offset=40)
    image = whole.image()

    # When
    resumed = StateLogFold.resume(image)
    for fold in (whole, resumed):
        fold.replay(an_update(KEY, a_batch(0, 4)), claim_epoch=None, offset=50, timestamp_ms=1)

    # Then
    assert resumed.image() == whole.image()
    assert image.applied_offset == 41
    assert image.places[KEY].updates_since == 0
    assert resumed.recovery_point() == 40
