"""`StalledHolders`: who is ended where others wait for room."""

from functools import partial

from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.memory.holder import Holder
from kproxy.net.relay.memory.stalled_holders import LEAST_HELD_BYTES, MOST_ENDED, StalledHolders

KIB = 1024
MIB = 1024 * KIB


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


def test_who_holds_much_that_does_not_move_is_ended_when_others_have_waited_for_room_for_a_while() -> None:
    # Given one who holds a whole request whose turn does not come, one who holds little, and one who waits
    budget, told = BufferBudget(8192 * KIB), list[str]()
    much, little, waits = (BudgetAccount(budget) for _ in range(3))
    for name, account in (("much", much), ("little", little), ("waits", waits)):
        account.on_overstayed = partial(told.append, name)
    much.note_waiting(8000 * KIB)
    little.note_waiting(1000 * KIB)
    for account in (BudgetAccount(budget), BudgetAccount(budget), waits):
        account.hold(2000 * KIB, 50 * KIB, 1, lambda: None)

    # When
    seen = []
    for now_ms in range(0, 4_000, 1_000):
        budget.look(now_ms, 30_000)
        seen.append(list(told))

    # Then
    assert seen == [[], [], [], ["much"]]


def test_nobody_is_ended_for_what_does_not_move_while_nobody_waits_for_room() -> None:
    # Given
    budget, told = BufferBudget(KIB), list[str]()
    much = BudgetAccount(budget)
    much.on_overstayed = lambda: told.append("much")
    much.note_waiting(8000 * KIB)

    # When
    for now_ms in range(0, 100_000, 1_000):
        budget.look(now_ms, 30_000)

    # Then
    assert (budget.is_exceeded, told) == (True, [])
