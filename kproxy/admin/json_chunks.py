"""JSON in chunks, with the event loop free between them, and how much of it is under way. Imports no HTTP server."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from kproxy.errors import KproxyError
from kproxy.handlers.live.pauses import let_other_looks_go_on
from kproxy.wording import counted

CHUNK_LENGTH: Final = 64 * 1024
"""Characters after which a chunk is written."""
SLICE_S: Final = 0.002
"""Seconds after which a chunk is written however short it is: for so long other work may have to wait."""


class TooManyStreams(KproxyError):
    """As many long answers as are allowed are being written. Raised by `LongAnswers`, told as 503."""


class TooLong(KproxyError):
    """An answer that is to be held whole is longer than is allowed. Raised by `gathered`."""


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
            most = counted(most_bytes, "byte")
            raise TooLong(
                f"what it has to tell is longer than {most}: ask its own admin port with scope=local"
            )
        await let_other_looks_go_on()
    return bytes(whole)


class LongAnswers:
    """The long answers under way: `most` at a time."""

    __slots__ = ("_count", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Count an answer as long as the block lasts. Raises TooManyStreams: there are as many as are allowed."""
        if self._count >= self._most:
            raise TooManyStreams(f"{self._count} long answers are being written already; try again")
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
