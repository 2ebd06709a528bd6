"""How a command of the runbook becomes one that is run, and what a walk finds missing."""

from tests.troubles.trouble import says
from tests.troubles.walking import Step, filled

NAMES = {"GROUP": "workers", "TOPIC": "orders", "broker1:9092": "127.0.0.1:9999"}


def test_placeholders_are_filled_in_and_no_other_word_is_touched() -> None:
    # When
    words = filled('kproxy x -b broker1:9092 -g GROUP --reason "GROUP hangs"', NAMES)

    # Then
    assert words == ["kproxy", "x", "-b", "127.0.0.1:9999", "-g", "workers", "--reason", "GROUP hangs"]


def test_a_step_misses_the_words_that_it_does_not_say_and_another_exit_code() -> None:
    # Given
    step = Step("kproxy why", ["kproxy", "why"], 3, "workers stands still")

    # When
    missing = step.misses(says("{GROUP}", "{TOPIC}", "{broker1:9092}"), NAMES)

    # Then
    assert missing == [
        "kproxy why: ended with 3",
        "kproxy why: does not say 'orders'",
        "kproxy why: does not say '127.0.0.1:9999'",
    ]
