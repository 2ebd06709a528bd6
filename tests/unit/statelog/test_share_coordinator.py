"""What each operation on share-partition state writes, answers and refuses."""

from collections.abc import Callable

import pytest

from kproxy.errors import ApiError, FencedLeaderEpoch, FencedStateEpoch, InvalidRequest
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, StateEpoch
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import NO_CHANGE, StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.share_coordinator import (
    LAST_EPOCH,
    CoordinatorLimits,
    CoordinatorResult,
    ShareCoordinator,
    require_possible_write,
)
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_records import StateTombstone
from tests.worlds.state_log_builders import (
    ALICE,
    AVAILABLE,
    BOB,
    KEY,
    OTHER_KEY,
    a_batch,
    a_delta,
    a_fold_of,
    a_snapshot,
    a_state,
    an_update,
)

NEGATIVE_KEY = SharePartitionKey(KEY.group_id, KEY.topic_id, -1)
INITIALIZATION = Actor(Cause.INITIALIZE)
TAKEOVER = Actor(Cause.LOAD)


def a_coordinator(fold: StateLogFold, *, updates_per_snapshot: int = 500) -> ShareCoordinator:
    return ShareCoordinator(fold, CoordinatorLimits(updates_per_snapshot))


def initialize(
    coordinator: ShareCoordinator,
    *,
    state_epoch: int = 1,
    start_offset: int = 0,
    key: SharePartitionKey = KEY,
) -> CoordinatorResult[None]:
    return coordinator.initialize_state(
        key, state_epoch=StateEpoch(state_epoch), start_offset=start_offset, now_ms=5000, actor=INITIALIZATION
    )


def read(
    coordinator: ShareCoordinator, *, leader_epoch: int = 0, key: SharePartitionKey = KEY
) -> CoordinatorResult[DurableShareState | None]:
    return coordinator.read_state(key, leader_epoch=LeaderEpoch(leader_epoch), now_ms=5000, actor=TAKEOVER)


def write(
    coordinator: ShareCoordinator,
    delta: StateDelta = NO_CHANGE,
    *,
    state_epoch: int = 1,
    leader_epoch: int = 0,
    key: SharePartitionKey = KEY,
) -> CoordinatorResult[None]:
    require_possible_write(key, StateEpoch(state_epoch), LeaderEpoch(leader_epoch), delta)
    return coordinator.write_state(
        key,
        state_epoch=StateEpoch(state_epoch),
        leader_epoch=LeaderEpoch(leader_epoch),
        delta=delta,
        now_ms=5000,
        actors=(ALICE, BOB),
    )


# ------------------------------------------------ initialize


@pytest.mark.parametrize(("start_offset", "complete_count"), [(-1, -1), (0, 0), (42, 0)])
def test_an_initialized_state_is_an_empty_snapshot(start_offset: int, complete_count: int) -> None:
    # When
    result = initialize(a_coordinator(StateLogFold()), state_epoch=7, start_offset=start_offset)

    # Then
    snapshot = a_snapshot(
        state_epoch=7,
        start_offset=start_offset,
        complete_count=complete_count,
        created_ms=5000,
        written_ms=5000,
    )
    assert result == CoordinatorResult(((snapshot, (INITIALIZATION,)),), None)


@pytest.mark.parametrize(("state_epoch", "start_offset"), [(2, 0), (2, -1), (1, 5)])
def test_initializing_again_begins_anew_under_the_next_snapshot_epoch(
    state_epoch: int, start_offset: int
) -> None:
    # Given
    fold = a_fold_of(a_snapshot(KEY, a_batch(12, 14), snapshot_epoch=3, leader_epoch=2, start_offset=10))

    # When
    result = initialize(a_coordinator(fold), state_epoch=state_epoch, start_offset=start_offset)

    # Then
    ((snapshot, _),) = result.records
    assert snapshot == a_snapshot(
        snapshot_epoch=4,
        state_epoch=state_epoch,
        start_offset=start_offset,
        complete_count=0 if start_offset >= 0 else -1,
        created_ms=5000,
        written_ms=5000,
    )


@pytest.mark.parametrize("start_offset", [10, -1])
def test_repeating_an_initialization_writes_nothing(start_offset: int) -> None:
    """With -1, too: since the first time a leader may have chosen the offset, and members acknowledged."""
    # Given
    fold = a_fold_of(a_snapshot(KEY, a_batch(12, 14), start_offset=10))

    # When
    result = initialize(a_coordinator(fold), start_offset=start_offset)

    # Then
    assert result == CoordinatorResult((), None)


def test_an_older_state_epoch_cannot_initialize() -> None:
    coordinator = a_coordinator(a_fold_of(a_snapshot(state_epoch=2)))

    with pytest.raises(FencedStateEpoch, match="state epoch 1 is behind 2"):
        initialize(coordinator, state_epoch=1)


# ------------------------------------------------ read and load


