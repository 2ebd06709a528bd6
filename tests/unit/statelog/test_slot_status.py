from kproxy.statelog.slot_status import SlotState


def test_the_states_are_spelt_as_scripts_know_them() -> None:
    assert [state.value for state in SlotState] == ["claiming", "loading", "ready", "stopped", "stepped-down"]


def test_a_slot_that_is_claimed_or_loaded_is_about_to_be_ready_and_no_other_is() -> None:
    assert [state.value for state in SlotState if state.is_under_way] == ["claiming", "loading"]
