"""`StalledHolders`: who is ended where others wait for room."""

from kproxy.net.relay.memory.stalled_holders import LEAST_HELD_BYTES, MOST_ENDED, Holder, StalledHolders

MIB = 1024 * 1024


def ended(
    holders: StalledHolders, looks: list[dict[Holder, int]], patience_ms: int = 3_000
) -> list[list[Holder]]:
    """Return who was to be ended at each of `looks`, a second apart."""
    return [holders.look(1_000 * number, held, patience_ms=patience_ms) for number, held in enumerate(looks)]


def test_who_holds_more_than_a_mebibyte_that_does_not_move_is_ended_after_the_patience_of_others() -> None:
    much, little = Holder(), Holder()

    told = ended(StalledHolders(), [{much: LEAST_HELD_BYTES + 1, little: LEAST_HELD_BYTES}] * 4)

    assert told == [[], [], [], [much]]


def test_who_is_quick_enough_stays_be_it_that_more_comes_or_that_it_is_taken() -> None:
    # Given
    grows, shrinks, drips = Holder(), Holder(), Holder()
    looks = [
        {grows: (2 + second) * MIB, shrinks: (20 - second) * MIB, drips: 8 * MIB + second * 1_000}
        for second in range(8)
    ]

    # When
    told = ended(StalledHolders(), looks)

    # Then
    assert told == [[], [], [], *[[drips]] * 5]


def test_who_held_most_for_longest_is_ended_first_and_some_at_a_time() -> None:
    # Given
    old, new = [Holder() for _ in range(MOST_ENDED + 2)], Holder()
    held = {holder: (2 + number) * MIB for number, holder in enumerate(old)}

    # When
    told = ended(StalledHolders(), [held, held, held, {**held, new: 12 * MIB}, held | {new: 12 * MIB}])

    # Then
    assert told[3] == old[:1:-1]
    assert new not in told[4]


def test_time_begins_anew_for_who_held_little_meanwhile_and_when_nobody_waited() -> None:
    # Given
    holders, much = StalledHolders(), Holder()
    ended(holders, [{much: 8 * MIB}] * 3)

    # When
    seen = [holders.look(3_000, {}, patience_ms=3_000)]
    seen += [holders.look(now_ms, {much: 8 * MIB}, patience_ms=3_000) for now_ms in (4_000, 6_000)]
    holders.forget()
    seen += [holders.look(now_ms, {much: 8 * MIB}, patience_ms=3_000) for now_ms in (7_000, 9_999, 10_000)]

    # Then
    assert seen == [[], [], [], [], [], [much]]
