"""One member: what it asks, what it owns, and until when. Times are those of the default limits."""

from dataclasses import replace
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.fleet.events import GiveUp, MapChanged, SlotsLost
from kproxy.fleet.fleet_map import decode_map, encode_map
from kproxy.fleet.group_protocol import (
    Alive,
    Answer,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Left,
    Refused,
    Sync,
    Synced,
    Unanswered,
)
from kproxy.fleet.member_metadata import MemberMetadata, decode_member, encode_member
from kproxy.fleet.member_state import MemberState
from tests.worlds.fleet_world import profile
from tests.worlds.one_membership import (
    ALL,
    LEASE_MS,
    ME,
    OTHER,
    a_map,
    a_membership,
    alone,
    follow,
    joining,
    pulse,
    served,
    settled,
    step,
    told,
)


def test_it_joins_with_the_id_that_it_is_given() -> None:
    me = a_membership()
    first = me.take_step()
    told(me, first, Refused(ErrorCode.MEMBER_ID_REQUIRED, ME))
    assert [each.member_id for each in (first, me.take_step()) if isinstance(each, Join)] == ["", ME]


def test_a_join_that_was_not_answered_is_asked_again() -> None:
    me = joining()
    assert told(me, Join(ME, b""), Unanswered()) == ()
    assert me.take_step() == Join(ME, encode_member(me.metadata))


def test_a_follower_syncs_without_a_map_and_serves_what_it_is_given() -> None:
    me = joining()
    told(me, Join(ME, b""), Joined(ME, 1, OTHER, {}), 100)
    sync = me.take_step()
    fleet_map = a_map((0, 0, 1, -1))
    events = told(me, sync, Synced(encode_map(fleet_map)), 200)
    assert sync == Sync(ME, 1, {})
    assert events == (MapChanged(fleet_map, frozenset({0, 1})),)
    assert (me.state, served(me, 200 + LEASE_MS - 1), served(me, 200 + LEASE_MS)) == (
        MemberState.SETTLED,
        {0, 1},
        set(),
    )


def test_the_leader_makes_one_map_for_all() -> None:
    me = joining()
    other = encode_member(MemberMetadata(profile("other", slot_count=4)))
    told(me, Join(ME, b""), Joined(ME, 1, ME, {ME: encode_member(me.metadata), OTHER: other}))
    assert (me.state, me.take_step(), set(me.candidates.members)) == (
        MemberState.ASSIGNING,
        None,
        {ME, OTHER},
    )
    me.assign({}, epoch_floor=77)
    sync = me.take_step()
    assert isinstance(sync, Sync)
    assert set(sync.assignments) == {ME, OTHER}
    assert len(set(sync.assignments.values())) == 1
    fleet_map = decode_map(sync.assignments[ME])
    assert (fleet_map.epoch, [len(fleet_map.slots_of(each)) for each in (ME, OTHER)]) == (77, [2, 2])


def test_the_leader_refuses_whom_nobody_reaches() -> None:
    me = joining()
    other = encode_member(MemberMetadata(profile("other", slot_count=4)))
    told(me, Join(ME, b""), Joined(ME, 1, ME, {ME: encode_member(me.metadata), OTHER: other}))
    me.assign({OTHER: "connection refused"}, epoch_floor=0)
    sync = me.take_step()
    assert isinstance(sync, Sync)
    assert decode_map(sync.assignments[ME]).slots_of(ME) == ALL


@pytest.mark.parametrize("error_code", [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION])
def test_a_sync_that_comes_too_late_joins_anew_and_keeps_what_it_owns(error_code: ErrorCode) -> None:
    me = settled()
    pulse(me, Refused(ErrorCode.REBALANCE_IN_PROGRESS))
    step(me, Joined(ME, 2, OTHER, {}))
    step(me, Refused(error_code))
    assert isinstance(me.take_step(), Join)
    assert me.metadata.owned == {0, 1}


def test_a_sync_that_was_not_answered_is_asked_again() -> None:
    me = joining()
    told(me, Join(ME, b""), Joined(ME, 1, OTHER, {}))
    step(me, Unanswered())
    assert me.take_step() == Sync(ME, 1, {})


