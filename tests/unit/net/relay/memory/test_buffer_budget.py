"""All connections together hold no more than they may, and every frame that was begun can end."""

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


def test_who_wants_less_room_than_before_lets_others_in() -> None:
    budget, granted = BufferBudget(100), list[str]()
    budget.hold("first", 80, 30, never)
    budget.hold("held", 10, 0, never)
    budget.hold("waits", 5, 4, lambda: granted.append("waits"))

    budget.hold("first", 80, 0, never)

    assert granted == ["waits"]


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


def test_one_whole_answer_is_let_in_whatever_is_held_and_the_next_when_it_was_used() -> None:
    """The request that it is for has taken something itself, and so have share sessions."""
    # Given
    budget, large_bytes = BufferBudget(1), 2 * SMALL_FRAME_BYTES
    budget.take("the request", 100)
    budget.hold("has the place", 1, 1000, never)
    budget.hold("waits", 1, 1000, never)
    budget.take_whole("small", SMALL_FRAME_BYTES)

    # When
    let_in = [budget.take_whole(name, large_bytes) for name in ("first", "second")]
    budget.take("first", 0)
    let_in.append(budget.take_whole("second", large_bytes))

    # Then
    assert let_in == [True, False, True]


def test_a_whole_answer_is_let_in_where_there_is_room_or_no_other_one_is_held() -> None:
    budget = BufferBudget(2 * SMALL_FRAME_BYTES)

    let_in = [budget.take_whole(name, 2 * SMALL_FRAME_BYTES + 1) for name in ("first", "second")]
    small_one = budget.take_whole("third", SMALL_FRAME_BYTES)

    assert [*let_in, small_one] == [True, False, True]
    assert budget.held_bytes == 3 * SMALL_FRAME_BYTES + 1
