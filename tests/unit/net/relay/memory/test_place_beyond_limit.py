"""`PlaceBeyondLimit`: who has it for how long, and who is next."""

import asyncio

import pytest

from kproxy.net.relay.client_connection import ClientConnection
from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import SMALL_FRAME_BYTES, BufferBudget
from kproxy.net.relay.memory.place_beyond_limit import LITTLE_BYTES, MOST_LOOKS, PlaceBeyondLimit, Verdict
from kproxy.net.relay.memory.waiting_line import WaitingLine, Wish
from kproxy.security.principal import ANONYMOUS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import RelayUnderTest, share_search
from tests.worlds.waiting import until

KIB = 1024
MIB = 1024 * KIB
STAYS, LITTLE, LATE = Verdict.STAYS, Verdict.BRINGS_LITTLE, Verdict.OVERSTAYS


def looked(held: list[int], *, apart_ms: int = 100, place: PlaceBeyondLimit | None = None) -> list[Verdict]:
    """Return what was said at each look, so many milliseconds apart, by what was held."""
    place = place or PlaceBeyondLimit()
    place.give("owner", is_answer=False, held_bytes=0)
    return [
        place.look(number * apart_ms, held_bytes, patience_ms=3_000, most_ms=30_000)
        for number, held_bytes in enumerate(held)
    ]


def test_who_brings_nothing_has_it_for_three_looks_after_the_first() -> None:
    assert looked([KIB] * 4) == [STAYS, STAYS, STAYS, LITTLE]


def test_looks_that_come_soon_after_each_other_are_no_reason_to_leave_it() -> None:
    held = [0] + [LITTLE_BYTES] * 27

    told = looked(held, apart_ms=10)

    assert (told[:26], told[26]) == ([STAYS] * 26, LITTLE)


@pytest.mark.parametrize(("bytes_at_once", "verdict"), [(LITTLE_BYTES, STAYS), (LITTLE_BYTES - 1, LITTLE)])
def test_who_brings_enough_stays_be_it_all_at_once(bytes_at_once: int, verdict: Verdict) -> None:
    held = [0, bytes_at_once, bytes_at_once, bytes_at_once]

    assert looked(held)[-1] is verdict


def test_enough_counts_from_when_enough_came_last() -> None:
    held = [0, 0, LITTLE_BYTES] + [LITTLE_BYTES] * MOST_LOOKS

    assert looked(held) == [STAYS] * (2 + MOST_LOOKS) + [LITTLE]


