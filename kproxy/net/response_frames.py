"""Puts a broker's responses together from the chunks that the socket hands over."""

from kproxy.errors import PeerViolation
from kproxy.wire.frames import LENGTH_BYTES, refuse_response_length


class ResponseFrames:
    """Bytes in, whole frames out, each without its length, in memory that nobody writes to afterwards.

    A frame that arrives within one chunk is a view of it; one that spans chunks is copied once, into memory
    made for it when its length is known. A length out of bounds is refused before anything is allocated.
    """

    __slots__ = ("_body", "_filled_bytes", "_length_bytes", "_max_bytes")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._length_bytes = bytearray()
        self._body: memoryview | None = None
        self._filled_bytes = 0

    @property
    def is_mid_frame(self) -> bool:
        """Whether a frame has begun that is not whole yet."""
        return bool(self._length_bytes) or self._body is not None

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
        self._body = memoryview(bytearray(length))
        self._filled_bytes = 0
        return rest

    def _take_body(self, rest: memoryview, frames: list[memoryview]) -> memoryview:
        assert self._body is not None
        taken = rest[: len(self._body) - self._filled_bytes]
        self._body[self._filled_bytes : self._filled_bytes + len(taken)] = taken
        self._filled_bytes += len(taken)
        if self._filled_bytes == len(self._body):
            frames.append(self._body)
            self._body = None
        return rest[len(taken) :]

    def _checked_length(self) -> int:
        length = int.from_bytes(self._length_bytes, signed=True)
        refuse_response_length(bytes(self._length_bytes), length)
        if length > self._max_bytes:
            detail = f"a response of {length} bytes was announced; at most {self._max_bytes} are taken"
            raise PeerViolation("frame_too_large", detail)
        return length
