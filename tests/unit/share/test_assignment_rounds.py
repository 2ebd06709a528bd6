"""When rounds are due."""

from kproxy.share.assignment_rounds import AssignmentRounds
from kproxy.share.limits import GroupLimits

LIMITS = GroupLimits(assignment_delay_ms=50, assignment_interval_ms=1_000)


def test_nothing_asks_for_a_round_at_first() -> None:
    assert AssignmentRounds().next_ms(LIMITS, is_stale=False) is None


def test_a_round_waits_for_the_delay_after_the_first_change_and_for_no_later_one() -> None:
    # Given
    rounds = AssignmentRounds()

    # When
    rounds.note_change(100)
    rounds.note_change(140)

    # Then
    assert rounds.next_ms(LIMITS, is_stale=True) == 150


def test_an_assignment_that_is_behind_is_computed_when_the_interval_is_over() -> None:
    assert AssignmentRounds(computed_ms=700).next_ms(LIMITS, is_stale=True) == 1_700
    assert AssignmentRounds().next_ms(LIMITS, is_stale=True) == 0


def test_an_assignment_may_be_computed_again_after_the_interval() -> None:
    # Given
    rounds = AssignmentRounds(computed_ms=700)

    # Then
    assert not rounds.may_compute(LIMITS, 1_699)
    assert rounds.may_compute(LIMITS, 1_700)
    assert AssignmentRounds().may_compute(LIMITS, 0)


def test_members_that_only_lose_something_are_called_once_in_an_interval() -> None:
    # Given
    rounds = AssignmentRounds()

    # When
    calls = [rounds.take(LIMITS, now_ms, has_losers=True) for now_ms in (0, 999)]
    asks_for_a_round_at_ms = rounds.next_ms(LIMITS, is_stale=False)
    calls.append(rounds.take(LIMITS, 1_000, has_losers=True))

    # Then
    assert calls == [True, False, True]
    assert asks_for_a_round_at_ms == 1_000
    assert rounds.next_ms(LIMITS, is_stale=False) is None


def test_without_anybody_who_loses_nothing_is_called_or_asked_for() -> None:
    # Given
    rounds = AssignmentRounds()

    # Then
    assert not rounds.take(LIMITS, 0, has_losers=False)
    assert rounds.next_ms(LIMITS, is_stale=False) is None
