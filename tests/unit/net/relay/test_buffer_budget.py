"""All connections together hold no more than they may, and every frame that was begun can end."""

from functools import partial

from kproxy.net.relay.buffer_budget import (
    FIRST_STEP_BYTES,
    LARGEST_STEP_BYTES,
    SMALL_FRAME_BYTES,
    BudgetAccount,
    BufferBudget,
    most_ms_at_place,
)

KIB = 1024


def never() -> None:
    raise AssertionError("nobody waited for this")


def test_what_comes_of_frames_is_held_until_the_limit_and_then_waits_but_for_the_first_that_came_to_it() -> (
    None
):
    budget, granted = BufferBudget(100), list[str]()

    answers = [budget.hold(name, 30, 20, lambda name=name: granted.append(name)) for name in "abcd"]  # type: ignore[misc]

    assert answers == [True, True, True, False]
    assert granted == []
    assert budget.held_bytes == 50 + 50 + 50 + 30


def test_who_waits_is_let_in_when_there_is_room_again_the_smaller_before_the_larger() -> None:
    budget, granted = BufferBudget(100), list[str]()
    budget.hold("held", 60, 10, never)
    budget.hold("first", 20, 30, never)
    budget.hold("larger", 1, 90, lambda: granted.append("larger"))
    budget.hold("smaller", 1, 10, lambda: granted.append("smaller"))

    budget.release("held")

    assert granted == ["smaller"]
    assert budget.left_bytes == 0


def test_the_first_that_waits_goes_on_when_the_first_before_it_has_ended_whatever_is_held() -> None:
    budget, granted = BufferBudget(100), list[str]()
    budget.note_waiting("slow peer", 200)
    budget.hold("first", 20, 30, never)
    for name in ("second", "third"):
        budget.hold(name, 10, 10, lambda name=name: granted.append(name))  # type: ignore[misc]

    budget.release("first")
    goes_on = budget.hold("second", 20, 20, never)

    assert granted == ["second"]
    assert goes_on


def test_one_who_gives_up_waiting_leaves_its_place_to_others() -> None:
    budget, granted = BufferBudget(100), list[str]()
    budget.hold("first", 80, 30, never)
    budget.hold("second", 10, 20, lambda: granted.append("second"))
    budget.hold("third", 10, 20, lambda: granted.append("third"))

    budget.release("second")
    budget.release("first")

    assert granted == ["third"]
    assert budget.held_bytes == 30


def test_what_slow_peers_have_taken_lets_those_in_who_wait() -> None:
    budget, granted = BufferBudget(100), list[str]()
    budget.note_waiting("slow peer", 90)
    budget.hold("first", 5, 10, never)
    budget.hold("second", 5, 10, lambda: granted.append("second"))

    budget.note_waiting("slow peer", 10)

    assert granted == ["second"]


def test_who_waits_for_its_part_of_the_limit_reads_no_further_although_others_wait_for_more() -> None:
    # Given
    budget = BufferBudget(100)
    budget.note_waiting("slowest", 200)
    budget.note_waiting("slow", 49)
    before = budget.exceeds_share(49)

    # When
    budget.note_waiting("slow", 50)

    # Then
    assert (before, budget.exceeds_share(50)) == (False, True)


def test_what_was_just_read_keeps_those_out_who_wait_for_room_until_it_is_forgotten() -> None:
    # Given
    budget, granted = BufferBudget(100), list[str]()
    budget.hold("first", 90, 20, never)
    budget.note_read(80)
    budget.hold("second", 10, 20, lambda: granted.append("second"))
    budget.release("first")
    budget.hold("third", 10, 20, lambda: granted.append("third"))
    before = list(granted)

    # When
    budget.forget_read()

    # Then
    assert (before, granted) == (["second"], ["second", "third"])


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


def test_a_whole_answer_is_let_in_where_there_is_room_or_nobody_else_has_taken_any() -> None:
    budget = BufferBudget(2 * SMALL_FRAME_BYTES)

    let_in = [budget.take_whole(name, 2 * SMALL_FRAME_BYTES + 1) for name in ("first", "second")]
    small_one = budget.take_whole("third", SMALL_FRAME_BYTES)

    assert [*let_in, small_one] == [True, False, True]
    assert budget.held_bytes == 3 * SMALL_FRAME_BYTES + 1


