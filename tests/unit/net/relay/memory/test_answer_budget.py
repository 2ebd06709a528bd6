"""Bytes for kproxy's own answers: granted before they are read, from what all connections share."""

from kproxy.net.relay.memory.answer_budget import SMALLEST_GRANT_BYTES, AnswerBudget
from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import RelayUnderTest, share_fetch
from tests.worlds.waiting import until

MIB = 1024 * 1024


def test_an_answer_is_granted_what_it_wants_while_there_is_room() -> None:
    # Given
    budget = BufferBudget(8 * MIB)

    # When
    granted = AnswerBudget(budget).grant(3 * MIB)

    # Then
    assert granted == 3 * MIB
    assert budget.held_bytes == 3 * MIB


def test_what_many_answers_hold_stays_at_the_limit_but_for_a_little_each() -> None:
    # Given
    budget = BufferBudget(8 * MIB)

    # When
    granted = [AnswerBudget(budget).grant(4 * MIB) for _ in range(16)]

    # Then
    assert granted == [4 * MIB, 4 * MIB] + [SMALLEST_GRANT_BYTES] * 14


def test_what_waits_for_slow_clients_counts() -> None:
    # Given
    budget = BufferBudget(8 * MIB)
    budget.note_waiting("a client that does not read", 7 * MIB)

    # When
    granted = AnswerBudget(budget).grant(4 * MIB)

    # Then
    assert granted == MIB


def test_what_an_answer_keeps_counts_beside_what_is_granted_until_the_request_is_left() -> None:
    # Given
    budget = BufferBudget(8 * MIB)

    # When
    with AnswerBudget(budget, request_bytes=1) as answer:
        answer.keep(9 * MIB)
        answer.keep(MIB)
        answer.grant(1_000)
        held_bytes = budget.held_bytes
        answer.give_back()

        # Then
        assert (held_bytes, budget.held_bytes) == (10 * MIB + 1_001, 10 * MIB + 1)
    assert budget.held_bytes == 0


def test_a_grant_takes_the_place_of_the_one_before() -> None:
    # Given
    budget = BufferBudget(8 * MIB)
    answer = AnswerBudget(budget)
    answer.grant(5 * MIB)

    # When
    granted = answer.grant(6 * MIB)

    # Then
    assert granted == 6 * MIB
    assert budget.held_bytes == 6 * MIB


def test_an_answer_that_is_over_holds_nothing() -> None:
    # Given
    budget = BufferBudget(8 * MIB)

    # When
    with AnswerBudget(budget) as answer:
        answer.grant(5 * MIB)
        held_meanwhile = budget.held_bytes

    # Then
    assert (held_meanwhile, budget.held_bytes) == (5 * MIB, 0)


def test_a_frame_that_waits_for_room_is_let_in_although_answers_are_asked_for_all_the_time() -> None:
    # Given
    budget, granted = BufferBudget(8 * MIB), list[str]()
    answers = [AnswerBudget(budget) for _ in range(7)]
    for answer in answers:
        answer.grant(MIB)
    budget.hold("another frame", MIB, MIB, lambda: None)
    budget.hold("a Metadata response of 2 MiB", MIB, MIB, lambda: granted.append("the frame"))

    # When
    for answer in answers:
        answer.give_back()
        answer.grant(MIB)

    # Then
    assert granted == ["the frame"]


def test_an_answer_gets_the_least_while_a_frame_waits_for_room_and_all_it_wants_after_that() -> None:
    # Given
    budget = BufferBudget(8 * MIB)
    budget.hold("a frame", 3 * MIB, 6 * MIB, lambda: None)
    budget.hold("a frame that waits", MIB, 6 * MIB, lambda: None)
    budget.hold("a frame", 3 * MIB, 0, lambda: None)

    # When
    granted_beside_it = AnswerBudget(budget).grant(MIB)
    budget.release("a frame that waits")
    granted_after = AnswerBudget(budget).grant(MIB)

    # Then
    assert granted_beside_it == SMALLEST_GRANT_BYTES
    assert granted_after == MIB


def test_a_frame_is_let_in_beside_answers_where_clients_that_do_not_read_hold_everything() -> None:
    # Given
    budget = BufferBudget(8 * MIB)
    budget.note_waiting("clients that do not read", 8 * MIB)
    AnswerBudget(budget).grant(MIB)

    # When
    is_let_in = budget.hold("a Metadata response", 70 * 1024, 16 * 1024, lambda: None)

    # Then
    assert is_let_in


def test_a_request_counts_for_as_long_as_it_is_being_answered_beside_what_its_answer_holds() -> None:
    # Given
    budget, held = BufferBudget(8 * MIB), list[int]()

    # When
    with AnswerBudget(budget, 3 * MIB) as answer:
        held.append(budget.held_bytes)
        granted = answer.grant(6 * MIB)
        held.append(budget.held_bytes)
        answer.give_back()
        held.append(budget.held_bytes)

    # Then
    assert granted == 5 * MIB
    assert held == [3 * MIB, 8 * MIB, 3 * MIB]
    assert budget.held_bytes == 0


async def test_an_answer_is_granted_of_what_all_connections_of_the_relay_share_until_it_is_over() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port, budget_bytes=8 * MIB) as under_test:
        # Given
        budget = under_test.relay.budget
        _, writer = await under_test.connect()
        writer.write(share_fetch(1))
        await under_test.apis.was_asked.wait()

        # When
        granted = under_test.apis.contexts[0].answer_budget.grant(16 * MIB)

        # Then
        assert 7 * MIB < granted < 8 * MIB, "the request is counted, too"
        assert budget.held_bytes == 8 * MIB
        under_test.apis.may_answer.set()
        await until(lambda: budget.held_bytes == 0)
        writer.close()


def test_where_the_budget_is_used_up_a_request_that_takes_much_may_not_be_kept_waiting() -> None:
    # Given
    budget = BufferBudget(2 * MIB)
    large, small = AnswerBudget(budget, MIB), AnswerBudget(budget, 64 * 1024)

    # When
    with_room = large.may_wait, small.may_wait
    budget.note_waiting("a client that does not read", MIB)

    # Then
    assert with_room == (True, True)
    assert (large.may_wait, small.may_wait) == (False, True)


def test_a_request_counts_as_soon_as_its_turn_has_come_and_beside_the_one_that_is_about_to_end() -> None:
    budget = BufferBudget(8 * MIB)
    account = BudgetAccount(budget)
    held = []

    with AnswerBudget(budget, MIB, account):
        following = AnswerBudget(budget, 2 * MIB, account)
        held.append(budget.held_bytes)
    held.append(budget.held_bytes)
    with following:
        pass

    assert [*held, budget.held_bytes] == [3 * MIB, 2 * MIB, 0]
