"""The states of a membership."""

from kproxy.fleet.member_state import TRANSITIONS, MemberState


def test_every_state_but_the_last_leads_out_of_the_group_and_to_its_end() -> None:
    for state in set(MemberState) - {MemberState.LEFT}:
        assert {MemberState.OUTSIDE, MemberState.LEFT} <= TRANSITIONS[state] | {state}
    assert not TRANSITIONS[MemberState.LEFT]


def test_slots_are_given_by_a_map_alone() -> None:
    assert [state for state in MemberState if MemberState.SETTLED in TRANSITIONS[state]] == [
        MemberState.SYNCING
    ]
