"""Which share-partitions are snapshotted again although nobody writes them."""

import pytest

from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.share_coordinator import CoordinatorLimits, CoordinatorResult, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from tests.worlds.state_log_builders import (
    KEY,
    OTHER_KEY,
    a_batch,
    a_claimed_fold_of,
    a_snapshot,
    an_update,
)

TAKEOVER = Actor(Cause.SNAPSHOT)


def a_coordinator(fold: StateLogFold, *, updates_per_snapshot: int = 500) -> ShareCoordinator:
    return ShareCoordinator(fold, CoordinatorLimits(updates_per_snapshot))


def a_fold_with_a_cold_state(*, updates: int) -> StateLogFold:
    """`OTHER_KEY` was written at 500 ms, at offset 1; `KEY` at offset 2, and updated until 1000 ms."""
    return a_claimed_fold_of(
        a_snapshot(
            OTHER_KEY, a_batch(3, 4), snapshot_epoch=6, leader_epoch=2, created_ms=400, written_ms=500
        ),
        a_snapshot(KEY),
        *[an_update(KEY)] * updates,
    )


def test_a_cold_state_far_behind_is_snapshotted_again_as_it_is() -> None:
    # Given
    coordinator = a_coordinator(a_fold_with_a_cold_state(updates=6), updates_per_snapshot=3)

    # When
    (cold,) = coordinator.cold_keys(not_written_since_ms=501)
    result = coordinator.snapshot_state(cold, now_ms=9000, actor=TAKEOVER)

    # Then
    snapshot = a_snapshot(
        OTHER_KEY, a_batch(3, 4), snapshot_epoch=7, leader_epoch=2, created_ms=400, written_ms=9000
    )
    assert result.records == ((snapshot, (TAKEOVER,)),)


@pytest.mark.parametrize(("not_written_since_ms", "updates"), [(500, 6), (501, 4)])
def test_a_state_written_lately_or_not_far_behind_is_left_alone(
    not_written_since_ms: int, updates: int
) -> None:
    """The second: not more of the log lies behind its snapshot than it takes to snapshot everything."""
    # Given
    coordinator = a_coordinator(a_fold_with_a_cold_state(updates=updates), updates_per_snapshot=3)

    # When
    cold = coordinator.cold_keys(not_written_since_ms=not_written_since_ms)

    # Then
    assert not cold


def test_the_coldest_come_first() -> None:
    # Given
    fold = a_claimed_fold_of(
        a_snapshot(OTHER_KEY), a_snapshot(KEY), *[an_update(KEY)] * 9, a_snapshot(KEY, snapshot_epoch=1)
    )
    fold_with_both = a_claimed_fold_of(a_snapshot(OTHER_KEY), a_snapshot(KEY), *[an_update(KEY)] * 9)

    # When
    only_one = a_coordinator(fold, updates_per_snapshot=1).cold_keys(not_written_since_ms=2000)
    both = a_coordinator(fold_with_both, updates_per_snapshot=1).cold_keys(not_written_since_ms=2000)

    # Then
    assert (list(only_one), list(both)) == ([OTHER_KEY], [OTHER_KEY, KEY])


def test_what_is_gone_is_not_snapshotted() -> None:
    result = a_coordinator(StateLogFold()).snapshot_state(KEY, now_ms=9000, actor=TAKEOVER)

    assert result == CoordinatorResult((), None)
