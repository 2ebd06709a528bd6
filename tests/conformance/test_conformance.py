"""Each case of the list, played against Kafka's own share groups and against kproxy: the answers have to be alike.

A case that kproxy lacks something for is expected to fail, and its reason says what is lacking.
"""

import difflib
from functools import partial
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.conformance.answers import AnswersTable
from tests.conformance.case import LAST_NUMBER, Case
from tests.conformance.cases.every_case import EVERY_CASE
from tests.conformance.chance import Step, failing_scripts, play_script, scripts
from tests.conformance.scenario import Noted
from tests.conformance.stage import Playing, Stage
from tests.conformance.target import KPROXY_NAMES, REFERENCE_NAME

MOST_SIDE_BY_SIDE: Final = 5
"""Scripts that one example has, so that they wait together."""
SOAK_SECONDS: Final = 7_200


class AnswersDiffer(AssertionError):
    """kproxy did not answer as Kafka did."""


def _parameter(case: Case) -> object:
    if case.lack is None or case.is_missing:
        return pytest.param(case, id=case.name)
    mark = pytest.mark.xfail(strict=True, raises=AnswersDiffer, reason=f"kproxy lacks {case.lack}")
    return pytest.param(case, id=case.name, marks=mark)


@pytest.mark.parametrize("case", [_parameter(case) for case in EVERY_CASE])
def test_kproxy_answers_as_kafka_does(case: Case, stage: Stage, answers_table: AnswersTable) -> None:
    # When
    reference, *kproxies = (stage.outcome(case, name) for name in (REFERENCE_NAME, *KPROXY_NAMES))

    # Then
    differences = [text for text in (_difference(reference, kproxy) for kproxy in kproxies) if text]
    answers_table.add(case, _state(case, reference, differences), [reference, *kproxies])
    assert not reference.failure, f"{REFERENCE_NAME} itself is not as the case says:\n{reference.failure}"
    if differences:
        raise AnswersDiffer("\n".join(differences))
    if case.is_missing:
        pytest.xfail(f"missing: {case.lack}")


def test_every_number_of_the_list_is_a_case() -> None:
    assert {case.number for case in EVERY_CASE} >= set(range(1, LAST_NUMBER + 1))


@pytest.mark.parametrize("strategy", [scripts(), failing_scripts()], ids=["anything", "failures"])
@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(settings(max_examples=20), id="some"),
        pytest.param(
            settings(max_examples=2_000, derandomize=False),
            id="many",
            marks=[pytest.mark.soak, pytest.mark.timeout(SOAK_SECONDS)],
        ),
    ],
)
def test_what_members_do_by_chance_is_answered_as_kafka_does(
    stage: Stage, examples: settings, strategy: SearchStrategy[list[Step]]
) -> None:
    @examples
    @given(side_by_side=st.lists(strategy, min_size=1, max_size=MOST_SIDE_BY_SIDE))
    def is_answered_alike(side_by_side: list[list[Step]]) -> None:
        # When
        played = stage.play_at_once([partial(play_script, steps) for steps in side_by_side])

        # Then
        for steps, (reference, *kproxies) in zip(side_by_side, played, strict=True):
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
    if case.is_missing:
        return f"missing: {case.lack}"
    if reference.failure:
        return "the reference is not as the case says"
    if differences:
        return "different" if case.lack is None else f"lacks {case.lack}"
    reasons = dict.fromkeys(note.reason for note in reference.notes if note.reason)
    return "; ".join(("same", *reasons))
