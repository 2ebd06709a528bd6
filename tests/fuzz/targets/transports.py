"""What stands between kproxy and a socket: however slowly TLS takes what is written, all leaves, and in its order."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

from kproxy.net.relay.paced_transport import SLICE_BYTES, PacedTransport
from tests.fuzz.execution import Seed, Target
from tests.fuzz.parts import of_parts, parts_of
from tests.fuzz.sockets import lasting_loop

WRITE, WRITE_MANY, TAKE, TURN, LIMIT, CLOSE, END, ABORT = range(8)
STREAM: Final = bytes(range(251)) * 8_192
"""Two megabytes, of which each write takes the next ones."""

SLICES_A_TURN: Final = 4


class _Tls(asyncio.Transport):
    """A transport that takes everything and holds it while `is_stuck`, as TLS does behind a full socket."""

    def __init__(self) -> None:
        super().__init__()
        self.taken_bytes = self.held_bytes = self.turn_bytes = 0
        self.is_stuck = self.is_over = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert (high, low) == (1, 0)

    def get_write_buffer_size(self) -> int:
        return self.held_bytes

    def is_closing(self) -> bool:
        return self.is_over

    def pause_reading(self) -> None:
        pass

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.is_over, "written after the end"
        assert not self.held_bytes, "given more while it holds some"
        self._take(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        assert not self.is_over
        assert not self.held_bytes
        for data in list_of_data:
            self._take(data)

    def close(self) -> None:
        self.is_over = True

    def abort(self) -> None:
        self.is_over = True

    def _take(self, data: bytes | bytearray | memoryview) -> None:
        assert memoryview(STREAM)[self.taken_bytes : self.taken_bytes + len(data)] == data, "out of order"
        self.taken_bytes += len(data)
        self.turn_bytes += len(data)
        self.held_bytes += len(data) if self.is_stuck else 0


class _Paced:
    """A paced transport, and what it was given."""

    def __init__(self) -> None:
        self.tls = _Tls()
        self.is_full = self.is_ended = False
        self.written_bytes = 0
        self.transport = PacedTransport(self.tls, on_full=self._fill, on_taken=self._empty)

    async def act(self, number: int, argument: int) -> None:
        """Do one thing of eight, with a number that says how."""
        self.tls.turn_bytes = 0
        match number % 8:
            case 0:
                self.transport.write(self._next(argument))
            case 1:
                self.transport.writelines([self._next(argument // 3) for _ in range(3)])
            case 2:
                self.tls.is_stuck, self.tls.held_bytes = bool(argument & 1), 0
                self.transport.go_on()
            case 3:
                await asyncio.sleep(0)
            case 4:
                self.transport.set_write_buffer_limits(argument)
            case 5:
                self.transport.close()
            case 6:
                self.is_ended = True
                self.transport.end()
            case _:
                self.is_ended = True
                self.transport.abort()
        self._require_all()

    async def finish(self) -> None:
        """Let TLS take everything."""
        self.tls.is_stuck, self.tls.held_bytes = False, 0
        self.transport.go_on()
        for _ in range(len(STREAM) // SLICE_BYTES):
            await asyncio.sleep(0)
        assert not self.transport.get_write_buffer_size()
        assert self.is_ended or self.tls.taken_bytes == self.written_bytes
        assert self.tls.is_over == self.transport.is_closing()
        assert not self.is_full or self.transport.is_closing()
        self.transport.forget()

    def _next(self, count: int) -> memoryview:
        data = memoryview(STREAM)[self.written_bytes : self.written_bytes + count]
        if not self.transport.is_closing():
            self.written_bytes += len(data)
        return data

    def _require_all(self) -> None:
        waiting = self.written_bytes - self.tls.taken_bytes + self.tls.held_bytes
        assert self.is_ended or self.transport.get_write_buffer_size() == waiting
        assert self.tls.turn_bytes <= 2 * SLICES_A_TURN * SLICE_BYTES

    def _fill(self) -> None:
        assert not self.is_full
        self.is_full = True

    def _empty(self) -> None:
        assert self.is_full
        self.is_full = False


def pace(data: bytes) -> None:
    """Parts of what is done; their bytes are a number."""
    lasting_loop().run(_pace(data))


async def _pace(data: bytes) -> None:
    paced = _Paced()
    try:
        for number, part in parts_of(data):
            await paced.act(number, int.from_bytes(part[:3]))
        await paced.finish()
    finally:
        paced.transport.forget()


def _number(value: int) -> bytes:
    return value.to_bytes(3)


def _writings() -> Iterator[Seed]:
    small, large = (WRITE, _number(100)), (WRITE, _number(3 * SLICE_BYTES + 5))
    many = (WRITE_MANY, _number(6 * SLICE_BYTES))
    stick, let_go, turn, close = (TAKE, _number(1)), (TAKE, _number(0)), (TURN, b""), (CLOSE, b"")
    yield Seed("little and much", of_parts([small, large, small, turn, turn, many]))
    yield Seed("a slow peer", of_parts([stick, small, large, many, stick, turn, let_go, turn]))
    yield Seed("closed while some waits", of_parts([stick, large, close, small, let_go, turn]))
    yield Seed(
        "limits", of_parts([(LIMIT, _number(1)), stick, small, small, let_go, (LIMIT, _number(1 << 20))])
    )
    yield Seed("ended", of_parts([stick, many, (END, b""), small, let_go]))
    yield Seed("aborted", of_parts([stick, many, (ABORT, b""), small, let_go]))


TARGETS: Final = (Target("paced-transport", pace, _writings, executions=1_000),)
