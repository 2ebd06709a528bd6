"""Answers in JSON: short ones whole, those of any length in chunks with the event loop free between them.

Whoever waits for the proxy must not wait for an inspection, and an inspection must not hold more than a chunk of its
answer. So an answer is made as it is written; what it is made from is either immutable or looked up piece by piece.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from aiohttp import web

from kproxy.errors import KproxyError

CHUNK_LENGTH: Final = 64 * 1024
"""Characters after which a chunk is written."""
SLICE_S: Final = 0.002
"""Seconds after which a chunk is written however short it is: for so long other work may have to wait."""
_MAX_STREAMS: Final = 4
_WRITE_TIMEOUT_S: Final = 30.0
_NOT_STORED: Final = {"Cache-Control": "no-store"}


class TooManyStreams(KproxyError):
    """As many long answers as are allowed are being written. Raised by `JsonStreams`, told as 503."""


class TooLong(KproxyError):
    """An answer that is to be held whole is longer than is allowed. Raised by `gathered`."""


def json_text_response(text: str, *, status: int) -> web.Response:
    """Return a short answer whose JSON is written already."""
    return web.Response(text=text, status=status, content_type="application/json", headers=_NOT_STORED)


def json_response(answer: Mapping[str, object], *, status: int = 200) -> web.Response:
    """Return a short answer, made whole."""
    return json_text_response(json.dumps(answer, indent=2) + "\n", status=status)


def chunks(pieces: Iterable[str], *, now_s: Callable[[], float] = time.perf_counter) -> Iterator[bytes]:
    """Join `pieces` to chunks that end after CHUNK_LENGTH or SLICE_S, whichever comes first."""
    gathered: list[str] = []
    length = 0
    begun_s = now_s()
    for piece in pieces:
        gathered.append(piece)
        length += len(piece)
        if length >= CHUNK_LENGTH or now_s() - begun_s >= SLICE_S:
            yield "".join(gathered).encode()
            gathered.clear()
            length = 0
            begun_s = now_s()
    if gathered:
        yield "".join(gathered).encode()


async def gathered(pieces: Iterable[str], most_bytes: int) -> bytes:
    """Return `pieces` as a whole, made with the event loop free in between. Raises TooLong above `most_bytes`."""
    whole = bytearray()
    for chunk in chunks(pieces):
        whole += chunk
        if len(whole) > most_bytes:
            raise TooLong(
                f"what it has to tell is longer than {most_bytes} bytes: ask its own admin port with scope=local"
            )
        await asyncio.sleep(0)
    return bytes(whole)


class JsonStreams:
    """The long answers under way: `max_streams` at most, none of which waits for its reader longer than `timeout_s`."""

    __slots__ = ("_count", "_max_streams", "_timeout_s")

    def __init__(self, *, max_streams: int = _MAX_STREAMS, timeout_s: float = _WRITE_TIMEOUT_S) -> None:
        self._max_streams = max_streams
        self._timeout_s = timeout_s
        self._count = 0

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Count an answer as long as the block lasts. Raises TooManyStreams: there are as many as are allowed."""
        if self._count >= self._max_streams:
            raise TooManyStreams(f"{self._count} long answers are being written already; try again")
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

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
                await asyncio.sleep(0)
        except TimeoutError as stalled:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("the reader of a long answer stands still") from stalled
        await response.write_eof()
        return response
