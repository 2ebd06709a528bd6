"""All connections together hold no more than they may, and every frame that was begun can end."""

from kproxy.net.relay.buffer_budget import SMALL_FRAME_BYTES, BudgetAccount, BufferBudget


def test_frames_reserve_until_the_limit_and_then_wait_for_their_turn() -> None:
    budget, granted = BufferBudget(100), list[str]()

    answers = [
        budget.reserve("a", 60, lambda: granted.append("a")),
        budget.reserve("b", 41, lambda: granted.append("b")),
        budget.reserve("c", 10, lambda: granted.append("c")),
    ]

    assert answers == [True, False, False]
    assert granted == []
    assert budget.held_bytes == 60


def test_a_released_reservation_goes_to_those_who_waited_in_their_order() -> None:
    budget, granted = BufferBudget(100), list[str]()
    budget.reserve("a", 60, lambda: granted.append("a"))
    budget.reserve("b", 90, lambda: granted.append("b"))
    budget.reserve("c", 10, lambda: granted.append("c"))
    budget.reserve("d", 1, lambda: granted.append("d"))

    budget.release("a")

    assert granted == ["b", "c"]
    assert budget.held_bytes == 100


def test_one_who_gives_up_waiting_leaves_the_queue() -> None:
    budget, granted = BufferBudget(100), list[str]()
    budget.reserve("a", 60, lambda: granted.append("a"))
    budget.reserve("b", 90, lambda: granted.append("b"))
    budget.reserve("c", 40, lambda: granted.append("c"))

    budget.release("b")

    assert granted == ["c"]


def test_a_frame_above_the_limit_is_let_in_alone() -> None:
    budget = BufferBudget(100)

    assert budget.reserve("a", 500, lambda: None)
    assert not budget.reserve("b", 1, lambda: None)
    assert budget.is_exceeded


def test_bytes_that_wait_for_slow_peers_count_and_are_forgotten_when_taken() -> None:
    budget = BufferBudget(100)
    budget.note_waiting("a", 70)
    budget.note_waiting("b", 70)
    was_exceeded = budget.is_exceeded
    budget.note_waiting("a", 20)

    budget.note_waiting("b", 0)

    assert was_exceeded
    assert not budget.is_exceeded
    assert budget.held_bytes == 20


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


def test_a_whole_answer_is_let_in_where_there_is_room_or_nobody_else_has_taken_any() -> None:
    budget = BufferBudget(2 * SMALL_FRAME_BYTES)

    let_in = [budget.take_whole(name, 2 * SMALL_FRAME_BYTES + 1) for name in ("first", "second")]
    small_one = budget.take_whole("third", SMALL_FRAME_BYTES)

    assert [*let_in, small_one] == [True, False, True]
    assert budget.held_bytes == 3 * SMALL_FRAME_BYTES + 1
