"""Each case of the list, played against Kafka's own share groups and against kproxy: the answers have to be alike.

What no target can show of a case is reported as missing, and never as passed.
"""

import difflib
from functools import partial
from typing import Final

import pytest
from hypothesis import given, settings

from tests.conformance.answers import AnswersTable
from tests.conformance.case import LAST_NUMBER, Case
from tests.conformance.cases.every_case import EVERY_CASE
from tests.conformance.chance.script import play_script
from tests.conformance.chance.steps import Step
from tests.conformance.chance.strategies import side_by_side
from tests.conformance.scenario import Noted
from tests.conformance.stage import Playing, Stage
from tests.conformance.target import KPROXY_NAMES, REFERENCE_NAME

OF_EACH_KIND: Final = 3
"""Scripts of one example; all kinds are played at once, so that they wait together."""
SOAK_SECONDS: Final = 10_800

pytestmark = pytest.mark.timeout(900)
"""The stage is built within the first test, which then waits for an outcome of its own (`stage.PATIENCE_SECONDS`)."""


class AnswersDiffer(AssertionError):
    """kproxy did not answer as Kafka did."""


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in EVERY_CASE])
def test_kproxy_answers_as_kafka_does(case: Case, stage: Stage, answers_table: AnswersTable) -> None:
    # When
    reference, *kproxies = (stage.outcome(case, name) for name in (REFERENCE_NAME, *KPROXY_NAMES))

    # Then
    differences = [text for text in (_difference(reference, kproxy) for kproxy in kproxies) if text]
    answers_table.add(case, _state(case, reference, differences), [reference, *kproxies])
    assert not reference.failure, f"{REFERENCE_NAME} itself is not as the case says:\n{reference.failure}"
    if differences:
        raise AnswersDiffer("\n".join(differences))
    # What could be compared was alike. The rest not even the reference can show: it must not count as passed.
    if case.missing:
        pytest.xfail(f"missing: {case.missing}")


def test_every_number_of_the_list_is_a_case() -> None:
    assert {case.number for case in EVERY_CASE} >= set(range(1, LAST_NUMBER + 1))


@pytest.mark.parametrize(
    "examples",
    [
        # The first example of hypothesis is the smallest there is: another has 18 scripts.
        pytest.param(settings(max_examples=2), id="some"),
        pytest.param(
            settings(max_examples=560, derandomize=False),
            id="many",
            marks=[pytest.mark.soak, pytest.mark.timeout(SOAK_SECONDS)],
        ),
    ],
)
def test_what_members_do_by_chance_is_answered_as_kafka_does(stage: Stage, examples: settings) -> None:
    @examples
    @given(scripts=side_by_side(OF_EACH_KIND))
    def is_answered_alike(scripts: tuple[list[Step], ...]) -> None:
        # When
        played = stage.play_at_once([partial(play_script, steps) for steps in scripts])

        # Then
        for steps, (reference, *kproxies) in zip(scripts, played, strict=True):
            assert not reference.failure, reference.failure
            differences = [_difference(reference, kproxy) for kproxy in kproxies]
            if any(differences):
                raise AnswersDiffer("\n".join([*map(repr, steps), *differences]))

    is_answered_alike()


def _difference(reference: Playing, kproxy: Playing) -> str:
    """What is not alike, in words; empty when all is."""
    if kproxy.failure:
        return f"{kproxy.target}:\n{kproxy.failure}"
    lines = list(
        difflib.unified_diff(
            _compared(reference.notes),
            _compared(kproxy.notes),
            reference.target,
            kproxy.target,
            lineterm="",
            n=2,
        )
    )
    return "\n".join(lines)


def _compared(notes: list[Noted]) -> list[str]:
    return [f"{note.asked}: {note.reason or note.answer}" for note in notes]


def _state(case: Case, reference: Playing, differences: list[str]) -> str:
    if case.missing:
        return f"missing: {case.missing}"
    if reference.failure:
        return "the reference is not as the case says"
    if differences:
        return "different"
    reasons = dict.fromkeys(note.reason for note in reference.notes if note.reason)
    return "; ".join(("same", *reasons))
