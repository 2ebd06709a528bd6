"""`EventReaders`: `/api/v1/events`, what happens to share groups and slots of the fleet, as server-sent events.

What this process sees of its own is found once a second for all readers together (`own_events.py`), what other
processes tell of theirs is asked for once a second (`fleet/peer_events.py`); `scope=local` asks for the first alone.
Each event names its process. Those of one process come in their order, between processes there is none. Every reader
has a queue of its own, of which one piece is written in a turn of the event loop: one that does not keep up is cut off;
it asks for the lists, and listens again.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Final

from aiohttp import web

from kproxy.admin.activity.own_events import Audience, OwnEvents
from kproxy.admin.fleet.peer_events import PeerEvents
from kproxy.admin.json_chunks import CHUNK_LENGTH
from kproxy.admin.json_stream import json_response
from kproxy.admin.queries import RefusedQuery
from kproxy.admin.questions import is_of_fleet
from kproxy.admin.views import API_VERSION, envelope
from kproxy.handlers.live.pauses import let_other_looks_go_on
from kproxy.handlers.ports import Clock
from kproxy.notation import iso_time
from kproxy.telemetry.metrics import Metrics

MOST_READERS: Final = 16
MOST_QUEUED_BYTES: Final = 4 << 20
"""Of events that a reader has not taken yet. What is told of 10,000 busy groups at once is less than half of that."""
QUIET_S: Final = 15.0
"""After so long without an event a reader is sent a line that says nothing, so that both notice who has gone."""
WRITE_TIMEOUT_S: Final = 30.0
CATCH_UP_S: Final = 1.0
"""So long who has much to take is waited for before more is told of this process."""
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

    __slots__ = (
        "_arrived",
        "_chunks",
        "_is_ended",
        "_on_taken",
        "_request",
        "_size",
        "is_greeted",
        "is_of_fleet",
        "is_slow",
    )

    def __init__(self, request: web.Request, on_taken: Callable[[], None], *, is_of_fleet: bool) -> None:
        self._request = request
        self._on_taken = on_taken
        self.is_of_fleet = is_of_fleet
        self.is_slow = False
        """Whether it was waited for in vain since it last had taken everything."""
        self.is_greeted = False
        """Whether events are told already: what was before the greeting is in the lists."""
        self._arrived = asyncio.Event()
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._is_ended = False

    @property
    def is_gone(self) -> bool:
        """Whether the connection has ended."""
        return self._request.transport is None or self._request.transport.is_closing()

    @property
    def queued_bytes(self) -> int:
        """What is queued."""
        return self._size

    def has_room(self, chunk: bytes, most_bytes: int) -> bool:
        """Tell whether `chunk` may be queued. Whatever its length, it may be where nothing else is."""
        return not self._chunks or self._size + len(chunk) <= most_bytes

    def offer(self, *pieces: bytes) -> None:
        """Queue `pieces`."""
        self._chunks.extend(pieces)
        self._size += sum(map(len, pieces))
        self._arrived.set()

    @property
    def has_more(self) -> bool:
        """Whether something is queued."""
        return bool(self._chunks)

    def end(self) -> None:
        """Let the reader have what is queued, and no more."""
        self._is_ended = True
        self._arrived.set()

    def cut_off(self) -> None:
        """Drop what is queued, and the connection."""
        self._chunks.clear()
        self._size = 0
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
            self.is_slow &= bool(self._chunks)
            self._on_taken()
            return chunk
        return None if self._is_ended else _STILL_HERE


class EventReaders:
    """All who listen. While there are none nobody looks, and no process is asked.

    Args:
        own: what happens in this process.
        peers: what happens in others.
        wall_clock: for `asOf`.
        metrics: counts readers that were refused or cut off.
        most_readers: so many may listen.
        most_queued_bytes: may wait for each of them.
        patience_s: how long they may take nothing of what is written.
        catch_up_s: how long they are waited for when much is told at once.
    """

    def __init__(  # noqa: PLR0913 - the last ones are for tests
        self,
        own: OwnEvents,
        peers: PeerEvents,
        *,
        wall_clock: Clock,
        metrics: Metrics,
        most_readers: int = MOST_READERS,
        most_queued_bytes: int = MOST_QUEUED_BYTES,
        patience_s: float = WRITE_TIMEOUT_S,
        catch_up_s: float = CATCH_UP_S,
    ) -> None:
        self._own = own
        self._peers = peers
        self._wall_clock = wall_clock
        self._metrics = metrics
        self._most_readers = most_readers
        self._most_queued_bytes = most_queued_bytes
        self._patience_s = patience_s
        self._catch_up_s = catch_up_s
        self._taken = asyncio.Event()
        self._readers: set[_Reader] = set()
        self._of_own = Audience(
            lambda: bool(self._listening()), self._tell_own, self._dismiss, self._let_catch_up
        )
        self._of_peers = Audience(
            lambda: any(each.is_of_fleet for each in self._listening()), self._tell_fleet
        )

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Answer with events until the reader goes, does not keep up, or the process ends."""
        try:
            reader = _Reader(request, self._taken.set, is_of_fleet=is_of_fleet(request.query.items()))
        except RefusedQuery as refusal:
            return self._refusal(refusal.status, str(refusal))
        if len(self._listening()) >= self._most_readers:
            self._metrics.count("admin_event_readers_refused")
            message = (
                f"{self._most_readers} listen to events already, and no more may: "
                "close one, or ask for the lists"
            )
            return self._refusal(503, message)
        self._readers.add(reader)
        try:
            response = web.StreamResponse(headers=_HEADERS)
            await response.prepare(request)
            await self._greet(reader)
            await self._pass_on(reader, response)
        finally:
            self._readers.discard(reader)
        return response

    async def end(self, _application: object = None) -> None:
        """Let every reader go: the process ends."""
        self._dismiss()
        self._own.end()
        self._peers.end()

    async def _greet(self, reader: _Reader) -> None:
        """Let the reader hear from now on: what it asks for when it was greeted is no older than the first look."""
        if reader.is_of_fleet:
            self._peers.begin(self._of_peers)
        await self._own.begin(self._of_own).wait()
        reader.offer(self._hello())
        standings = self._peers.standings() if reader.is_of_fleet else b""
        if standings:
            reader.offer(standings)
        reader.is_greeted = True

    async def _pass_on(self, reader: _Reader, response: web.StreamResponse) -> None:
        with suppress(ConnectionError):  # the reader has gone
            while (chunk := await reader.next()) is not None:
                try:
                    async with asyncio.timeout(self._patience_s):
                        await response.write(chunk)
                except TimeoutError:
                    self._cut_off(reader)
                    return
                if reader.has_more:  # a connection that takes it all would have it in one turn of the loop
                    await let_other_looks_go_on()
            await response.write_eof()

    def _hello(self) -> bytes:
        facts = f'{{"apiVersion": "{API_VERSION}", "asOf": "{iso_time(self._wall_clock.now_ms())}"}}'
        return f"retry: {RETRY_MS}\nevent: hello\ndata: {facts}\n\n".encode()

    def _refusal(self, status: int, message: str) -> web.Response:
        item = {"status": status, "message": message}
        return json_response(envelope("Error", [item], as_of_ms=self._wall_clock.now_ms()), status=status)

    # ------------------------------------------------ telling

    def _tell_own(self, chunk: bytes) -> None:
        self._tell(chunk, [each for each in self._readers if each.is_greeted])

    def _tell_fleet(self, chunk: bytes) -> None:
        self._tell(chunk, [each for each in self._readers if each.is_greeted and each.is_of_fleet])

    def _tell(self, chunk: bytes, readers: Iterable[_Reader]) -> None:
        pieces = [chunk[begin : begin + CHUNK_LENGTH] for begin in range(0, len(chunk), CHUNK_LENGTH)]
        for reader in readers:
            if reader.has_room(chunk, self._most_queued_bytes):
                reader.offer(*pieces)
            else:
                self._cut_off(reader)

    async def _let_catch_up(self) -> None:
        """Return when nobody has half of what may be queued; who takes too long is waited for no more until it has all.

        One that reads as fast as it can is not cut off when very much happens at once.
        """
        try:
            async with asyncio.timeout(self._catch_up_s):
                while self._behind():
                    self._taken.clear()
                    await self._taken.wait()
        except TimeoutError:
            for reader in self._behind():
                reader.is_slow = True

    def _behind(self) -> Collection[_Reader]:
        most_bytes = self._most_queued_bytes // 2
        return [each for each in self._readers if each.queued_bytes > most_bytes and not each.is_slow]

    def _listening(self) -> Collection[_Reader]:
        """Return those who listen, and forget who has gone."""
        for reader in [each for each in self._readers if each.is_gone]:
            self._readers.discard(reader)
            reader.end()
        return self._readers

    def _dismiss(self) -> None:
        for reader in self._readers:
            reader.end()

    def _cut_off(self, reader: _Reader) -> None:
        self._metrics.count("admin_event_readers_cut_off")
        self._readers.discard(reader)
        reader.cut_off()
        self._taken.set()
