"""Who stands behind a write: each range of a delta has exactly one actor."""

from hypothesis import given
from hypothesis import strategies as st

from kproxy.handlers.live.write_actors import (
    UNKNOWN_CLIENT,
    Client,
    Holder,
    acknowledged_by,
    holders_due,
    log_start_moved,
    released_by,
    timed_out,
)
from kproxy.share.identifiers import MemberId
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.share_partition_view import InFlightRangeView, SharePartitionView
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause, RecordEnd
from tests.worlds.share_builders import CountedTypes, SaidBatch
from tests.worlds.share_group_world import ShareGroupWorld

ALICE, BOB = MemberId("alice"), MemberId("bob")
CLIENT = Client("client-1", "/10.0.0.7")
AVAILABLE, ACQUIRED, ACKNOWLEDGED, _, ARCHIVED = RecordState
GAP, ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


def a_delta(*batches: tuple[int, int, RecordState]) -> StateDelta:
    return StateDelta(0, 0, tuple(StateBatch(first, last, state, 1) for first, last, state in batches))


def an_actor(
    cause: Cause,
    *ranges: tuple[int, int],
    member_id: MemberId = ALICE,
    acknowledge_type: AcknowledgeType | None = None,
    is_at_delivery_limit: bool = False,
) -> Actor:
    client = ("client-1", "/10.0.0.7")
    return Actor(cause, member_id, *client, ranges, acknowledge_type, is_at_delivery_limit)


def test_an_acknowledgement_has_an_actor_for_each_type_releases_at_the_limit_apart() -> None:
    # Given
    said = [
        SaidBatch(0, 3, [ACCEPT, GAP, REJECT, RELEASE]),
        SaidBatch(4, 9, [RELEASE]),
        SaidBatch(20, 21, [ACCEPT]),
    ]
    delta = a_delta(
        *((0, 0, ACKNOWLEDGED), (1, 2, ARCHIVED), (3, 4, AVAILABLE), (5, 6, ARCHIVED), (7, 9, AVAILABLE)),
        *((20, 21, ACKNOWLEDGED),),
    )

    # When
    actors = acknowledged_by(ALICE, CLIENT, said, delta)

    # Then
    assert actors == (
        an_actor(Cause.ACKNOWLEDGE, (0, 0), (20, 21), acknowledge_type=ACCEPT),
        an_actor(Cause.ACKNOWLEDGE, (1, 1), acknowledge_type=GAP),
        an_actor(Cause.ACKNOWLEDGE, (2, 2), acknowledge_type=REJECT),
        an_actor(Cause.ACKNOWLEDGE, (3, 4), (7, 9), acknowledge_type=RELEASE),
        an_actor(Cause.ACKNOWLEDGE, (5, 6), acknowledge_type=RELEASE, is_at_delivery_limit=True),
    )


def test_what_was_renewed_and_then_settled_in_one_request_has_the_type_that_settled_it() -> None:
    # Given
    said = [SaidBatch(0, 5, [RENEW]), SaidBatch(5, 9, [REJECT])]

    # When
    actors = acknowledged_by(ALICE, CLIENT, said, a_delta((5, 9, ARCHIVED)))

    # Then
    assert actors == (an_actor(Cause.ACKNOWLEDGE, (5, 9), acknowledge_type=REJECT),)


def test_what_was_passed_already_and_what_never_was_a_record_has_no_part_in_it() -> None:
    """The batch begins below the start offset 3, and reaches over a hole at 5."""
    # When
    actors = acknowledged_by(
        ALICE,
        CLIENT,
        [SaidBatch(0, 9, [ACCEPT])],
        a_delta((3, 4, ACKNOWLEDGED), (6, 9, ACKNOWLEDGED)),
    )

    # Then
    assert actors == (an_actor(Cause.ACKNOWLEDGE, (3, 4), (6, 9), acknowledge_type=ACCEPT),)


