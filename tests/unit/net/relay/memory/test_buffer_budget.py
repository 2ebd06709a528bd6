"""All connections together hold no more than they may, and every frame that was begun can end."""

from functools import partial

import pytest

from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import (
    SMALL_FRAME_BYTES,
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


def test_who_is_let_in_beyond_the_limit_has_all_the_time_of_a_frame_while_nobody_waits_for_it() -> None:
    budget, first, second = one_at_the_place()
    first.on_overstayed = never
    second.close()

    for now_ms in (0, 10_000, 20_000, 30_000):
        budget.look(now_ms, 30_000)

    assert budget.has_place(first)


def test_a_request_that_kproxy_takes_long_to_answer_ends_no_connection_and_keeps_nobody_out_for_ever() -> (
    None
):
    # Given
    budget, first, second = one_at_the_place()
    first.on_overstayed = never
    first.take(300 * KIB)
    first.hold(0, 0, 1, never)

    # When
    for now_ms in range(0, 31_000, 1_000):
        budget.look(now_ms, 30_000)

    # Then
    assert not second.awaits_grant


def test_a_client_that_leaves_while_its_request_is_answered_keeps_nobody_out() -> None:
    budget, first, second = one_at_the_place()
    first.take(300 * KIB)

    first.close()
    with_what_is_answered = budget.held_bytes
    first.take(-300 * KIB)

    assert not second.awaits_grant
    assert with_what_is_answered - budget.held_bytes == 300 * KIB


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


def test_a_request_does_not_go_on_at_the_place_that_an_answer_to_the_same_client_was_given() -> None:
    # Given
    budget = BufferBudget(KIB)
    budget.note_waiting("slow peers", KIB)
    first, second = BudgetAccount(budget), BudgetAccount(budget)
    first.hold(50 * KIB, 50 * KIB, 1, never, is_answer=True)
    second.hold(50 * KIB, 50 * KIB, 1, lambda: None)

    # When
    first.hold(50 * KIB, 50 * KIB, 1, never)
    first.hold(51 * KIB, 49 * KIB, 1, lambda: None)

    # Then
    assert (first.awaits_grant, second.awaits_grant) == (True, False)


@pytest.mark.parametrize(("bytes_a_second", "is_ended"), [(200 * KIB, True), (2_048 * KIB, False)])
def test_who_drips_at_the_place_while_others_wait_is_ended_and_the_next_one_is_let_in(
    bytes_a_second: int,
    is_ended: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    # Given
    size = 32_768 * KIB
    budget, first, second = one_at_the_place(size)
    told, seen = list[str](), []
    first.on_overstayed = lambda: told.append("first")

    # When
    for second_number in range(6):
        came = size // 2 + second_number * bytes_a_second
        if not told:
            first.hold(came, size - came, 1, never)
        budget.look(1_000 * second_number, 30_000)
        seen.append(len(told))

    # Then
    assert seen[:3] == [0, 0, 0]
    assert (told[:1], second.awaits_grant) == ((["first"], False) if is_ended else ([], True))


def test_time_begins_anew_for_each_that_is_let_in_beyond_the_limit() -> None:
    # Given
    budget, first, second = one_at_the_place()
    third = BudgetAccount(budget)
    third.hold(50 * KIB, 50 * KIB, 1, lambda: None)
    told = list[str]()
    second.on_overstayed = lambda: told.append("second")

    # When
    seen = []
    for now_ms in range(0, 7_000, 1_000):
        budget.look(now_ms, 30_000)
        if now_ms == 2_000:
            first.close()
        seen.append(len(told))

    # Then
    assert seen == [0, 0, 0, 0, 0, 0, 1]


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
    budget = BufferBudget(KIB)
    much = BudgetAccount(budget)
    much.on_overstayed = never
    much.note_waiting(8000 * KIB)

    # When
    for now_ms in range(0, 100_000, 1_000):
        budget.look(now_ms, 30_000)

    # Then
    assert budget.is_exceeded


def test_of_requests_that_wait_beyond_the_limit_the_smallest_and_the_oldest_go_on_in_turn() -> None:
    # Given
    budget, let_in = BufferBudget(KIB), list[str]()
    first = BudgetAccount(budget)
    first.hold(50 * KIB, 50 * KIB, 1, never)
    sizes = {"oldest": 900, "large": 800, "smaller": 300, "smallest": 200, "last": 1_000}
    accounts = {name: BudgetAccount(budget) for name in sizes}
    for name, size in sizes.items():
        accounts[name].hold(50 * KIB, size * KIB, 1, partial(let_in.append, name))

    # When
    first.close()
    while len(let_in) < len(accounts):
        accounts[let_in[-1]].close()

    # Then
    assert let_in == ["smallest", "oldest", "smaller", "large", "last"]


def test_a_look_that_comes_late_takes_no_time_from_whoever_has_the_place() -> None:
    budget, first, _ = one_at_the_place()
    first.on_overstayed = never

    for now_ms in (0, 60_000):
        budget.look(now_ms, 30_000)

    assert budget.has_place(first)


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