def test_a_read_under_the_stored_leader_epoch_writes_nothing() -> None:
    # Given
    fold = a_fold_of(a_snapshot(KEY, a_batch(12, 14), leader_epoch=3, start_offset=10))

    # When
    result = read(a_coordinator(fold), leader_epoch=3)

    # Then
    assert result == CoordinatorResult((), a_state(10, 0, a_batch(12, 14), leader_epoch=3))


def test_a_read_by_a_new_leader_stores_its_epoch() -> None:
    # Given
    fold = a_fold_of(
        a_snapshot(KEY, a_batch(12, 14), snapshot_epoch=2, leader_epoch=3, start_offset=10, complete_count=3)
    )

    # When
    result = read(a_coordinator(fold), leader_epoch=5)

    # Then
    update = an_update(snapshot_epoch=2, leader_epoch=5, start_offset=10, complete_count=3)
    assert result == CoordinatorResult(((update, (TAKEOVER,)),), None)
    fold.replay(update, claim_epoch=None, offset=fold.applied_offset + 1, timestamp_ms=5000)
    assert fold.states[KEY] == a_state(10, 3, a_batch(12, 14), leader_epoch=5, snapshot_epoch=2)


def test_an_older_leader_cannot_read() -> None:
    coordinator = a_coordinator(a_fold_of(a_snapshot(leader_epoch=2)))

    with pytest.raises(FencedLeaderEpoch, match="leader epoch 1 is behind 2"):
        read(coordinator, leader_epoch=1)


def test_a_load_takes_the_next_leader_epoch() -> None:
    # Given
    coordinator = a_coordinator(a_fold_of(a_snapshot(leader_epoch=2)))

    # When
    result = coordinator.load_state(KEY, now_ms=5000, actor=TAKEOVER)

    # Then
    ((update, _),) = result.records
    assert update == an_update(leader_epoch=3, start_offset=0)


def test_loading_what_was_never_initialized_writes_nothing() -> None:
    # Given
    coordinator = a_coordinator(StateLogFold())

    # When
    result = coordinator.load_state(KEY, now_ms=5000, actor=TAKEOVER)

    # Then
    assert result == CoordinatorResult((), None)


# ------------------------------------------------ write


def test_a_write_is_an_update_with_what_changed_and_nothing_else() -> None:
    # Given
    fold = a_fold_of(a_snapshot(KEY, a_batch(12, 14), snapshot_epoch=2, start_offset=10, complete_count=3))

    # When
    result = write(a_coordinator(fold), a_delta(10, 5, a_batch(17, 18), a_batch(20, 20, AVAILABLE)))

    # Then
    update = an_update(
        KEY,
        a_batch(17, 18),
        a_batch(20, 20, AVAILABLE),
        snapshot_epoch=2,
        start_offset=10,
        complete_count=5,
    )
    assert result == CoordinatorResult(((update, (ALICE, BOB)),), None)


def test_a_late_write_is_cut_to_what_it_can_still_say() -> None:
    """Kafka 4.3.1 would move the start offset and the count back."""
    # Given
    fold = a_fold_of(a_snapshot(start_offset=10, complete_count=3))

    # When
    result = write(a_coordinator(fold), a_delta(5, 9, a_batch(5, 12)))

    # Then
    ((update, _),) = result.records
    assert update == an_update(KEY, a_batch(10, 12), start_offset=10, complete_count=3)


@pytest.mark.parametrize("leader_epoch", [4, LAST_EPOCH])
def test_a_write_of_a_higher_leader_epoch_leaves_the_stored_one(leader_epoch: int) -> None:
    # Given
    fold = a_fold_of(a_snapshot(leader_epoch=2))

    # When
    result = write(a_coordinator(fold), a_delta(0, 1, a_batch(5, 5)), leader_epoch=leader_epoch)

    # Then
    ((update, _),) = result.records
    assert update == an_update(KEY, a_batch(5, 5), leader_epoch=2, start_offset=0, complete_count=1)


@pytest.mark.parametrize("leader_epoch", [2, 3])
def test_a_write_that_changes_nothing_writes_nothing(leader_epoch: int) -> None:
    # Given
    fold = a_fold_of(a_snapshot(leader_epoch=2))

    # When
    result = write(a_coordinator(fold), NO_CHANGE, leader_epoch=leader_epoch)

    # Then
    assert result == CoordinatorResult((), None)


def test_after_enough_updates_a_write_is_a_snapshot_of_everything() -> None:
    # Given
    fold = a_fold_of(
        a_snapshot(KEY, a_batch(12, 14), state_epoch=1, start_offset=10, complete_count=3),
        an_update(),
        an_update(),
    )

    # When
    result = write(
        a_coordinator(fold, updates_per_snapshot=2), a_delta(11, 4, a_batch(15, 16)), leader_epoch=1
    )

    # Then
    snapshot = a_snapshot(
        KEY,
        a_batch(12, 16),
        snapshot_epoch=1,
        start_offset=11,
        complete_count=4,
        created_ms=5000,
        written_ms=5000,
    )
    assert result.records == ((snapshot, (ALICE, BOB)),)


