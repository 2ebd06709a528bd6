"""Folding one delta; `tests/properties/test_durable_state.py` folds many."""

import pytest

from kproxy.share.identifiers import LeaderEpoch, SnapshotEpoch, StateEpoch
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import NO_CHANGE, StateBatch, StateDelta
from kproxy.statelog.durable_state import DurableShareState, merged_delta

ACCEPTED = RecordState.ACKNOWLEDGED


def a_state(start_offset: int, complete_count: int, *batches: StateBatch) -> DurableShareState:
    return DurableShareState(
        StateEpoch(3), LeaderEpoch(1), SnapshotEpoch(2), start_offset, complete_count, batches
    )


def test_a_write_adds_its_batches_and_drops_what_lies_below_its_start_offset() -> None:
    # Given
    state = a_state(10, 5, StateBatch(15, 19, ACCEPTED, 1))

    # When
    after = state.after(StateDelta(17, 4, (StateBatch(22, 23, ACCEPTED, 1),)))

    # Then
    assert after == a_state(17, 4, StateBatch(17, 19, ACCEPTED, 1), StateBatch(22, 23, ACCEPTED, 1))


def test_a_late_write_moves_nothing_back() -> None:
    # Given
    state = a_state(10, 5)

    # When
    after = state.after(StateDelta(7, 9, (StateBatch(7, 12, ACCEPTED, 1),)))

    # Then
    assert after == a_state(10, 5, StateBatch(10, 12, ACCEPTED, 1))


@pytest.mark.parametrize(("complete_count", "expected"), [(4, 5), (6, 6)])
def test_at_the_same_start_offset_the_higher_count_stays(complete_count: int, expected: int) -> None:
    # Given
    state = a_state(10, 5)

    # When
    after = state.after(StateDelta(10, complete_count, ()))

    # Then
    assert after == a_state(10, expected)


@pytest.mark.parametrize("start_offset", [-1, 10])
def test_the_empty_delta_changes_nothing(start_offset: int) -> None:
    # Given
    state = a_state(start_offset, 5, StateBatch(15, 19, ACCEPTED, 1))

    # When
    after = state.after(NO_CHANGE)

    # Then
    assert after == state


def test_a_write_without_a_start_offset_leaves_it_and_its_count_unknown() -> None:
    # Given
    state = a_state(-1, -1)

    # When
    after = state.after(StateDelta(-1, 3, (StateBatch(5, 7, ACCEPTED, 1),)))

    # Then
    assert after == a_state(-1, -1, StateBatch(5, 7, ACCEPTED, 1))


def test_the_first_write_chooses_the_start_offset() -> None:
    # Given
    state = a_state(-1, -1)

    # When
    after = state.after(StateDelta(42, 1, (StateBatch(43, 43, ACCEPTED, 1),)))

    # Then
    assert after == a_state(42, 1, StateBatch(43, 43, ACCEPTED, 1))


def test_a_write_by_a_new_leader_changes_the_leader_epoch_too() -> None:
    # Given
    state = a_state(10, 5)

    # When
    after = state.after_write(NO_CHANGE, LeaderEpoch(4))

    # Then
    assert after == DurableShareState(StateEpoch(3), LeaderEpoch(4), SnapshotEpoch(2), 10, 5, ())


def test_one_delta_is_merged_into_itself() -> None:
    delta = StateDelta(7, 9, (StateBatch(17, 18, ACCEPTED, 1), StateBatch(2, 3, ACCEPTED, 1)))

    assert merged_delta([delta]) is delta


@pytest.mark.parametrize(
    ("second", "merged"),
    [
        (StateDelta(9, 1, ()), StateDelta(9, 1, (StateBatch(9, 12, ACCEPTED, 1),))),
        (StateDelta(7, 6, ()), StateDelta(7, 6, (StateBatch(8, 12, ACCEPTED, 1),))),
        (StateDelta(-1, 8, ()), StateDelta(7, 5, (StateBatch(8, 12, ACCEPTED, 1),))),
        (
            StateDelta(7, 5, (StateBatch(13, 14, ACCEPTED, 1),)),
            StateDelta(7, 5, (StateBatch(8, 14, ACCEPTED, 1),)),
        ),
    ],
)
def test_of_two_deltas_the_higher_start_offset_counts_and_batches_are_laid_over_each_other(
    second: StateDelta, merged: StateDelta
) -> None:
    # Given
    first = StateDelta(7, 5, (StateBatch(8, 12, ACCEPTED, 1),))

    # When
    delta = merged_delta([first, second])

    # Then
    assert delta == merged