def one_at_the_place(size: int = 100 * KIB) -> tuple[BufferBudget, BudgetAccount, BudgetAccount]:
    """Return a budget that is used up, who was let in all the same with so large a frame, and who waits."""
    budget = BufferBudget(KIB)
    budget.note_waiting("slow peers", KIB)
    first, second = BudgetAccount(budget), BudgetAccount(budget)
    first.hold(size // 2, size // 2, 1, never)
    second.hold(50 * KIB, 50 * KIB, 1, lambda: None)
    return budget, first, second


def test_what_was_let_in_beyond_the_limit_keeps_others_out_until_it_has_left_whatever_became_of_it() -> None:
    # Given
    _, first, second = one_at_the_place()
    waits = []

    # When
    first.note_waiting(100 * KIB)  # it is whole, and waits for a turn
    first.hold(0, 0, 1, never)
    waits.append(second.awaits_grant)
    first.take(300 * KIB)  # it is being answered
    first.note_waiting(0)
    waits.append(second.awaits_grant)
    first.note_waiting(200 * KIB)  # the answer waits for its client
    first.take(-300 * KIB)
    waits.append(second.awaits_grant)
    first.note_waiting(SMALL_FRAME_BYTES)
    waits.append(second.awaits_grant)

    # Then
    assert waits == [True, True, True, False]


def test_who_was_let_in_beyond_the_limit_has_to_have_all_taken_before_more_is_read_for_it() -> None:
    _, first, _ = one_at_the_place()

    first.note_waiting(1)

    assert first.has_too_much


def test_who_was_let_in_beyond_the_limit_keeps_nobody_out_when_there_is_room_again() -> None:
    budget, first, second = one_at_the_place()
    first.note_waiting(900)
    first.hold(0, 0, 1, never)

    budget.note_waiting("slow peers", 0)
    third = BudgetAccount(budget)
    third.hold(50 * KIB, 50 * KIB, 1, never)

    assert (second.awaits_grant, third.awaits_grant) == (False, True)


def test_answers_of_brokers_and_requests_of_clients_take_turns_beyond_the_limit() -> None:
    # Given
    budget, let_in = BufferBudget(KIB), list[str]()
    first = BudgetAccount(budget)
    first.hold(50 * KIB, 50 * KIB, 1, never)
    accounts = {name: BudgetAccount(budget) for name in ("r1", "r2", "r3", "a1", "a2")}
    for name, account in accounts.items():
        account.hold(50 * KIB, 50 * KIB, 1, partial(let_in.append, name), is_answer=name.startswith("a"))

    # When
    first.close()
    while len(let_in) < len(accounts):
        accounts[let_in[-1]].close()

    # Then
    assert let_in == ["a1", "r1", "a2", "r2", "r3"]


def test_who_drips_while_others_wait_is_told_to_end_and_the_next_one_is_let_in() -> None:
    # Given
    budget, first, second = one_at_the_place()
    told = list[str]()
    first.on_overstayed = lambda: told.append("first")
    most_ms = most_ms_at_place(100 * KIB, 30_000)

    # When
    budget.look_at_place(1_000, 30_000)
    budget.look_at_place(1_000 + most_ms, 30_000)
    in_time = list(told), second.awaits_grant
    budget.look_at_place(1_001 + most_ms, 30_000)

    # Then
    assert in_time == ([], True)
    assert (told, second.awaits_grant) == (["first"], False)


def test_who_is_let_in_beyond_the_limit_has_all_the_time_of_a_frame_while_nobody_waits_for_it() -> None:
    budget, first, second = one_at_the_place()
    first.on_overstayed = never
    second.close()

    for now_ms in (0, 10_000, 20_000, 30_000):
        budget.look_at_place(now_ms, 30_000)

    assert budget.has_place(first)


def test_time_begins_anew_for_each_that_is_let_in_beyond_the_limit() -> None:
    # Given
    budget, first, second = one_at_the_place()
    third = BudgetAccount(budget)
    third.hold(50 * KIB, 50 * KIB, 1, lambda: None)
    told = list[str]()
    second.on_overstayed = lambda: told.append("second")

    # When
    budget.look_at_place(0, 30_000)
    first.close()
    for now_ms in (3_000, 6_000):
        budget.look_at_place(now_ms, 30_000)
    in_time = list(told)
    budget.look_at_place(7_000, 30_000)

    # Then
    assert (in_time, told) == ([], ["second"])


def test_a_request_that_kproxy_takes_long_to_answer_ends_no_connection_and_keeps_nobody_out_for_ever() -> (
    None
):
    # Given
    budget, first, second = one_at_the_place()
    first.on_overstayed = never
    first.take(300 * KIB)
    first.hold(0, 0, 1, never)

    # When
    budget.look_at_place(0, 30_000)
    budget.look_at_place(30_000, 30_000)

    # Then
    assert not second.awaits_grant


def test_a_large_frame_has_more_time_beyond_the_limit_than_a_small_one_but_no_more_than_a_deadline() -> None:
    sizes = [100 * KIB, 8192 * KIB, 100 * 1024 * KIB]

    assert [most_ms_at_place(size, 30_000) for size in sizes] == [3_097, 11_000, 30_000]


def test_a_client_that_leaves_while_its_request_is_answered_keeps_nobody_out() -> None:
    budget, first, second = one_at_the_place()
    first.take(300 * KIB)

    first.close()
    with_what_is_answered = budget.held_bytes
    first.take(-300 * KIB)

    assert not second.awaits_grant
    assert with_what_is_answered - budget.held_bytes == 300 * KIB
