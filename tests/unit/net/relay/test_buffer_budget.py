"""`BufferBudget`: all connections together hold no more than they may, and every frame that was begun can end."""

from kproxy.net.relay.buffer_budget import BufferBudget


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
