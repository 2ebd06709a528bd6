"""`AnswerDecoder`: what another process answers becomes a message, long answers beside the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_twin import GIVEN_UP
from kproxy.wire import codecs
from kproxy.wire.codecs import Message

LARGE_ANSWER_BYTES: Final = 256 * 1024
"""A larger answer, of more than some 8,000 groups, is decoded beside the event loop: 7 ms and more."""


class AnswerDecoder:
    """Decodes long answers one after the other in one thread: each thread more would take its turns from the loop.

    How many bytes wait for it is bounded by the budget that whoever asks holds for them meanwhile.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="answers-of-peers")
        self._is_closed = False

    async def message_of(self, api_key: int, version: int, frame: bytes) -> Message:
        """Return the message of an answer. A process may tell of any number of groups, and nothing of it is shared yet.

        Raises:
            MalformedMessage: it cannot be decoded.
            PeerFailure: it is long, and `close` was called.
        """
        if len(frame) <= LARGE_ANSWER_BYTES:
            _, message = codecs.decode_response(api_key, version, frame)
            return message
        if self._is_closed:
            raise PeerFailure(GIVEN_UP, "its answer is not looked at any more: this process ends")
        decoding = partial(codecs.decode_response, api_key, version, frame)
        _, message = await asyncio.get_running_loop().run_in_executor(self._thread, decoding)
        return message

    def close(self) -> None:
        """Decode no long answer from now on, but those that wait. Returns at once."""
        self._is_closed = True
        self._thread.shutdown(wait=False)
