"""The caller of requests that nobody in particular sent."""

from kproxy.handlers.callers import PATIENT_CALLER


def test_a_patient_caller_stays_and_asks_for_nothing_else() -> None:
    assert not PATIENT_CALLER.is_gone
    assert not PATIENT_CALLER.has_more
