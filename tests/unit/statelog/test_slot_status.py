from collections.abc import Callable

from kproxy.statelog.slot_status import TRANSITIONS, SlotState


def those(is_so: Callable[[SlotState], bool]) -> set[str]:
    """Return the states of which something is so, as scripts spell them."""
    return {state.value for state in SlotState if is_so(state)}


def test_the_states_are_spelt_as_scripts_know_them() -> None:
    assert [state.value for state in SlotState] == [
        "unassigned",
        "claiming",
        "loading",
        "ready",
        "leaving",
        "elsewhere",
        "stopped",
    ]


def test_a_slot_that_may_become_ready_here_as_far_as_anybody_knows_is_worth_waiting_for_and_no_other_is() -> (
    None
):
    assert those(lambda state: state.is_under_way) == {"unassigned", "claiming", "loading"}


def test_a_slot_is_this_process_s_unless_nobody_or_another_one_has_it() -> None:
    assert those(lambda state: not state.is_owned) == {"unassigned", "elsewhere"}


def test_from_every_state_a_slot_can_be_lost_to_nobody_to_another_process_and_for_good() -> None:
    ends = {SlotState.UNASSIGNED, SlotState.ELSEWHERE, SlotState.STOPPED}
    assert all(ends <= followers for followers in TRANSITIONS.values())


def test_a_slot_that_is_being_handed_over_is_not_claimed_again_before_it_was_left() -> None:
    assert TRANSITIONS[SlotState.LEAVING] == {
        SlotState.UNASSIGNED,
        SlotState.ELSEWHERE,
        SlotState.STOPPED,
    }


def test_it_is_said_of_every_state_what_may_follow_it_and_nothing_is_ready_that_was_not_loaded() -> None:
    assert set(TRANSITIONS) == set(SlotState)
    assert [state for state in SlotState if SlotState.READY in TRANSITIONS[state]] == [SlotState.LOADING]
    assert [state for state in SlotState if SlotState.LOADING in TRANSITIONS[state]] == [SlotState.CLAIMING]
