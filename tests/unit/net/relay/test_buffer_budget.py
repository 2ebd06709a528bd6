"""All connections together hold no more than they may, and every frame that was begun can end."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kproxy.net.relay.buffer_budget import (
    FIRST_STEP_BYTES,
    LARGEST_STEP_BYTES,
    SMALL_FRAME_BYTES,
    BudgetAccount,
    BufferBudget,
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


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 120), st.booleans(), st.integers(0, 300)), max_size=60
    )
)
def test_whatever_happens_somebody_goes_on_while_anybody_waits_and_nothing_is_left_in_the_end(
    steps: list[tuple[int, int, bool, int]],
) -> None:
    budget = BufferBudget(100)
    waits, goes_on = set[int](), set[int]()

    def grant(owner: int) -> Callable[[], None]:
        def granted() -> None:
            waits.discard(owner)
            goes_on.add(owner)

        return granted

    for owner, amount, is_release, peers_bytes in steps:
        for each in (waits, goes_on):
            each.discard(owner)
        if is_release:
            budget.release(owner)
        else:
            (goes_on if budget.hold(owner, amount, amount, grant(owner)) else waits).add(owner)
        budget.note_waiting("peers", peers_bytes)
        assert goes_on or not waits
    budget.note_waiting("peers", 0)
    for owner in range(6):
        budget.release(owner)

    assert budget.held_bytes == 0


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
