from kproxy.statelog.slot_status import TRANSITIONS, SlotState


def test_the_states_are_spelt_as_scripts_know_them() -> None:
    assert [state.value for state in SlotState] == ["claiming", "loading", "ready", "stopped", "stepped-down"]


def test_a_slot_that_is_claimed_or_loaded_is_about_to_be_ready_and_no_other_is() -> None:
    assert [state.value for state in SlotState if state.is_under_way] == ["claiming", "loading"]


def test_a_slot_that_is_stopped_or_stepped_down_is_over_and_never_ready_again() -> None:
    over = {state for state in SlotState if state.is_over}
    assert [state.value for state in SlotState if state in over] == ["stopped", "stepped-down"]
    assert all(TRANSITIONS[state] <= over for state in over)


def test_it_is_said_of_every_state_what_may_follow_it_and_nothing_is_ready_that_was_not_loaded() -> None:
    assert set(TRANSITIONS) == set(SlotState)
    assert [state for state in SlotState if SlotState.READY in TRANSITIONS[state]] == [SlotState.LOADING]
    assert [state for state in SlotState if SlotState.LOADING in TRANSITIONS[state]] == [SlotState.CLAIMING]
