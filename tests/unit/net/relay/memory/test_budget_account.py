"""`BudgetAccount`: what one connection has of the budget of all."""

from functools import partial

from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import (
    FIRST_STEP_BYTES,
    LARGEST_STEP_BYTES,
    SMALL_FRAME_BYTES,
    BufferBudget,
)

KIB = 1024


def never() -> None:
    raise AssertionError("nobody waited for this")


def test_a_frame_that_is_only_announced_takes_next_to_nothing() -> None:
    budget = BufferBudget(1024 * KIB)
    accounts = [BudgetAccount(budget) for _ in range(32)]

    waits = [account.hold(12, 8192 * KIB, 1, never) and account.awaits_grant for account in accounts]

    assert not any(waits)
    assert budget.held_bytes == 32 * (12 + FIRST_STEP_BYTES)


def test_room_is_made_for_as_much_as_came_up_to_one_read() -> None:
    budget = BufferBudget(1 << 30)
    account = BudgetAccount(budget)
    held = []

    for came_bytes in (1, 100 * KIB, 1000 * KIB, 1950 * KIB, 2000 * KIB):
        account.hold(came_bytes, 2000 * KIB - came_bytes, 1, never)
        held.append(budget.held_bytes - came_bytes)

    assert held == [FIRST_STEP_BYTES, 100 * KIB, LARGEST_STEP_BYTES, 50 * KIB, 0]


def test_a_small_frame_waits_for_no_room_and_what_came_of_it_counts() -> None:
    budget = BufferBudget(KIB)
    accounts = [BudgetAccount(budget) for _ in range(3)]

    for account in accounts:
        account.hold(10 * KIB, SMALL_FRAME_BYTES - 10 * KIB, 1, never)

    assert budget.held_bytes == 30 * KIB
    assert not any(account.awaits_grant or account.frame_bytes for account in accounts)


def test_frames_of_one_length_are_each_a_frame_of_its_own() -> None:
    account = BudgetAccount(BufferBudget(1024 * KIB))

    begins = [
        account.hold(came_bytes, 100 * KIB - came_bytes, number, never)
        for number, came_bytes in ((1, KIB), (1, 50 * KIB), (2, 50 * KIB), (3, 50 * KIB), (3, 60 * KIB))
    ]

    assert begins == [True, False, True, True, False]


def test_one_frame_after_the_other_is_not_always_the_first() -> None:
    budget, granted = BufferBudget(KIB), list[bool]()
    greedy, other = BudgetAccount(budget), BudgetAccount(budget)
    greedy.hold(50 * KIB, 50 * KIB, 1, never)
    other.hold(50 * KIB, 50 * KIB, 1, lambda: granted.append(other.awaits_grant))
    waited = other.awaits_grant

    greedy.hold(50 * KIB, 50 * KIB, 2, never)

    assert waited
    assert granted == [False]
    assert greedy.awaits_grant


def test_time_begins_anew_for_a_frame_that_waited_for_room() -> None:
    budget = BufferBudget(KIB)
    first, second = BudgetAccount(budget), BudgetAccount(budget)
    first.hold(50 * KIB, 50 * KIB, 1, never)
    second.hold(50 * KIB, 50 * KIB, 1, lambda: None)
    first.hold(0, 0, 1, never)

    begins = [second.hold(50 * KIB, 50 * KIB, 1, never) for _ in range(2)]

    assert begins == [True, False]
    assert second.frame_bytes == 100 * KIB


def test_waiting_bytes_are_too_many_when_the_budget_is_exceeded_and_this_one_has_its_share_of_them() -> None:
    budget = BufferBudget(100 * KIB)
    small, large = BudgetAccount(budget), BudgetAccount(budget)

    answers = []
    for account, waiting_bytes in ((small, 0), (small, 10), (large, 120), (small, 10), (large, 0)):
        account.note_waiting(waiting_bytes * KIB)
        answers.append(account.has_too_much)

    assert answers == [False, False, True, False, False]
    assert budget.held_bytes == 10 * KIB


