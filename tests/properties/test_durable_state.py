"""Folding deltas: whatever the order in which they arrive, nothing moves back."""

from hypothesis import given
from hypothesis import strategies as st

from kproxy.share.identifiers import LeaderEpoch, SnapshotEpoch, StateEpoch
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.durable_state import DurableShareState, merged_delta

NEW_STATE = DurableShareState(
    state_epoch=StateEpoch(3),
    leader_epoch=LeaderEpoch(1),
    snapshot_epoch=SnapshotEpoch(2),
    start_offset=-1,
    delivery_complete_count=-1,
    state_batches=(),
)
DELTAS = st.builds(
    StateDelta,
    start_offset=st.integers(-1, 20),
    delivery_complete_count=st.integers(0, 9),
    batches=st.lists(
        st.builds(
            lambda first, length, state, count: StateBatch(first, first + length, state, count),
            first=st.integers(0, 25),
            length=st.integers(0, 5),
            state=st.sampled_from([RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED]),
            count=st.integers(1, 3),
        ),
        max_size=3,
    ).map(tuple),
)


def fold(deltas: list[StateDelta]) -> DurableShareState:
    state = NEW_STATE
    for delta in deltas:
        state = state.after(delta)
    return state


@given(deltas=st.lists(DELTAS, max_size=6), data=st.data())
def test_deltas_that_overtake_each_other_end_in_the_same_state(
    deltas: list[StateDelta], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(deltas))

    assert fold(shuffled) == fold(deltas)


@given(deltas=st.lists(DELTAS, min_size=1, max_size=6))
def test_the_start_offset_is_the_highest_ever_written_and_nothing_lies_below(
    deltas: list[StateDelta],
) -> None:
    state = fold(deltas)

    assert state.start_offset == max(delta.start_offset for delta in deltas)
    assert all(batch.first_offset >= state.start_offset for batch in state.state_batches)


@given(deltas=st.lists(DELTAS, max_size=6))
def test_the_epochs_stay(deltas: list[StateDelta]) -> None:
    state = fold(deltas)

    assert (state.state_epoch, state.leader_epoch, state.snapshot_epoch) == (3, 1, 2)


@given(before=st.lists(DELTAS, max_size=3), deltas=st.lists(DELTAS, min_size=1, max_size=5))
def test_a_merged_delta_does_what_its_parts_do_in_turn(
    before: list[StateDelta], deltas: list[StateDelta]
) -> None:
    state = fold(before)

    assert state.after(merged_delta(deltas)) == fold([*before, *deltas])
