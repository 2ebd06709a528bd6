"""`PassedOn`: how many that bring next to nothing leave the place beyond the limit to others."""

from collections.abc import Hashable

from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.memory.passed_on import LEAST_BYTES, PassedOn

KIB = 1024
MIB = 1024 * KIB


def never() -> None:
    raise AssertionError("nobody waited for this")


def test_they_may_have_brought_an_eighth_of_the_limit_together() -> None:
    several, held = PassedOn(80 * MIB), dict[Hashable, int]()

    told = []
    for owner, brought in (("a", 5 * MIB), ("b", 4 * MIB), ("too much", MIB + 1), ("c", MIB)):
        held[owner] = brought
        told.append(several.add(owner, 0, held))

    assert told == [True, True, False, True]
    assert [owner in several for owner in ("a", "too much")] == [True, False]


def test_where_the_limit_is_small_they_may_have_brought_a_mebibyte() -> None:
    assert [PassedOn(KIB).add("a", 0, {"a": LEAST_BYTES + more}) for more in (0, 1)] == [True, False]


def test_what_they_held_before_had_room_and_does_not_count() -> None:
    """All brokers pause, and each answer that they had begun is large."""
    several, held = PassedOn(80 * MIB), dict[Hashable, int]()
    held.update((number, 3 * MIB + 16 * KIB) for number in range(40))

    told = [several.add(number, 3 * MIB, held) for number in range(40)]

    assert all(told)


def test_what_comes_of_them_later_counts_from_when_they_were_let_in_first() -> None:
    several, held = PassedOn(80 * MIB), dict[Hashable, int]({"a": 2 * MIB})
    several.add("a", MIB, held)

    held["a"] = 11 * MIB
    is_full = several.add("b", 0, held | {"b": 1})
    several.add("a", 11 * MIB, held)

    assert (is_full, several.add("b", 0, held | {"b": 1})) == (False, False)


def test_who_is_forgotten_counts_no_more() -> None:
    several, held = PassedOn(80 * MIB), dict[Hashable, int]({"a": 10 * MIB, "b": MIB})
    several.add("a", 0, held)

    several.discard("a")

    assert (several.add("b", 0, held), "a" in several) == (True, False)


def used_up(limit_bytes: int, count: int) -> tuple[BufferBudget, list[BudgetAccount]]:
    """Return a budget that others have used up, and so many who have yet to hold anything; nobody ends any."""
    budget = BufferBudget(limit_bytes)
    budget.note_waiting("slow peers", limit_bytes)
    accounts = [BudgetAccount(budget) for _ in range(count)]
    for account in accounts:
        account.on_overstayed = never
    return budget, accounts


def looked(budget: BufferBudget, until_ms: int, *, from_ms: int = 0) -> None:
    """Look each tenth of a second, as kproxy does."""
    for now_ms in range(from_ms, until_ms, 100):
        budget.look_at_place(now_ms, 30_000)


def test_who_brings_nothing_while_they_have_brought_too_much_keeps_the_place_and_ends_nobody() -> None:
    # Given one that brought a mebibyte at the place, and then nothing
    budget, (first, second, third) = used_up(8 * MIB, 3)
    first.hold(10 * KIB, MIB, 1, never)
    second.hold(10 * KIB, 90 * KIB, 1, lambda: None)
    third.hold(10 * KIB, 90 * KIB, 1, lambda: None)
    first.hold(MIB - 20 * KIB, 30 * KIB, 1, never)
    looked(budget, 400)

    # When the next one brings nothing, either
    looked(budget, 3_300, from_ms=400)

    # Then
    assert budget.has_place(second)
    assert third.awaits_grant


def test_who_alone_brought_too_much_has_the_time_that_its_bytes_are_worth() -> None:
    budget, (first, second) = used_up(8 * MIB, 2)
    first.hold(10 * KIB, 3 * MIB, 1, never)
    second.hold(MIB, MIB, 1, lambda: None)
    first.hold(2 * MIB, MIB, 1, never)

    looked(budget, 3_000)

    assert budget.has_place(first)
    assert second.awaits_grant


def test_of_who_waited_for_its_turn_what_came_before_does_not_count() -> None:
    budget, (first, second, third) = used_up(8 * MIB, 3)
    first.hold(10 * KIB, 90 * KIB, 1, never)
    second.hold(3 * MIB, MIB, 1, lambda: None)
    third.hold(10 * KIB, 5 * MIB, 1, lambda: None)

    first.close()
    looked(budget, 400)

    assert budget.has_place(third)


def test_who_found_room_or_ended_its_frame_counts_no_more() -> None:
    # Given two that brought half a mebibyte each
    budget, (finds_room, ends, waits, last) = used_up(8 * MIB, 4)
    for account in (finds_room, ends):
        account.hold(10 * KIB, MIB, 1, lambda: None)
    waits.hold(10 * KIB, MIB, 1, lambda: None)
    last.hold(10 * KIB, MIB, 1, lambda: None)
    finds_room.hold(480 * KIB, 16 * KIB, 1, never)
    looked(budget, 400)
    ends.hold(480 * KIB, 16 * KIB, 1, never)
    looked(budget, 800, from_ms=400)

    # When
    budget.note_waiting("slow peers", MIB)
    finds_room.hold(481 * KIB, 16 * KIB, 1, never)
    ends.hold(0, 0, 1, never)
    budget.note_waiting("slow peers", 8 * MIB)

    # Then
    assert not any(account in budget._passed_on for account in (finds_room, ends))
