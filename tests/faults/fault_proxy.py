"""The shell around a `ConnectionScript`: sockets, an event loop in a thread of its own, and the story of a run.

What vanishes here keeps its sockets: nothing is read from them or written to them until the end of the proxy, and
nobody gets a FIN. The operating system still takes what fits in its buffers, and answers keepalives, which a host
without power would not do: only deadlines of the peer's own notice.
"""

import asyncio
import contextlib
import itertools
import socket
import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self, TypeAlias

from tests.faults.kinds import Kind, Link, Way
from tests.faults.script import ConnectionScript, End, Send, Step, Struck, Wait

CHUNK_BYTES: Final = 16_384
RESETTING_CLOSE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of 0: a close sends an RST."""

Address: TypeAlias = tuple[str, int]
"""Host and port."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where connections come in, and where they are led."""

    link: Link
    name: str
    own: Address
    target: Address


@dataclass(frozen=True, slots=True)
class Told:
    """A line of the story. `at` is in seconds of `time.monotonic`."""

    at: float
    door: str
    number: int
    client_id: str
    way: Way
    struck: Struck

    def line(self, since: float) -> str:
        """Return it for people, its time counted from `since`."""
        where = f"{self.door} connection {self.number} ({self.client_id or 'unknown'})"
        return (
            f"{self.at - since:8.3f} {where} {self.way}, byte {self.struck.at_byte}: {self.struck.kind.value}"
        )


@dataclass(eq=False, slots=True)
class Passage:
    """One connection, from its client (`near`) to its server (`far`)."""

    door: Door
    number: int
    script: ConnectionScript
    near: socket.socket
    far: socket.socket
    ends: tuple[str, str] = ("", "")
    """`HOST:PORT` of the client's end, and of the end that the server sees."""


class _Ended(Exception):
    def __init__(self, how: Kind) -> None:
        self.how = how


@dataclass(slots=True)
class _State:
    numbers: defaultdict[str, Iterator[int]] = field(default_factory=lambda: defaultdict(itertools.count))
    open: set[Passage] = field(default_factory=set)
    vanished: list[Passage] = field(default_factory=list)


class FaultProxy:
    """Listens at every door from the constructor on, forwards from `__enter__` to `__exit__`.

    Nothing fails before `begin`; after `end` what passes is left alone, but what is stalled waits for its time, and
    what is half-closed or has vanished stays so.
    """

    def __init__(self, seed: int, doors: Sequence[Door]) -> None:
        self.story: list[Told] = []
        self.began_at = time.monotonic()
        self._seed = seed
        self._listeners = [(door, _listener(door.own)) for door in doors]
        self._state = _State()
        self._is_calm = True
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fault proxy")
        self._stop: Callable[[], object] = lambda: None
        self._runs = threading.Event()
        self._is_over = asyncio.Event()

    def begin(self) -> None:
        """Let connections fail from now on."""
        self.began_at = time.monotonic()
        self._set_calm(is_calm=False)

    def end(self) -> None:
        """Let nothing fail any more."""
        self._set_calm(is_calm=True)

    def counts(self) -> Counter[str]:
        """How often each fault struck so far, by side and kind."""
        return Counter(f"{told.door.split()[0]}: {told.struck.kind.value}" for told in self.story.copy())

    def open_count(self) -> int:
        """How many connections it forwards now, vanished ones not counted."""
        return len(self._state.open)

    def held_by_vanished(self) -> set[tuple[str, str]]:
        """Both ends, as kproxy sees them, of each of its connections whose other end vanished: its own one first."""
        return {
            (_text(passage.door.target), passage.ends[1])
            if passage.door.link is Link.CLIENTS
            else (passage.ends[0], _text(passage.door.own))
            for passage in self._state.vanished.copy()
        }

    def __enter__(self) -> Self:
        self._thread.start()
        self._runs.wait()
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()
        self._loop.close()

    # ---- in the thread of the loop

    def _set_calm(self, *, is_calm: bool) -> None:
        done = threading.Event()

        def set_all() -> None:
            self._is_calm = is_calm
            for passage in self._state.open:
                passage.script.set_calm(is_calm=is_calm)
            done.set()

        self._loop.call_soon_threadsafe(set_all)
        done.wait()

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        task = asyncio.current_task()
        assert task is not None

        def stop() -> None:
            self._is_over.set()
            task.cancel()

        self._stop = stop
        try:
            async with asyncio.TaskGroup() as tasks:
                for door, listener in self._listeners:
                    tasks.create_task(self._accept(door, listener, tasks))
                self._runs.set()
        finally:
            for _, listener in self._listeners:
                listener.close()

    async def _accept(self, door: Door, listener: socket.socket, tasks: asyncio.TaskGroup) -> None:
        while True:
            near, _ = await self._loop.sock_accept(listener)
            number = next(self._state.numbers[door.name])
            script = ConnectionScript(self._seed, door.link, door.name, number)
            far = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            far.setblocking(False)
            tasks.create_task(self._lead(Passage(door, number, script, near, far)))

    async def _lead(self, passage: Passage) -> None:
        near, far = passage.near, passage.far
        how: Kind | None = Kind.RESET
        try:
            await self._loop.sock_connect(far, passage.door.target)
            passage.ends = (_text(near.getpeername()), _text(far.getsockname()))
            passage.script.set_calm(is_calm=self._is_calm)
            self._state.open.add(passage)
            how = await self._both_ways(passage)
            if how is Kind.VANISH:
                self._state.vanished.append(passage)
                self._state.open.discard(passage)
                # A cancellation may have been lost in the group of tasks that has just failed.
                await self._is_over.wait()
        except OSError:
            pass
        finally:
            self._state.open.discard(passage)
            for each in (near, far):
                _close(each, resets=how is Kind.RESET)

    async def _both_ways(self, passage: Passage) -> Kind | None:
        """Forward until both directions have ended; returns how the connection ended, None: as its ends wanted."""
        how: list[Kind] = []
        try:
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._one_way(passage, Way.REQUESTS, passage.near, passage.far))
                ways.create_task(self._one_way(passage, Way.RESPONSES, passage.far, passage.near))
        except* _Ended as ended:
            how = [each.how for each in ended.exceptions if isinstance(each, _Ended)]
        return how[0] if how else None

    async def _one_way(self, passage: Passage, way: Way, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := await self._loop.sock_recv(source, CHUNK_BYTES):
                for step in passage.script.receive(way, data):
                    await self._take(step, passage, way, sink)
            _end_writing(sink)
        except OSError as error:
            raise _Ended(Kind.RESET) from error

    async def _take(self, step: Step, passage: Passage, way: Way, sink: socket.socket) -> None:
        match step:
            case Send(data):
                await self._loop.sock_sendall(sink, data)
            case Wait(seconds):
                await asyncio.sleep(seconds)
            case Struck():
                told = (passage.door.name, passage.number, passage.script.client_id, way, step)
                self.story.append(Told(time.monotonic(), *told))
            case End(Kind.HALF_CLOSE):
                _end_writing(sink)
            case End(how):
                raise _Ended(how)


def _listener(address: Address) -> socket.socket:
    listener = socket.create_server(address, backlog=128)
    listener.setblocking(False)
    return listener


def _end_writing(sink: socket.socket) -> None:
    # Who has closed both directions already is not connected any more.
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _close(each: socket.socket, *, resets: bool) -> None:
    if resets:
        with contextlib.suppress(OSError):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETTING_CLOSE)
    each.close()


def _text(address: Address) -> str:
    return f"{address[0]}:{address[1]}"
