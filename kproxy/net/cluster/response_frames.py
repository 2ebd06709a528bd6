"""Puts a broker's responses together from the chunks that the socket hands over."""

from typing import Final

from kproxy.errors import PeerViolation
from kproxy.net.cluster.read_buffers import ReadBuffers
from kproxy.wire.frames import LENGTH_BYTES, refuse_response_length
from kproxy.wording import counted

LANDING_BYTES: Final = 64 * 1024
"""How much is read at once while it is not known how long the next frame is."""


class ResponseFrames:
    """Bytes in, whole frames out, each without its length, in memory that nobody writes to while it is looked at.

    A frame that arrives within one chunk is a view of it; one that spans chunks has memory of its own, taken
    from `read_buffers` when its length is known, and what follows then is read straight into that. A length
    out of bounds is refused before any memory is taken.
    """

    __slots__ = ("_body", "_filled_bytes", "_landing", "_length_bytes", "_max_bytes", "_read_buffers")

    def __init__(self, max_bytes: int, read_buffers: ReadBuffers) -> None:
        self._max_bytes = max_bytes
        self._read_buffers = read_buffers
        self._landing = memoryview(bytearray(LANDING_BYTES))
        self._length_bytes = bytearray()
        self._body: memoryview | None = None
        self._filled_bytes = 0

    @property
    def is_mid_frame(self) -> bool:
        """Whether a frame has begun that is not whole yet."""
        return bool(self._length_bytes) or self._body is not None

    def buffer(self) -> memoryview:
        """Return where the socket's next bytes go, at least one; `filled` is called when they are there."""
        return self._landing if self._body is None else self._body[self._filled_bytes :]

    def filled(self, count: int) -> list[memoryview]:
        """Return the frames that the first `count` bytes of `buffer` complete. Raises as `receive`."""
        if self._body is None:
            return self.receive(bytes(self._landing[:count]))
        frames: list[memoryview] = []
        self._advance_body(count, frames)
        return frames

    def receive(self, chunk: bytes) -> list[memoryview]:
        """Return the frames that `chunk` completes.

        Raises:
            PeerViolation: a length that no response has, or one above `max_bytes`. Nothing more may be
                received.
        """
        frames: list[memoryview] = []
        rest = memoryview(chunk)
        while rest:
            rest = (
                self._take_body(rest, frames) if self._body is not None else self._take_length(rest, frames)
            )
        return frames

    def _take_length(self, rest: memoryview, frames: list[memoryview]) -> memoryview:
        missing_bytes = LENGTH_BYTES - len(self._length_bytes)
        self._length_bytes += rest[:missing_bytes]
        rest = rest[missing_bytes:]
        if len(self._length_bytes) < LENGTH_BYTES:
            return rest
        length = self._checked_length()
        self._length_bytes.clear()
        if len(rest) >= length:
            frames.append(rest[:length])
            return rest[length:]
        self._body = self._read_buffers.take(length)
        self._filled_bytes = 0
        return rest

    def _take_body(self, rest: memoryview, frames: list[memoryview]) -> memoryview:
        assert self._body is not None
        taken = rest[: len(self._body) - self._filled_bytes]
        self._body[self._filled_bytes : self._filled_bytes + len(taken)] = taken
        self._advance_body(len(taken), frames)
        return rest[len(taken) :]

    def _advance_body(self, count: int, frames: list[memoryview]) -> None:
        assert self._body is not None
        self._filled_bytes += count
        if self._filled_bytes == len(self._body):
            frames.append(self._body)
            self._body = None

    def _checked_length(self) -> int:
        length = int.from_bytes(self._length_bytes, signed=True)
        refuse_response_length(bytes(self._length_bytes), length)
        if length > self._max_bytes:
            detail = (
                f"a response of {counted(length, 'byte')} was announced; at most {self._max_bytes} are taken"
            )
            raise PeerViolation("frame_too_large", detail)
        return length
