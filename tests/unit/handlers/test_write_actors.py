"""Who stands behind a write: each range of a delta has exactly one actor."""

from hypothesis import given
from hypothesis import strategies as st

from kproxy.handlers.write_actors import (
    Client,
    Holder,
    acknowledged_by,
    holders_due,
    log_start_moved,
    released_by,
    timed_out,
)
from kproxy.share.identifiers import MemberId
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import InFlightRangeView, SharePartitionView
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause
from tests.unit.handlers.share_group_world import ShareGroupWorld

ALICE, BOB = MemberId("alice"), MemberId("bob")
CLIENT = Client("client-1", "/10.0.0.7")
AVAILABLE, ACKNOWLEDGED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


def a_delta(*batches: tuple[int, int, RecordState]) -> StateDelta:
    return StateDelta(0, 0, tuple(StateBatch(first, last, state, 1) for first, last, state in batches))


def test_an_acknowledgement_has_one_actor_whatever_became_of_the_records() -> None:
    # When
    actors = acknowledged_by(
        ALICE, CLIENT, a_delta((0, 4, ACKNOWLEDGED), (5, 6, ARCHIVED), (9, 9, AVAILABLE))
    )

    # Then
    assert actors == (Actor(Cause.ACKNOWLEDGE, "alice", "client-1", "/10.0.0.7", ((0, 6), (9, 9))),)


def test_what_a_closed_session_gave_back_for_the_last_time_was_the_delivery_limit() -> None:
    # When
    actors = released_by(ALICE, CLIENT, a_delta((0, 4, AVAILABLE), (5, 6, ARCHIVED), (7, 9, AVAILABLE)))

    # Then
    assert actors == (
        Actor(Cause.SESSION_CLOSE, "alice", "client-1", "/10.0.0.7", ((0, 4), (7, 9))),
        Actor(Cause.DELIVERY_LIMIT, "alice", "client-1", "/10.0.0.7", ((5, 6),)),
    )


def test_locks_that_end_name_each_member_that_lost_records() -> None:
    # Given
    holders = [Holder(0, 4, ALICE), Holder(5, 9, BOB), Holder(12, 12, ALICE)]

    # When
    actors = timed_out(holders, a_delta((0, 6, AVAILABLE), (7, 9, ARCHIVED), (12, 12, AVAILABLE)))

    # Then
    assert actors == (
        Actor(Cause.LOCK_TIMEOUT, "alice", offset_ranges=((0, 4), (12, 12))),
        Actor(Cause.LOCK_TIMEOUT, "bob", offset_ranges=((5, 6),)),
        Actor(Cause.DELIVERY_LIMIT, "bob", offset_ranges=((7, 9),)),
    )


def test_only_locks_that_are_due_have_holders() -> None:
    # Given
    def a_run(first_offset: int, member_id: MemberId | None, deadline_ms: int | None) -> InFlightRangeView:
        return InFlightRangeView(first_offset, first_offset, RecordState.ACQUIRED, 1, member_id, deadline_ms)

    runs = (a_run(0, ALICE, 999), a_run(1, BOB, 1_001), a_run(2, None, None), a_run(3, BOB, 1_000))
    view = SharePartitionView(ShareGroupWorld.key(), 0, 3, 4, 0, runs)

    # When
    holders = holders_due(view, 1_000)

    # Then
    assert holders == (Holder(0, 0, ALICE), Holder(3, 3, BOB))


def test_a_log_start_that_moved_has_an_actor_without_a_range() -> None:
    assert log_start_moved() == (Actor(Cause.LOG_START_MOVED),)


@given(
    st.lists(st.tuples(st.sampled_from([ALICE, BOB]), st.sampled_from([AVAILABLE, ARCHIVED])), max_size=12)
)
def test_every_offset_whose_lock_ended_has_exactly_one_actor(
    records: list[tuple[MemberId, RecordState]],
) -> None:
    # Given
    holders = [Holder(offset, offset, member_id) for offset, (member_id, _) in enumerate(records)]
    delta = a_delta(*((offset, offset, state) for offset, (_, state) in enumerate(records)))

    # When
    actors = timed_out(holders, delta)

    # Then
    named = [
        (offset, actor.member_id, actor.cause is Cause.DELIVERY_LIMIT)
        for actor in actors
        for first_offset, last_offset in actor.offset_ranges
        for offset in range(first_offset, last_offset + 1)
    ]
    assert sorted(named) == [
        (offset, member_id, state is ARCHIVED) for offset, (member_id, state) in enumerate(records)
    ]
