"""Long answers of other processes are decoded one after the other, beside the event loop."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from kproxy.errors import MalformedMessage
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.answer_decoder import LARGE_ANSWER_BYTES, AnswerDecoder
from kproxy.wire import codecs
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse

LIST_GROUPS = 16
MANY = ListGroupsResponse(groups=[ListedGroup(f"group-{number}") for number in range(20_000)])
FEW = ListGroupsResponse(groups=MANY.groups[:1])


def frame_of(message: ListGroupsResponse) -> bytes:
    return b"".join(bytes(part) for part in codecs.encode_response(LIST_GROUPS, 5, 1, message))[4:]


async def until_the_loop_runs(call: Callable[[], object]) -> None:
    """Call `call` once the event loop has had a few turns."""
    for _ in range(10):
        await asyncio.sleep(0)
    call()


async def test_one_thread_decodes_all_long_answers_while_the_event_loop_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    threads: list[int] = []
    has_gone_on = threading.Event()
    honest = codecs.decode_response

    def noted(api_key: int, version: int, frame: bytes) -> tuple[int, codecs.Message]:
        threads.append(threading.get_ident())
        assert has_gone_on.wait(10)
        return honest(api_key, version, frame)

    monkeypatch.setattr(codecs, "decode_response", noted)
    decoder, frame = AnswerDecoder(), frame_of(MANY)

    # When
    *messages, _ = await asyncio.gather(
        *(decoder.message_of(LIST_GROUPS, 5, frame) for _ in range(4)), until_the_loop_runs(has_gone_on.set)
    )
    decoder.close()

    # Then
    assert messages == [MANY] * 4
    assert len(threads) == 4
    assert len(set(threads)) == 1
    assert threading.get_ident() not in threads


async def test_what_is_no_answer_is_said_to_be_malformed_however_long_it_is() -> None:
    decoder = AnswerDecoder()

    for frame in (b"\xff" * 20, b"\xff" * (LARGE_ANSWER_BYTES + 1)):
        with pytest.raises(MalformedMessage):
            await decoder.message_of(LIST_GROUPS, 5, frame)
    decoder.close()


async def test_when_the_process_ends_what_waits_is_decoded_and_no_long_answer_after_it() -> None:
    # Given
    decoder, long = AnswerDecoder(), frame_of(MANY)
    waiting = asyncio.get_running_loop().create_task(decoder.message_of(LIST_GROUPS, 5, long))
    await asyncio.sleep(0)

    # When
    decoder.close()

    # Then
    assert await waiting == MANY
    assert await decoder.message_of(LIST_GROUPS, 5, frame_of(FEW)) == FEW
    with pytest.raises(PeerFailure, match="this process ends"):
        await decoder.message_of(LIST_GROUPS, 5, long)