def test_who_is_quick_enough_until_its_time_is_over_overstays() -> None:
    """Three seconds, and one for each MiB: at half of one a second that is after six."""
    held = [number * MIB // 20 for number in range(62)]

    told = looked(held)

    assert (told.index(LATE), set(told[:60])) == (60, {STAYS})


def test_nobody_has_it_for_longer_than_a_frame_may_take() -> None:
    told = looked([number * 10 * MIB for number in range(31)], apart_ms=1_000)

    assert told == [STAYS] * 30 + [LATE]


def test_time_begins_anew_when_nobody_else_had_waited() -> None:
    place = PlaceBeyondLimit()
    before = looked([KIB] * 3, place=place)

    place.forget_time()
    after = [place.look(50_000 + 100 * number, KIB, patience_ms=3_000, most_ms=30_000) for number in range(4)]

    assert (before, after) == ([STAYS] * 3, [STAYS, STAYS, STAYS, LITTLE])


def test_what_is_held_no_more_counts_as_brought() -> None:
    """What was read is dealt with, and leaves, while the same frame goes on."""
    assert looked([KIB, 200 * KIB, KIB, KIB, KIB]) == [STAYS, STAYS, STAYS, STAYS, LITTLE]


def test_the_place_is_whose_it_was_given_to_until_it_is_left() -> None:
    place = PlaceBeyondLimit()

    place.give("owner", is_answer=True, held_bytes=5)
    seen = [(place.owner, place.is_for_answer)]
    place.leave()
    seen.append((place.owner, place.is_for_answer))
    place.give("other", is_answer=False, held_bytes=0)

    assert [*seen, (place.owner, place.is_for_answer)] == [("owner", True), (None, True), ("other", False)]


def test_eight_answers_are_followed_by_a_request_and_of_these_smallest_and_oldest_have_turns() -> None:
    # Given
    place, queues = PlaceBeyondLimit(), (WaitingLine(), WaitingLine())
    sizes = {
        "oldest": 4,
        "old": 3,
        "small": 2,
        "smallest": 1,
        **{f"answer {number}": 9 for number in range(9)},
    }
    for name, frame_bytes in sizes.items():
        is_answer = name.startswith("answer")
        queues[is_answer].add(name, Wish(1, lambda: None, is_answer, frame_bytes))

    # When
    order = []
    while any(queues):
        owner = place.next_of(*queues)
        queue = queues[owner in queues[1]]
        place.give(owner, is_answer=queue is queues[1], held_bytes=0)
        queue.serve(owner)
        order.append(owner)

    # Then
    answers = [f"answer {number}" for number in range(8)]
    assert order == [*answers, "old", "answer 8", "oldest", "small", "smallest"]


# ---- as the budget of all connections has it


def never() -> None:
    raise AssertionError("nobody waited for this")


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


def test_a_look_that_comes_late_takes_no_time_from_whoever_has_the_place() -> None:
    budget, first, _ = one_at_the_place()
    first.on_overstayed = never

    for now_ms in (0, 60_000):
        budget.look(now_ms, 30_000)

    assert budget.has_place(first)


def test_who_brings_nothing_at_the_place_leaves_it_to_the_next_one_and_goes_on_in_its_next_turn() -> None:
    # Given
    budget, first, second = one_at_the_place()
    first.on_overstayed = never
    let_in = list[str]()
    seen = []

    # When
    for now_ms in range(0, 400, 100):
        budget.look_at_place(now_ms, 30_000)
        seen.append(second.awaits_grant)
    first.hold(51 * KIB, 49 * KIB, 1, lambda: let_in.append("first"))
    waited = first.awaits_grant
    second.close()

    # Then
    assert (seen, waited, let_in) == ([True, True, True, False], True, ["first"])


def test_who_brings_nothing_at_the_place_keeps_it_while_its_request_is_answered() -> None:
    budget, first, second = one_at_the_place()
    first.take(300 * KIB)
    first.hold(100 * KIB, 0, 1, never)

    for now_ms in range(0, 2_900, 100):
        budget.look_at_place(now_ms, 30_000)

    assert second.awaits_grant


def test_who_brings_nothing_has_three_looks_from_when_others_wait_again() -> None:
    # Given
    budget, first, second = one_at_the_place()
    first.on_overstayed = never
    for now_ms in (0, 100, 200):
        budget.look_at_place(now_ms, 30_000)
    second.close()
    budget.look_at_place(300, 30_000)

    # When
    third, seen = BudgetAccount(budget), []
    third.hold(50 * KIB, 50 * KIB, 1, lambda: None)
    for now_ms in range(10_000, 10_400, 100):
        budget.look_at_place(now_ms, 30_000)
        seen.append(third.awaits_grant)

    # Then
    assert seen == [True, True, True, False]


async def test_a_large_request_does_not_wait_for_all_clients_that_began_one_and_fell_silent() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, budget_bytes=1) as under_test:
        silent = [await under_test.connect_unread() for _ in range(8)]
        for each in silent:
            await each.send(share_search(1, key_bytes=2_500)[:16_000])
        sessions = [connection.session for connection in under_test.relay.connections]
        await until(lambda: all(session.held_frames[0].came for session in sessions))

        waiting = [each for each in under_test.relay.connections if isinstance(each, ClientConnection)]
        client = await under_test.connect_unread()
        await client.send(share_search(2, key_count=4))
        async with asyncio.timeout(10):
            answer = await client.read_frame()

        assert answer.count(b"k" * 30_000) == 4
        assert {getattr(each.holder, "client", None) for each in waiting} == {("127.0.0.1", ANONYMOUS)}
        assert under_test.counted.of("connection_errors", "client", "frame_stalled") == 0
        for each in (*silent, client):
            each.close()