UNUSABLE: Final = {
    "bytes": (b"", "0 bytes"),
    "another number of slots": (encode_map(a_map((0, 0))), "it has 2 slots, the state log 4"),
    "an older map": (encode_map(a_map((0, 0, 1, 1), epoch=5)), "epoch 5 does not follow 5"),
}


@pytest.mark.parametrize(("assignment", "reason"), UNUSABLE.values(), ids=list(UNUSABLE))
def test_a_map_that_cannot_be_used_costs_the_slots_and_is_asked_for_anew(
    assignment: bytes, reason: str
) -> None:
    me = settled()
    me.join_anew()
    step(me, Joined(ME, 2, OTHER, {}))
    (lost,) = step(me, Synced(assignment))
    assert isinstance(lost, SlotsLost)
    assert lost.slots == {0, 1}
    assert me.trouble == lost.reason == f"the leader's map cannot be used: {lost.reason.partition(': ')[2]}"
    assert reason in me.trouble
    assert isinstance(me.take_step(), Join)


# ---------------------------------------------------- the lease


def test_heartbeats_carry_the_lease_on_and_are_asked_three_times_in_a_session_at_least() -> None:
    me = settled()
    for at_ms in (1_500, 3_000, 4_500):
        assert pulse(me, Alive(), at_ms) == ()
    assert me.lease_ends_at_ms == 4_500 + LEASE_MS
    assert 3 * me.pulse_interval_ms(4_500) <= 6_000


def test_when_nothing_is_heard_all_slots_are_lost_in_time_and_joined_for_anew() -> None:
    me = settled()
    before = me.tick(LEASE_MS - 1)
    events = me.tick(LEASE_MS)
    assert before == ()
    assert events == (SlotsLost(frozenset({0, 1}), "nothing was heard of the group's coordinator in time"),)
    join = me.take_step()
    assert isinstance(join, Join)
    assert (join.member_id, decode_member(join.metadata).owned) == (ME, frozenset())


def test_an_answer_after_the_end_of_the_lease_gives_nothing_back() -> None:
    """A coordinator that is loading answers the heartbeat of a member that it will not find."""
    me = settled()
    pulse(me, Alive(), LEASE_MS)
    assert not served(me, LEASE_MS)


def test_a_sync_whose_answer_took_longer_than_the_lease_gives_nothing() -> None:
    me = joining()
    told(me, Join(ME, b""), Joined(ME, 1, OTHER, {}))
    sync = me.take_step()
    assert sync is not None
    answer = Synced(encode_map(a_map((0, 0, 1, 1))))
    events = me.answered(sync, answer, sent_ms=0, now_ms=LEASE_MS)
    assert [type(event) for event in events] == [MapChanged, SlotsLost]
    assert not served(me, LEASE_MS)


def test_a_heartbeat_during_a_rebalance_is_a_sign_of_life_and_makes_it_join() -> None:
    me = settled()
    pulse(me, Refused(ErrorCode.REBALANCE_IN_PROGRESS), 3_000)
    assert (me.lease_ends_at_ms, type(me.take_step())) == (3_000 + LEASE_MS, Join)


def test_while_it_has_not_synced_signs_of_life_do_not_carry_the_lease_beyond_the_rebalance_timeout() -> None:
    """Since Kafka 3.0 members that do not sync are removed, however alive they are."""
    me = settled()
    me.join_anew()
    step(me, Joined(ME, 2, OTHER, {}), 1_000)
    for at_ms in (4_000, 7_000, 10_000):
        pulse(me, Alive(), at_ms)
    assert me.lease_ends_at_ms == 1_000 + 9_500


def test_an_elder_broker_that_refuses_heartbeats_until_the_map_is_there_does_not_carry_it_on() -> None:
    """`GroupCoordinator` before Kafka 2.7 answers REBALANCE_IN_PROGRESS there, and takes it for no sign of life."""
    me = settled()
    me.join_anew()
    step(me, Joined(ME, 2, OTHER, {}), 1_000)
    pulse(me, Refused(ErrorCode.REBALANCE_IN_PROGRESS), 4_000)
    assert me.lease_ends_at_ms == 1_000 + LEASE_MS


