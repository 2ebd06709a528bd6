"""An answer that is held until it is whole."""

import pytest

from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.whole_answer import WholeAnswer
from kproxy.net.relay.memory.buffer_budget import SMALL_FRAME_BYTES, BufferBudget
from tests.unit.net.relaying import response

LARGE = 2 * SMALL_FRAME_BYTES


def large(size: int = LARGE) -> bytes:
    """Return an answer of `size` bytes with its length."""
    return response(7, bytes(size - len(response(7, b""))))


async def test_the_parts_become_a_frame_without_its_length() -> None:
    answer = WholeAnswer(100, BufferBudget(1000))
    for part in (response(7)[:8], memoryview(response(7))[8:]):
        answer.receive(part)
    answer.end()

    assert await answer.frame() == response(7)[4:]


async def test_one_that_is_too_large_is_refused_before_it_is_held() -> None:
    budget = BufferBudget(1000)
    answer = WholeAnswer(9, budget)
    answer.receive(response(7))
    held_bytes = budget.held_bytes
    answer.end()

    with pytest.raises(PeerFailure, match="an answer of more than 9 bytes is not held"):
        await answer.frame()
    assert held_bytes == 0


async def test_one_that_was_lost_says_why() -> None:
    answer = WholeAnswer(10, BufferBudget(1000))
    answer.lose(PeerFailure("lost", "b closed the connection"))
    answer.lose(PeerFailure("lost", "and again"))

    with pytest.raises(PeerFailure, match="b closed the connection"):
        await answer.frame()


async def test_all_of_it_is_in_the_budget_from_its_first_part_until_it_was_used() -> None:
    budget = BufferBudget(2 * LARGE)

    with WholeAnswer(LARGE, budget) as answer:
        answer.receive(large()[:100])
        held_bytes = budget.held_bytes

    assert (held_bytes, budget.held_bytes) == (LARGE, 0)


async def test_one_that_has_no_room_beside_others_is_refused_in_words_and_holds_nothing() -> None:
    budget = BufferBudget(2 * LARGE - 1)
    WholeAnswer(LARGE, budget).receive(large()[:100])
    answer = WholeAnswer(LARGE, budget)

    answer.receive(large()[:100])
    answer.receive(large()[100:])
    answer.end()

    with pytest.raises(
        PeerFailure, match=r"no room .* 131072 bytes; see kproxy\.max\.buffered\.bytes"
    ) as failed:
        await answer.frame()
    assert failed.value.reason == "no_room"
    assert budget.held_bytes == LARGE


async def test_one_alone_is_let_in_however_small_the_budget() -> None:
    budget = BufferBudget(1)
    answer = WholeAnswer(LARGE, budget)

    answer.receive(large())
    answer.end()

    assert len(await answer.frame()) == LARGE - 4
