"""`EventReaders`: `/api/v1/events`, what happens to share groups and slots of this process, as server-sent events.

Nothing is told while it happens: once a second one task looks at what counts anyway, finds what changed and hands the
same bytes to every reader. So no acknowledgement waits for a reader, or does anything for one. A reader that does not
keep up is cut off; it asks for the lists, and listens again.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from aiohttp import web

from kproxy.admin.activity.happenings import Picture, changes
from kproxy.admin.json_stream import json_response
from kproxy.admin.turns import in_turns
from kproxy.admin.views import API_VERSION, envelope
from kproxy.handlers.ports import Background, Clock
from kproxy.notation import iso_time
from kproxy.telemetry.metrics import Metrics

INTERVAL_S: Final = 1.0
"""Between two looks."""
MOST_READERS: Final = 16
MOST_QUEUED_BYTES: Final = 4 << 20
"""Of events that a reader has not taken yet. What is told of 10,000 busy groups at once is less than half of that."""
QUIET_S: Final = 15.0
"""After so long without an event a reader is sent a line that says nothing, so that both notice who has gone."""
WRITE_TIMEOUT_S: Final = 30.0
EVENTS_AT_ONCE: Final = 200
"""Events that are made in one turn of the loop."""
RETRY_MS: Final = 2_000
"""After so long a browser that lost its connection listens again."""

_STILL_HERE: Final = b":\n\n"
_HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


class _Reader:
    """One who listens: what is queued for them, and how to end it."""

    __slots__ = ("_arrived", "_chunks", "_is_ended", "_request", "_size")

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._arrived = asyncio.Event()
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._is_ended = False

    @property
    def is_gone(self) -> bool:
        """Whether the connection has ended."""
        return self._request.transport is None or self._request.transport.is_closing()

    def has_room(self, chunk: bytes, most_bytes: int) -> bool:
        """Tell whether `chunk` may be queued. Whatever its length, it may be where nothing else is."""
        return not self._chunks or self._size + len(chunk) <= most_bytes

    def offer(self, chunk: bytes) -> None:
        """Queue `chunk`."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        self._arrived.set()

    def end(self) -> None:
        """Let the reader have what is queued, and no more."""
        self._is_ended = True
        self._arrived.set()

    def cut_off(self) -> None:
        """Drop what is queued, and the connection."""
        self._chunks.clear()
        self.end()
        if self._request.transport is not None:
            self._request.transport.abort()

    async def next(self) -> bytes | None:
        """Return what is to be written next, None at the end."""
        if not self._chunks and not self._is_ended:
            self._arrived.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(QUIET_S):
                    await self._arrived.wait()
        if self._chunks:
            chunk = self._chunks.popleft()
            self._size -= len(chunk)
            return chunk
        return None if self._is_ended else _STILL_HERE


class EventReaders:
    """All who listen, and the task that looks for them: there is none while nobody listens.

    Args:
        look: takes a picture of this process; raises nothing.
        background: where the looking goes on.
        wall_clock: for `asOf`.
        metrics: counts readers that were refused or cut off.
        interval_s: between two looks.
        most_readers: so many may listen.
        most_queued_bytes: may wait for each of them.
        patience_s: how long they may take nothing of what is written.
    """

    def __init__(  # noqa: PLR0913 - the last ones are for tests
        self,
        look: Callable[[], Awaitable[Picture]],
        *,
        background: Background,
        wall_clock: Clock,
        metrics: Metrics,
        interval_s: float = INTERVAL_S,
        most_readers: int = MOST_READERS,
        most_queued_bytes: int = MOST_QUEUED_BYTES,
        patience_s: float = WRITE_TIMEOUT_S,
    ) -> None:
        self._look = look
        self._background = background
        self._wall_clock = wall_clock
        self._metrics = metrics
        self._interval_s = interval_s
        self._most_readers = most_readers
        self._most_queued_bytes = most_queued_bytes
        self._patience_s = patience_s
        self._readers: set[_Reader] = set()
        self._begun = asyncio.Event()
        self._over: asyncio.Event | None = None

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Answer with events until the reader goes, does not keep up, or the process ends."""
        for reader in [each for each in self._readers if each.is_gone]:
            self._readers.discard(reader)
            reader.end()
        if len(self._readers) >= self._most_readers:
            self._metrics.count("admin_event_readers_refused")
            return self._refusal()
        reader = _Reader(request)
        self._readers.add(reader)
        try:
            response = web.StreamResponse(headers=_HEADERS)
            await response.prepare(request)
            await self._listen().wait()
            reader.offer(self._hello())
            await self._pass_on(reader, response)
        finally:
            self._readers.discard(reader)
        return response

    async def end(self, _application: object = None) -> None:
        """Let every reader go: the process ends."""
        for reader in tuple(self._readers):
            reader.end()
        if self._over is not None:
            self._over.set()

    async def _pass_on(self, reader: _Reader, response: web.StreamResponse) -> None:
        with suppress(ConnectionError):  # the reader has gone
            while (chunk := await reader.next()) is not None:
                try:
                    async with asyncio.timeout(self._patience_s):
                        await response.write(chunk)
                except TimeoutError:
                    self._cut_off(reader)
                    return
            await response.write_eof()

    def _hello(self) -> bytes:
        facts = f'{{"apiVersion": "{API_VERSION}", "asOf": "{iso_time(self._wall_clock.now_ms())}"}}'
        return f"retry: {RETRY_MS}\nevent: hello\ndata: {facts}\n\n".encode()

    def _refusal(self) -> web.Response:
        message = (
            f"{self._most_readers} listen to events already, and no more may: close one, or ask for the lists"
        )
        item = {"status": 503, "message": message}
        return json_response(envelope("Error", [item], as_of_ms=self._wall_clock.now_ms()), status=503)

    # ------------------------------------------------ looking

    def _listen(self) -> asyncio.Event:
        """Return what is set after the first look: what a reader asks for when it was greeted is no older than that."""
        if self._over is None:
            self._over, self._begun = asyncio.Event(), asyncio.Event()
            self._background.begin_now(self._look_on, name="events of the admin port")
        return self._begun

    async def _look_on(self) -> None:
        over = self._over
        assert over is not None
        try:
            before = await self._look()
            self._begun.set()
            while self._readers and not over.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._interval_s):
                        await over.wait()
                now = await self._look()
                texts = [
                    event.text() async for event in in_turns(changes(before, now), at_once=EVENTS_AT_ONCE)
                ]
                self._tell("".join(texts).encode())
                before = now
        finally:
            self._over = None
            self._begun.set()
            for reader in tuple(self._readers):
                reader.end()

    def _tell(self, chunk: bytes) -> None:
        if not chunk:
            return
        for reader in tuple(self._readers):
            if reader.has_room(chunk, self._most_queued_bytes):
                reader.offer(chunk)
            else:
                self._cut_off(reader)

    def _cut_off(self, reader: _Reader) -> None:
        self._metrics.count("admin_event_readers_cut_off")
        self._readers.discard(reader)
        reader.cut_off()
