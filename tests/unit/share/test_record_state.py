"""The states of a record, as numbers and as a table."""

from kproxy.share.record_state import PERMITTED_TRANSITIONS, TERMINAL_STATES, AcknowledgeType, RecordState


def test_states_have_the_numbers_of_the_state_log() -> None:
    assert {state.name: state.value for state in RecordState} == {
        "AVAILABLE": 0,
        "ACQUIRED": 1,
        "ACKNOWLEDGED": 2,
        "ARCHIVING": 3,
        "ARCHIVED": 4,
    }


def test_acknowledge_types_have_the_numbers_of_the_wire() -> None:
    assert [kind.name for kind in AcknowledgeType] == ["GAP", "ACCEPT", "RELEASE", "REJECT", "RENEW"]
    assert [kind.value for kind in AcknowledgeType] == [0, 1, 2, 3, 4]


def test_nothing_follows_a_terminal_state() -> None:
    assert {RecordState.ACKNOWLEDGED, RecordState.ARCHIVED} == TERMINAL_STATES
    assert PERMITTED_TRANSITIONS[RecordState.AVAILABLE] == {RecordState.ACQUIRED, RecordState.ARCHIVED}
    assert PERMITTED_TRANSITIONS[RecordState.ACQUIRED] == {
        RecordState.AVAILABLE,
        RecordState.ACKNOWLEDGED,
        RecordState.ARCHIVED,
    }
