"""What happened counts if it made gaps longer than chance does."""

from random import Random

from tests.misfortunes.paired_windows import Comparison, Pair

EVENTS = 30
GROUPS = 4


def pairs(*, added: float, of_events: int = EVENTS) -> Comparison:
    """Gaps by chance; those of the first events are longer by `added`."""
    chance = Random(7)
    return Comparison(
        [
            Pair(event, chance.random(), chance.random() + (added if event < of_events else 0.0))
            for event in range(EVENTS)
            for _ in range(GROUPS)
        ]
    )


def test_gaps_that_nothing_made_longer_are_as_many_as_chance_makes() -> None:
    assert pairs(added=0.0).chance_of_as_many() > 0.05


def test_gaps_that_every_event_made_longer_are_no_chance() -> None:
    # When
    longer = pairs(added=0.5)

    # Then
    assert longer.above() > len(longer.pairs) // 4
    assert longer.chance_of_as_many() < 0.001


def test_one_event_that_struck_all_groups_at_once_may_be_a_hiccup_of_the_machine() -> None:
    # When
    one = pairs(added=5.0, of_events=1)

    # Then
    assert one.above() >= GROUPS
    assert one.chance_of_as_many() > 0.05


def test_the_p99_of_few_quiet_windows_is_the_longest_of_them() -> None:
    # When
    comparison = Comparison([Pair(0, 1.0, 2.0), Pair(1, 3.0, 3.0)])

    # Then
    assert comparison.quiet_p99 == 3.0
    assert comparison.above() == 0
