from hypothesis import given
from hypothesis import strategies as st

from kproxy.telemetry.repetition import (
    BURST,
    MOST_IDENTITIES,
    WINDOW_S,
    Admission,
    RepetitionLimit,
    Suppression,
)

REFUSED = ("net.relay", "request_refused")


def test_a_burst_goes_through_and_what_follows_in_the_same_window_does_not() -> None:
    # Given
    limit = RepetitionLimit()

    # When
    admitted = [limit.admit(REFUSED, now_s=0.0).is_admitted for _ in range(BURST + 3)]

    # Then
    assert admitted == [True] * BURST + [False] * 3


def test_the_first_event_of_the_next_window_says_how_many_were_held_back() -> None:
    # Given
    limit = RepetitionLimit()
    for _ in range(BURST + 3):
        limit.admit(REFUSED, now_s=0.0)

    # When
    decisions = [limit.admit(REFUSED, now_s=WINDOW_S), limit.admit(REFUSED, now_s=WINDOW_S)]

    # Then
    assert decisions == [
        Admission(is_admitted=True, suppressed_count=3),
        Admission(is_admitted=True, suppressed_count=0),
    ]


def test_another_event_is_not_held_back() -> None:
    # Given
    limit = RepetitionLimit()
    for _ in range(BURST + 1):
        limit.admit(REFUSED, now_s=0.0)

    # When
    decision = limit.admit(("net.relay", "client_connected"), now_s=0.0)

    # Then
    assert decision.is_admitted


def test_what_no_later_event_reported_can_be_taken_once() -> None:
    # Given
    limit = RepetitionLimit()
    for _ in range(BURST + 2):
        limit.admit(REFUSED, now_s=0.0)

    # When
    taken = [limit.take_suppressions(), limit.take_suppressions()]

    # Then
    assert taken == [[Suppression(REFUSED, 2)], []]


def test_the_memory_is_bounded() -> None:
    # Given
    limit = RepetitionLimit()
    for number in range(MOST_IDENTITIES):
        for _ in range(BURST + 1):
            limit.admit((str(number),), now_s=0.0)

    # When
    limit.admit(("one more",), now_s=0.0)

    # Then
    assert limit.take_suppressions() == []


@given(st.lists(st.floats(0, 60), max_size=200))
def test_every_event_is_either_let_through_or_counted_as_held_back(times: list[float]) -> None:
    # Given
    limit = RepetitionLimit()

    # When
    decisions = [limit.admit(REFUSED, now_s) for now_s in sorted(times)]

    # Then
    reported = sum(decision.suppressed_count for decision in decisions)
    remaining = sum(suppression.count for suppression in limit.take_suppressions())
    assert sum(decision.is_admitted for decision in decisions) + reported + remaining == len(times)
