"""An answer that is held until it is whole."""

import pytest

from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.whole_answer import WholeAnswer
from tests.unit.net.relaying import response


async def test_the_parts_become_a_frame_without_its_length() -> None:
    answer = WholeAnswer(100)
    for part in (response(7)[:3], memoryview(response(7))[3:]):
        answer.receive(part)
    answer.end()

    assert await answer.frame() == response(7)[4:]


async def test_one_that_is_too_large_is_refused_and_let_go() -> None:
    answer = WholeAnswer(10)
    answer.receive(bytes(11))
    answer.end()

    with pytest.raises(PeerFailure, match="an answer of more than 10 bytes is not held"):
        await answer.frame()


async def test_one_that_was_lost_says_why() -> None:
    answer = WholeAnswer(10)
    answer.lose(PeerFailure("lost", "b closed the connection"))
    answer.lose(PeerFailure("lost", "and again"))

    with pytest.raises(PeerFailure, match="b closed the connection"):
        await answer.frame()
