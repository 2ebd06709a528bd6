"""What a member does in a group whose first generation is not complete."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.fleet.events import GiveUp, MapChanged, SlotsLost
from kproxy.fleet.first_moment import Company, company, map_of_one
from kproxy.fleet.fleet_map import decode_map
from kproxy.fleet.group_protocol import (
    Answer,
    Describe,
    Described,
    Heartbeat,
    Join,
    Joined,
    Left,
    Refused,
    RemoveDead,
    Sync,
    Synced,
    Unanswered,
)
from kproxy.fleet.member_metadata import MemberMetadata, encode_member
from tests.worlds.fleet_world import profile
from tests.worlds.one_membership import (
    ALL,
    FIRST_EPOCH,
    LEASE_MS,
    ME,
    OTHER,
    alone,
    joining,
    pulse,
    served,
    told,
)


@pytest.mark.parametrize(
    ("state", "member_ids", "seen"),
    [
        ("PreparingRebalance", {"me"}, Company.ALONE),
        ("PreparingRebalance", {"me", "another"}, Company.WITH_OTHERS),
        ("PreparingRebalance", {"another"}, Company.UNKNOWN),
        ("Stable", {"me"}, Company.UNKNOWN),
        ("CompletingRebalance", {"me"}, Company.UNKNOWN),
        ("Empty", set(), Company.UNKNOWN),
    ],
)
def test_a_member_is_alone_where_it_is_listed_and_nobody_else_while_a_generation_is_prepared(
    state: str, member_ids: set[str], seen: Company
) -> None:
    assert company(Described(state, frozenset(member_ids)), "me") is seen


def test_the_only_member_owns_every_slot() -> None:
    fleet_map = map_of_one(profile("alice", slot_count=3), "me", 7)
    assert fleet_map.slots_of("me") == {0, 1, 2}
    assert (fleet_map.has_moves, fleet_map.epoch) == (False, 7)


def test_the_only_member_serves_everything_before_its_first_generation() -> None:
    me = joining()
    (change,) = alone(me, 100)
    assert isinstance(change, MapChanged)
    assert (change.gained, change.fleet_map.epoch, me.is_provisional) == (ALL, FIRST_EPOCH, True)
    assert served(me, 99 + LEASE_MS) == ALL
    assert served(me, 100 + LEASE_MS) == set()


def test_it_goes_on_as_long_as_it_sees_its_join_being_held_whoever_comes() -> None:
    me = joining()
    alone(me)
    alone(me, 2_000, OTHER)
    assert (me.lease_ends_at_ms, me.next_pulse()) == (2_000 + LEASE_MS, Describe(ME))


def test_it_does_not_go_on_by_a_group_that_prepares_nothing_or_lacks_it() -> None:
    me = joining()
    alone(me)
    for described in (
        Described("CompletingRebalance", frozenset({ME})),
        Described("PreparingRebalance", frozenset({OTHER})),
    ):
        pulse(me, described, 2_000)
    assert me.lease_ends_at_ms == LEASE_MS


def test_the_first_map_leaves_with_it_what_it_serves() -> None:
    me = joining()
    alone(me)
    other = encode_member(MemberMetadata(profile("other", slot_count=4)))
    nothing = encode_member(MemberMetadata(profile("me", slot_count=4)))
    told(me, Join(ME, nothing), Joined(ME, 1, ME, {ME: nothing, OTHER: other}), 3_000)
    me.assign({}, epoch_floor=0)
    sync = me.take_step()
    assert isinstance(sync, Sync)
    fleet_map = decode_map(sync.assignments[OTHER])
    assert fleet_map.slots_of(ME) == ALL
    assert fleet_map.leaving(ME) == {2, 3}
    assert fleet_map.epoch == FIRST_EPOCH + 1
    events = told(me, sync, Synced(sync.assignments[ME]), 3_000)
    assert events == (MapChanged(fleet_map, frozenset()), GiveUp(frozenset({2, 3})))
    assert not me.is_provisional


def test_whoever_sees_others_serves_nothing_and_looks_again() -> None:
    me = joining()
    assert alone(me, 0, OTHER) == ()
    assert (served(me, 1), me.next_pulse()) == (set(), Describe(ME))


def test_whoever_waits_for_others_looks_less_and_less_often() -> None:
    me = joining()
    intervals = []
    for _ in range(10):
        alone(me, 0, OTHER)
        intervals.append(me.pulse_interval_ms(0))
    assert intervals == [20, 40, 80, 160, 320, 640, 1_280, 1_500, 1_500, 1_500]


def test_the_dead_among_the_others_are_removed_at_once_and_nobody_else() -> None:
    me = joining()
    assert pulse(me, Described("PreparingRebalance", frozenset({ME, OTHER, "x"}), frozenset({"x"}))) == ()
    assert (me.next_pulse(), me.pulse_interval_ms(0)) == (RemoveDead(ME, frozenset({"x"})), 0)


def test_who_is_alone_when_the_dead_are_removed_serves_everything_before_the_first_generation() -> None:
    me = joining()
    pulse(me, Described("PreparingRebalance", frozenset({ME, OTHER}), frozenset({OTHER})))
    assert (pulse(me, Left()), served(me, 1)) == ((), set())
    (change,) = alone(me)
    assert isinstance(change, MapChanged)
    assert served(me, 1) == ALL


@pytest.mark.parametrize(
    "answer",
    [
        Left(),
        Unanswered(),
        Refused(ErrorCode.UNKNOWN_MEMBER_ID),
        Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_whatever_comes_of_a_removal_the_next_look_is_not_sooner_than_otherwise(answer: Answer) -> None:
    """A broker that lets nobody be removed is not asked without end."""
    me = joining()
    intervals = []
    for _ in range(3):
        pulse(me, Described("PreparingRebalance", frozenset({ME, OTHER}), frozenset({OTHER})))
        pulse(me, answer)
        assert (me.member_id, me.next_pulse()) == (ME, Describe(ME))
        intervals.append(me.pulse_interval_ms(0))
    assert intervals == [20, 40, 80]


@pytest.mark.parametrize(
    ("state", "member_ids"), [("Stable", {ME, OTHER}), ("Empty", {OTHER}), ("PreparingRebalance", {OTHER})]
)
def test_who_is_not_in_a_group_that_prepares_a_generation_removes_nobody(
    state: str, member_ids: set[str]
) -> None:
    me = joining()
    pulse(me, Described(state, frozenset(member_ids), frozenset({OTHER})))
    assert me.next_pulse() == Describe(ME)


def test_whoever_is_in_a_generation_removes_nobody() -> None:
    me = joining()
    pulse(me, Described("PreparingRebalance", frozenset({ME, OTHER}), frozenset({OTHER})))
    told(me, Join(ME, b""), Joined(ME, 1, OTHER, {}))
    assert (me.next_pulse(), me.pulse_interval_ms(0)) == (Heartbeat(ME, 1), 1_500)


def test_who_is_not_listed_yet_looks_again_soon_and_less_and_less_often() -> None:
    me = joining()
    intervals = []
    for _ in range(10):
        intervals.append(me.pulse_interval_ms(0))
        pulse(me, Described("Empty", frozenset()))
    assert intervals[:4] == [10, 20, 40, 80]
    assert max(intervals) == 1_500


def test_who_serves_everything_and_is_not_made_leader_loses_what_it_did_not_tell_of() -> None:
    me = joining()
    alone(me)
    (lost,) = told(me, Join(ME, b""), Joined(ME, 1, OTHER, {}))
    assert lost == SlotsLost(ALL, "the leader does not know of them")


def test_a_description_that_was_refused_says_nothing() -> None:
    assert pulse(joining(), Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)) == ()