def test_a_connection_that_ends_gives_everything_back_and_is_granted_nothing_more() -> None:
    budget = BufferBudget(100 * KIB)
    stays, leaves = BudgetAccount(budget), BudgetAccount(budget)
    stays.hold(80 * KIB, 70 * KIB, 1, never)
    leaves.hold(80 * KIB, 70 * KIB, 1, never)
    leaves.note_waiting(7 * KIB)

    leaves.close()
    stays.close()

    assert budget.held_bytes == 0
    assert leaves.holds_nothing


def test_a_closed_account_takes_nothing_any_more() -> None:
    budget = BufferBudget(200 * KIB)
    account = BudgetAccount(budget)
    account.close()

    account.hold(100 * KIB, 100 * KIB, 1, never)
    account.note_waiting(300 * KIB)

    assert not account.has_too_much
    assert (budget.held_bytes, account.awaits_grant) == (0, False)


def test_of_those_who_wait_beyond_the_limit_eight_answers_of_brokers_go_on_and_then_a_request() -> None:
    # Given
    budget, let_in = BufferBudget(KIB), list[str]()
    first = BudgetAccount(budget)
    first.hold(50 * KIB, 50 * KIB, 1, never)
    accounts = {name: BudgetAccount(budget) for name in ("r1", "r2", *(f"a{number}" for number in range(10)))}
    for name, account in accounts.items():
        account.hold(50 * KIB, 50 * KIB, 1, partial(let_in.append, name), is_answer=name.startswith("a"))

    # When
    first.close()
    while len(let_in) < len(accounts):
        accounts[let_in[-1]].close()

    # Then
    assert let_in == [*(f"a{number}" for number in range(8)), "r1", "a8", "a9", "r2"]


def test_of_requests_of_a_client_that_wait_beyond_the_limit_the_smallest_and_the_oldest_go_on_in_turn() -> (
    None
):
    # Given
    budget, let_in = BufferBudget(KIB), list[str]()
    first = BudgetAccount(budget)
    first.hold(50 * KIB, 50 * KIB, 1, never)
    sizes = {"oldest": 900, "large": 800, "smaller": 300, "smallest": 200, "last": 1_000}
    accounts = {name: BudgetAccount(budget) for name in sizes}
    for name, size in sizes.items():
        accounts[name].client = "one"
        accounts[name].hold(50 * KIB, size * KIB, 1, partial(let_in.append, name))

    # When
    first.close()
    while len(let_in) < len(accounts):
        accounts[let_in[-1]].close()

    # Then
    assert let_in == ["smallest", "oldest", "smaller", "large", "last"]


def test_a_client_of_many_connections_keeps_another_one_waiting_for_one_turn() -> None:
    # Given
    budget, let_in = BufferBudget(KIB), list[str]()
    first = BudgetAccount(budget)
    first.hold(50 * KIB, 50 * KIB, 1, never)
    accounts = {name: BudgetAccount(budget) for name in ("m0", "m1", "m2", "m3", "other")}
    for name, account in accounts.items():
        account.client = "many" if name.startswith("m") else name
        account.hold(50 * KIB, 50 * KIB, 1, partial(let_in.append, name), is_answer=True)

    # When
    first.close()
    while len(let_in) < len(accounts):
        accounts[let_in[-1]].close()

    # Then
    assert let_in == ["m0", "other", "m1", "m2", "m3"]


def test_an_answer_that_finds_room_leaves_the_place_beyond_the_limit_to_the_next_answer() -> None:
    # Given room for the first answer, behind whoever has the place, and for nothing else
    budget, let_in = BufferBudget(300 * KIB), list[str]()
    budget.note_waiting("slow peers", 290 * KIB)
    first = BudgetAccount(budget)
    first.hold(200 * KIB, 50 * KIB, 1, never)
    for name, missing in (("request", 80 * KIB), ("little answer", 16 * KIB), ("answer", 80 * KIB)):
        account = BudgetAccount(budget)
        account.hold(80 * KIB, missing, 1, partial(let_in.append, name), is_answer="answer" in name)

    # When
    budget.note_waiting("slow peers", 30 * KIB)
    first.close()

    # Then
    assert let_in == ["little answer", "answer"]
