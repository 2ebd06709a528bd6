"""A group that knows nothing of its states, because its own records are lost: the states say where it was."""

import pytest

from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.share_coordinator import CoordinatorLimits, CoordinatorResult, ShareCoordinator
from kproxy.statelog.state_records import ShareSnapshot
from tests.worlds.state_log_builders import KEY, a_batch, a_fold_of, a_snapshot


def begin(coordinator: ShareCoordinator, *, state_epoch: int, start_offset: int) -> CoordinatorResult[None]:
    return coordinator.begin_state(
        KEY,
        state_epoch=StateEpoch(state_epoch),
        start_offset=start_offset,
        now_ms=5000,
        actor=Actor(Cause.INITIALIZE),
    )


@pytest.mark.parametrize("state_epoch", [0, 1, 2])
def test_a_group_that_lost_its_memory_begins_where_the_state_is(state_epoch: int) -> None:
    # Given
    fold = a_fold_of(a_snapshot(KEY, a_batch(12, 14), start_offset=10))

    # When
    result = begin(ShareCoordinator(fold, CoordinatorLimits()), state_epoch=state_epoch, start_offset=-1)

    # Then
    assert result == CoordinatorResult((), None)


@pytest.mark.parametrize(("state_epoch", "epoch_after"), [(2, 3), (4, 4)])
def test_a_state_that_was_never_read_begins_where_the_group_says_under_no_lower_epoch(
    state_epoch: int, epoch_after: int
) -> None:
    # Given
    fold = a_fold_of(a_snapshot(state_epoch=3, start_offset=-1, complete_count=-1))

    # When
    result = begin(ShareCoordinator(fold, CoordinatorLimits()), state_epoch=state_epoch, start_offset=0)

    # Then
    ((snapshot, _),) = result.records
    assert isinstance(snapshot, ShareSnapshot)
    assert (snapshot.state_epoch, snapshot.start_offset) == (epoch_after, 0)
