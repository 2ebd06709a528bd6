"""`make fuzz` gives each target its share of the minutes, also beside one that takes longer than it may."""

from tests.fuzz.__main__ import SHORTEST_TURN_S, turns

NAMES = ("slow", "quick", "brisk", "fast")


class Clock:
    """Goes on when told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def time_had(minutes: float, *, slow_s: float) -> dict[str, float]:
    """Return how long each was at work when the first takes `slow_s` more each time."""
    clock, had = Clock(), dict.fromkeys(NAMES, 0.0)
    for turn in turns(NAMES, minutes * 60, clock=clock):
        taken = turn.seconds + slow_s * (turn.name == "slow")
        clock.now += taken
        had[turn.name] += taken
    return had


def test_everybody_has_the_same_time() -> None:
    assert time_had(4, slow_s=0) == dict.fromkeys(NAMES, 60)


def test_what_one_takes_too_long_the_others_lose_alike() -> None:
    had = time_had(4, slow_s=30)

    assert had["slow"] == 90
    assert had["quick"] == had["brisk"] == had["fast"] == 50


def test_the_minutes_are_kept_over_several_rounds() -> None:
    had = time_had(4 * 60, slow_s=100)

    assert sum(had.values()) <= 4 * 60 * 60 + 100
    assert min(had.values()) >= 0.9 * 60 * 60


def test_everybody_has_a_turn_even_when_the_time_is_over() -> None:
    assert time_had(1, slow_s=1_000)["fast"] == SHORTEST_TURN_S
