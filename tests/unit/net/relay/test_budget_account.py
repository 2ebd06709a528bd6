"""`BudgetAccount`: one connection's reservations and waiting bytes, as the budget of all sees them."""

from kproxy.net.relay.budget_account import BudgetAccount
from kproxy.net.relay.buffer_budget import SMALL_FRAME_BYTES, BufferBudget

KIB = 1024


def never() -> None:
    raise AssertionError("nobody waited for this")


def test_a_small_frame_takes_no_reservation() -> None:
    budget = BufferBudget(1024 * KIB)

    has_changed = BudgetAccount(budget).reserve(SMALL_FRAME_BYTES, never)

    assert not has_changed
    assert budget.held_bytes == 0


def test_a_large_frame_is_reserved_once_and_given_back_when_it_is_whole() -> None:
    budget = BufferBudget(1024 * KIB)
    account = BudgetAccount(budget)

    changes = [account.reserve(frame_bytes, never) for frame_bytes in (100 * KIB, 100 * KIB, 0, 0)]

    assert changes == [True, False, True, False]
    assert (account.reserved_bytes, budget.held_bytes) == (0, 0)


def test_a_frame_without_room_waits_until_another_connection_gives_some_back() -> None:
    budget, granted = BufferBudget(200 * KIB), list[bool]()
    first, second = BudgetAccount(budget), BudgetAccount(budget)
    first.reserve(150 * KIB, never)
    second.reserve(100 * KIB, lambda: granted.append(second.awaits_grant))
    awaited = (first.awaits_grant, second.awaits_grant)

    first.reserve(0, never)

    assert awaited == (False, True)
    assert granted == [False]
    assert budget.held_bytes == 100 * KIB


def test_waiting_bytes_are_too_many_when_the_budget_is_exceeded_and_this_one_has_its_share_of_them() -> None:
    budget = BufferBudget(100 * KIB)
    small, large = BudgetAccount(budget), BudgetAccount(budget)

    answers = [
        small.note_waiting(0),
        small.note_waiting(10 * KIB),
        large.note_waiting(120 * KIB),
        small.note_waiting(10 * KIB),
        large.note_waiting(0),
    ]

    assert answers == [False, False, True, False, False]
    assert budget.held_bytes == 10 * KIB


def test_a_connection_that_ends_gives_everything_back_and_is_granted_nothing_more() -> None:
    budget = BufferBudget(200 * KIB)
    stays, leaves = BudgetAccount(budget), BudgetAccount(budget)
    stays.reserve(150 * KIB, never)
    leaves.reserve(100 * KIB, never)
    leaves.note_waiting(7 * KIB)

    leaves.close()
    stays.close()

    assert budget.held_bytes == 0


def test_a_closed_account_takes_nothing_any_more() -> None:
    budget = BufferBudget(200 * KIB)
    account = BudgetAccount(budget)
    account.close()

    answers = [account.reserve(100 * KIB, never), account.note_waiting(300 * KIB)]

    assert answers == [False, False]
    assert (budget.held_bytes, account.awaits_grant) == (0, False)
