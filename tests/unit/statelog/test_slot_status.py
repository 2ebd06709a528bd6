from kproxy.statelog.slot_status import SlotState


def test_the_states_are_spelt_as_scripts_know_them() -> None:
    assert [state.value for state in SlotState] == ["claiming", "loading", "ready", "stopped", "stepped-down"]
