"""Slots on their way to another member."""

from kproxy.error_codes import ErrorCode
from kproxy.fleet.events import GiveUp, MapChanged, SlotsLost
from kproxy.fleet.fleet_map import encode_map
from kproxy.fleet.group_protocol import (
    Join,
    Joined,
    Refused,
    Synced,
)
from kproxy.fleet.handover import Handover
from kproxy.fleet.member_metadata import decode_member
from tests.worlds.one_membership import (
    ALL,
    ME,
    OTHER,
    a_map,
    follow,
    joining,
    pulse,
    served,
    settled,
    step,
    told,
)


def asked(*slots: int) -> Handover:
    handover = Handover()
    handover.ask(frozenset(slots), patience_ends_ms=2_000)
    return handover


def test_it_is_complete_when_nothing_is_left_to_give_up() -> None:
    handover = asked(1, 2)
    seen = [handover.is_complete]
    for slot in (1, 2):
        handover.give_up(frozenset([slot]))
        seen.append(handover.is_complete)
    assert seen == [False, False, True]


def test_a_slow_slot_holds_up_those_that_were_given_up_for_a_while_only() -> None:
    handover = asked(1, 2)
    before = handover.gives_up_waiting_at_ms
    handover.give_up(frozenset([1]))
    assert (before, handover.gives_up_waiting_at_ms) == (None, 2_000)


def test_what_was_told_waits_no_more() -> None:
    handover = asked(1, 2)
    handover.give_up(frozenset([1]))
    handover.tell()
    assert (handover.given_up, handover.gives_up_waiting_at_ms) == (frozenset(), None)


def test_what_was_lost_need_not_be_given_up() -> None:
    handover = asked(1)
    handover.lose(frozenset([1]))
    assert (handover.is_complete, handover.given_up) == (True, frozenset())


def test_what_is_to_move_is_served_until_it_is_given_up_and_told_of_by_a_join() -> None:
    me = joining()
    fleet_map = a_map((0, 0, 0, 0), {2: 1, 3: 1})
    events = follow(me, fleet_map)
    assert events == (MapChanged(fleet_map, ALL), GiveUp(frozenset({2, 3})))
    assert served(me, 1) == ALL
    assert me.take_step() is None
    me.gave_up(frozenset({2}))
    waits = me.take_step()
    me.gave_up(frozenset({3}))
    join = me.take_step()
    assert served(me, 1) == {0, 1}
    assert waits is None
    assert isinstance(join, Join)
    assert decode_member(join.metadata).owned == {0, 1}


def test_a_slot_that_is_slow_holds_up_the_others_for_a_while_only() -> None:
    me = settled((0, 0, 0, 0), {2: 1, 3: 1})
    me.gave_up(frozenset({2}))
    deadline_ms = me.next_deadline_ms
    me.tick(2_000)
    join = me.take_step()
    assert deadline_ms == 2_000
    assert isinstance(join, Join)
    assert decode_member(join.metadata).owned == {0, 1, 3}


def test_while_slots_move_everybody_hears_of_the_next_rebalance_soon() -> None:
    still, moving = settled(), settled((0, 0, 1, 1), {2: 0})
    assert [me.pulse_interval_ms(at_ms) for me in (still, moving) for at_ms in (1, 6_000)] == [
        1_500,
        1_500,
        200,
        1_500,
    ]


def test_a_slot_given_up_while_a_join_waits_is_not_taken_back() -> None:
    me = settled((0, 0, 0, 0), {3: 1})
    pulse(me, Refused(ErrorCode.REBALANCE_IN_PROGRESS))
    join = me.take_step()
    me.gave_up(frozenset({3}))
    told(me, join, Joined(ME, 2, OTHER, {}))
    step(me, Synced(encode_map(a_map((0, 0, 0, 0), {3: 1}, epoch=6))))
    assert me.owned == {0, 1, 2}
    assert isinstance(me.take_step(), Join)


def test_slots_that_the_map_gives_to_others_are_lost_at_once() -> None:
    me = settled()
    me.join_anew()
    step(me, Joined(ME, 2, OTHER, {}))
    fleet_map = a_map((0, 1, 1, 0), epoch=6)
    assert step(me, Synced(encode_map(fleet_map))) == (
        SlotsLost(frozenset({1}), "the map gives them to others"),
        MapChanged(fleet_map, frozenset({3})),
    )


def test_a_claim_of_a_higher_epoch_makes_it_ask_for_a_map_above_it() -> None:
    me = settled()
    me.saw_epoch(5)
    quiet = me.take_step()
    me.saw_epoch(9)
    join = me.take_step()
    assert quiet is None
    assert isinstance(join, Join)
    assert decode_member(join.metadata).seen_epoch == 9