def test_before_that_it_is_an_update() -> None:
    # Given
    fold = a_fold_of(a_snapshot(), an_update())

    # When
    result = write(a_coordinator(fold, updates_per_snapshot=2), a_delta(0, 1, a_batch(5, 5)))

    # Then
    ((update, _),) = result.records
    assert update == an_update(KEY, a_batch(5, 5), start_offset=0, complete_count=1)


def test_with_no_updates_between_them_every_write_is_a_snapshot() -> None:
    # Given
    fold = a_fold_of(a_snapshot())

    # When
    result = write(a_coordinator(fold, updates_per_snapshot=0), a_delta(0, 1, a_batch(5, 5)))

    # Then
    ((snapshot, _),) = result.records
    assert snapshot == a_snapshot(
        KEY, a_batch(5, 5), snapshot_epoch=1, complete_count=1, created_ms=5000, written_ms=5000
    )


def test_an_older_leader_cannot_write() -> None:
    coordinator = a_coordinator(a_fold_of(a_snapshot(leader_epoch=2)))

    with pytest.raises(FencedLeaderEpoch, match="leader epoch 1 is behind 2"):
        write(coordinator, leader_epoch=1)


def test_a_write_to_a_state_that_was_initialized_anew_is_fenced() -> None:
    coordinator = a_coordinator(a_fold_of(a_snapshot(state_epoch=2)))

    with pytest.raises(FencedStateEpoch, match="state epoch 1 is behind 2"):
        write(coordinator, state_epoch=1)


# ------------------------------------------------ what no state could take


@pytest.mark.parametrize(
    "operation",
    [
        lambda coordinator: initialize(coordinator, key=NEGATIVE_KEY),
        lambda coordinator: initialize(coordinator, state_epoch=-1),
        lambda coordinator: initialize(coordinator, start_offset=-2),
        lambda coordinator: read(coordinator, key=NEGATIVE_KEY),
        lambda coordinator: read(coordinator, leader_epoch=-1),
        lambda coordinator: read(coordinator, key=OTHER_KEY),
        lambda coordinator: write(coordinator, key=NEGATIVE_KEY),
        lambda coordinator: write(coordinator, key=OTHER_KEY),
        lambda coordinator: write(coordinator, state_epoch=-1),
        lambda coordinator: write(coordinator, leader_epoch=-1),
        lambda coordinator: write(coordinator, a_delta(-2, 0)),
        lambda coordinator: write(coordinator, a_delta(0, -2)),
        lambda coordinator: write(coordinator, a_delta(0, 0, a_batch(-1, 5))),
        lambda coordinator: write(coordinator, a_delta(0, 0, a_batch(0, 1), a_batch(6, 5))),
        lambda coordinator: write(coordinator, a_delta(0, 0, a_batch(5, 6, AVAILABLE, -1))),
        lambda coordinator: write(coordinator, a_delta(0, 0, a_batch(5, 6, RecordState.ACQUIRED))),
        lambda coordinator: coordinator.delete_state(NEGATIVE_KEY, actor=ALICE),
        lambda coordinator: coordinator.read_summary(NEGATIVE_KEY),
    ],
)
def test_what_no_state_could_take_is_refused_as_an_invalid_request(
    operation: Callable[[ShareCoordinator], object],
) -> None:
    """As of Kafka 4.4; 4.3.1 lets some epochs of -1 pass."""
    coordinator = a_coordinator(a_fold_of(a_snapshot()))

    with pytest.raises(ApiError) as refusal:
        operation(coordinator)

    assert type(refusal.value) is InvalidRequest


# ------------------------------------------------ delete, summary


def test_a_deletion_is_a_tombstone() -> None:
    # Given
    coordinator = a_coordinator(a_fold_of(a_snapshot()))

    # When
    result = coordinator.delete_state(KEY, actor=ALICE)

    # Then
    assert result == CoordinatorResult(((StateTombstone(KEY), (ALICE,)),), None)


def test_deleting_what_is_not_there_succeeds_and_writes_nothing() -> None:
    result = a_coordinator(StateLogFold()).delete_state(KEY, actor=ALICE)

    assert result == CoordinatorResult((), None)


def test_a_summary_is_the_state_and_changes_nothing() -> None:
    # Given
    coordinator = a_coordinator(a_fold_of(a_snapshot(leader_epoch=3)))

    # When
    result = coordinator.read_summary(KEY)

    # Then
    assert result == CoordinatorResult((), a_state(leader_epoch=3))


def test_there_is_no_summary_of_what_was_never_initialized() -> None:
    assert a_coordinator(StateLogFold()).read_summary(KEY) == CoordinatorResult((), None)