def test_answers_about_another_generation_or_member_id_are_passed_over() -> None:
    me = settled()
    me.answered(Heartbeat(ME, 0), Alive(), sent_ms=3_000, now_ms=3_000)
    me.answered(Heartbeat("id-before", 1), Refused(ErrorCode.UNKNOWN_MEMBER_ID), sent_ms=0, now_ms=0)
    me.answered(Sync(ME, 0, {}), Synced(b""), sent_ms=0, now_ms=0)
    assert me.owned == {0, 1}
    assert me.lease_ends_at_ms == LEASE_MS


@pytest.mark.parametrize("error_code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID])
def test_whom_the_coordinator_does_not_know_loses_all_and_begins_again(error_code: ErrorCode) -> None:
    me = settled()
    events = pulse(me, Refused(error_code))
    reason = f"the group's coordinator does not know this member: {error_code.name}"
    assert events == (SlotsLost(frozenset({0, 1}), reason),)
    assert (me.incarnation, me.next_pulse()) == (1, None)
    join = me.take_step()
    assert isinstance(join, Join)
    assert join.member_id == ""


def test_a_generation_that_is_not_the_groups_makes_it_join_anew() -> None:
    me = settled()
    pulse(me, Refused(ErrorCode.ILLEGAL_GENERATION))
    assert isinstance(me.take_step(), Join)


def test_other_refusals_of_a_heartbeat_are_left_to_the_lease() -> None:
    me = settled()
    pulse(me, Refused(ErrorCode.NOT_COORDINATOR))
    assert (me.take_step(), me.lease_ends_at_ms) == (None, LEASE_MS)


# ---------------------------------------------------- leaving


def test_a_member_that_leaves_hands_its_slots_over_and_then_leaves() -> None:
    me = settled()
    assert me.begin_leaving() == ()
    join = me.take_step()
    assert isinstance(join, Join)
    assert decode_member(join.metadata).is_leaving
    told(me, join, Joined(ME, 2, OTHER, {}))
    leaving = a_map((0, 0, 1, 1), {0: 1, 1: 1}, epoch=6)
    assert GiveUp(frozenset({0, 1})) in step(me, Synced(encode_map(leaving)))
    me.gave_up(frozenset({0, 1}))
    assert me.take_step() == Leave(ME)
    told(me, Leave(ME), Left())
    assert (me.state, me.take_step(), me.next_pulse()) == (MemberState.LEFT, None, None)


def test_a_member_that_leaves_while_it_joins_says_so_with_its_next_join() -> None:
    me = settled()
    me.join_anew()
    join = me.take_step()
    me.begin_leaving()
    told(me, join, Joined(ME, 2, OTHER, {}))
    step(me, Synced(encode_map(a_map((0, 0, 1, 1), epoch=6))))
    again = me.take_step()
    assert isinstance(again, Join)
    assert decode_member(again.metadata).is_leaving


def test_where_nobody_can_have_its_slots_they_are_lost_at_once() -> None:
    me = joining()
    alone_map = a_map((0, 0, 0, 0))
    follow(
        me, replace(alone_map, members=(alone_map.members[0], replace(alone_map.members[1], is_leaving=True)))
    )
    assert me.begin_leaving() == (SlotsLost(ALL, "this process leaves the fleet"),)
    assert me.take_step() == Leave(ME)


@pytest.mark.parametrize("answer", [Left(), Unanswered(), Refused(ErrorCode.UNKNOWN_MEMBER_ID)])
def test_the_last_word_is_said_once(answer: Answer) -> None:
    me = settled()
    me.leave_now()
    step(me, answer)
    assert (me.state, told(me, Heartbeat(ME, 1), Alive())) == (MemberState.LEFT, ())


def test_who_is_in_no_group_has_left_without_a_word() -> None:
    me = a_membership()
    assert (me.begin_leaving(), me.take_step(), me.state) == ((), None, MemberState.LEFT)


def test_who_leaves_begins_to_serve_nothing() -> None:
    me = joining()
    me.begin_leaving()
    assert alone(me) == ()
