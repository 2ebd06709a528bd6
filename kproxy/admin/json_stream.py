"""Answers in JSON: short ones whole, those of any length in chunks with the event loop free between them.

Whoever waits for the proxy must not wait for an inspection, and an inspection must not hold more than a chunk of its
answer. So an answer is made as it is written; what it is made from is either immutable or looked up piece by piece.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Final

from aiohttp import web

from kproxy.admin.json_chunks import LongAnswers, chunks
from kproxy.handlers.live.pauses import let_other_looks_go_on

_MAX_STREAMS: Final = 4
_WRITE_TIMEOUT_S: Final = 30.0
_NOT_STORED: Final = {"Cache-Control": "no-store"}


def json_text_response(text: str, *, status: int) -> web.Response:
    """Return a short answer whose JSON is written already."""
    return web.Response(text=text, status=status, content_type="application/json", headers=_NOT_STORED)


def json_response(answer: Mapping[str, object], *, status: int = 200) -> web.Response:
    """Return a short answer, made whole."""
    return json_text_response(json.dumps(answer, indent=2) + "\n", status=status)


class JsonStreams:
    """The long answers under way: `max_streams` at most, none of which waits for its reader longer than `timeout_s`."""

    __slots__ = ("_timeout_s", "_under_way")

    def __init__(self, *, max_streams: int = _MAX_STREAMS, timeout_s: float = _WRITE_TIMEOUT_S) -> None:
        self._under_way = LongAnswers(max_streams)
        self._timeout_s = timeout_s

    def reserved(self) -> AbstractContextManager[None]:
        """Count an answer as long as the block lasts. Raises TooManyStreams: there are as many as are allowed."""
        return self._under_way.reserved()

    async def send(self, request: web.Request, pieces: Iterable[str]) -> web.StreamResponse:
        """Answer `request` with the text that `pieces` make together; to be called while `reserved`.

        A reader that stands still loses its connection, and sees an answer without an end.
        """
        response = web.StreamResponse(
            headers={**_NOT_STORED, "Content-Type": "application/json; charset=utf-8"}
        )
        await response.prepare(request)
        try:
            for chunk in chunks(pieces):
                async with asyncio.timeout(self._timeout_s):
                    await response.write(chunk)
                await let_other_looks_go_on()
        except TimeoutError as stalled:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("the reader of a long answer stands still") from stalled
        await response.write_eof()
        return response
