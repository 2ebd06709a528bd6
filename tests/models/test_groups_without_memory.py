"""A group that knows nothing of its states, because its own records are lost: the states say where it was."""

from collections.abc import AsyncIterator

import pytest

from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.share_coordinator import CoordinatorLimits, CoordinatorResult, ShareCoordinator
from kproxy.statelog.state_records import ShareSnapshot
from tests.event_loops import async_fixture
from tests.unit.net.state_log.test_durable_state_log import HERE, THERE, Ports
from tests.worlds.state_log_builders import KEY, a_batch, a_fold_of, a_snapshot
from tests.worlds.state_logs import StateLogBacking


@async_fixture
async def ports(backing: StateLogBacking) -> AsyncIterator[Ports]:
    """The ports over slots that are loaded."""
    yield Ports(backing, await backing.ready_slots())


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


async def test_states_that_a_forgotten_group_had_begun_go_on_in_the_state_log_under_any_epoch(
    ports: Ports,
) -> None:
    """Were they begun anew, or fenced, the group would pass over records, or never fetch any more."""
    # Given
    begun = [
        PartitionInitialization(HERE, StateEpoch(3), 4),
        PartitionInitialization(THERE, StateEpoch(0), 5),
    ]
    await ports.states.initialize(begun)

    # When
    failures = await ports.states.initialize(
        [PartitionInitialization(key, StateEpoch(1), -1) for key in (HERE, THERE)]
    )

    # Then
    states = await ports.states.summaries([HERE, THERE])
    places = {
        key: (state.state_epoch, state.start_offset)
        for key, state in states.items()
        if isinstance(state, DurableShareState)
    }
    assert failures == {}
    assert places == {HERE: (3, 4), THERE: (0, 5)}
