"""What stands behind a port where nothing has to be counted."""

from kproxy.handlers.request_context import UNLIMITED_ANSWERS


def test_an_answer_without_a_budget_is_granted_all_it_wants() -> None:
    # When
    granted = UNLIMITED_ANSWERS.grant(2**31)

    # Then
    UNLIMITED_ANSWERS.give_back()
    assert granted == 2**31