def test_what_is_said_of_what_was_passed_already_is_not_looked_at() -> None:
    """Anybody may name any number of offsets below the start offset, here 50,000."""
    # Given
    types = CountedTypes([ACCEPT, REJECT] * 25_002)

    # When
    actors = acknowledged_by(
        ALICE, CLIENT, [SaidBatch(0, 50_003, types)], a_delta((50_000, 50_000, ACKNOWLEDGED))
    )

    # Then
    assert actors == (an_actor(Cause.ACKNOWLEDGE, (50_000, 50_000), acknowledge_type=ACCEPT),)
    assert types.looked_at < 10


def test_an_acknowledgement_of_nothing_that_is_left_has_an_actor_without_a_type() -> None:
    # When
    actors = acknowledged_by(ALICE, CLIENT, [SaidBatch(0, 2, [ACCEPT])], a_delta())

    # Then
    assert actors == (an_actor(Cause.ACKNOWLEDGE),)


def test_what_a_closed_session_gave_back_for_the_last_time_was_the_delivery_limit() -> None:
    # When
    actors = released_by(ALICE, CLIENT, a_delta((0, 4, AVAILABLE), (5, 6, ARCHIVED), (7, 9, AVAILABLE)))

    # Then
    assert actors == (
        an_actor(Cause.SESSION_CLOSE, (0, 4), (7, 9)),
        an_actor(Cause.SESSION_CLOSE, (5, 6), is_at_delivery_limit=True),
    )


def test_locks_that_end_name_each_member_that_lost_records() -> None:
    # Given
    holders = [Holder(0, 4, ALICE), Holder(5, 9, BOB), Holder(12, 12, ALICE)]
    delta = a_delta((0, 6, AVAILABLE), (7, 9, ARCHIVED), (12, 12, AVAILABLE))

    # When
    actors = timed_out(holders, delta, {ALICE: CLIENT, BOB: UNKNOWN_CLIENT}.__getitem__)

    # Then
    assert actors == (
        an_actor(Cause.LOCK_TIMEOUT, (0, 4), (12, 12)),
        Actor(Cause.LOCK_TIMEOUT, "bob", offset_ranges=((5, 6),)),
        Actor(Cause.LOCK_TIMEOUT, "bob", offset_ranges=((7, 9),), is_at_delivery_limit=True),
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


def test_a_log_that_lost_its_beginning_ended_what_was_not_done_with_delivered_or_not() -> None:
    # Given
    def a_run(first_offset: int, last_offset: int, state: RecordState) -> InFlightRangeView:
        return InFlightRangeView(first_offset, last_offset, state, 1, None, None)

    runs = (
        a_run(2, 4, AVAILABLE),
        a_run(5, 6, ARCHIVED),
        a_run(7, 7, ACQUIRED),
        a_run(8, 9, ACKNOWLEDGED),
    )
    before = SharePartitionView(ShareGroupWorld.key(), 2, 9, 8, 4, runs)

    # When
    lost = {start: log_start_moved(before, start)[0].offset_ranges for start in (3, 6, 7, 8, 9, 10, 30)}

    # Then
    assert lost == {
        3: ((2, 2),),
        6: ((2, 4),),
        7: ((2, 4),),
        8: ((2, 4), (7, 7)),
        9: ((2, 4), (7, 7)),
        10: ((2, 4), (7, 7)),
        30: ((2, 4), (7, 7), (10, 29)),
    }


def test_a_log_start_that_moved_has_no_member() -> None:
    # Given
    before = SharePartitionView(ShareGroupWorld.key(), 0, 0, 0, 0, ())

    # When
    (actor,) = log_start_moved(before, 5)

    # Then
    assert (actor, actor.end) == (
        Actor(Cause.LOG_START_MOVED, offset_ranges=((0, 4),)),
        RecordEnd.LOG_START,
    )


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
    actors = timed_out(holders, delta, lambda _: CLIENT)

    # Then
    named = [
        (offset, actor.member_id, actor.is_at_delivery_limit)
        for actor in actors
        for first_offset, last_offset in actor.offset_ranges
        for offset in range(first_offset, last_offset + 1)
    ]
    assert sorted(named) == [
        (offset, member_id, state is ARCHIVED) for offset, (member_id, state) in enumerate(records)
    ]
