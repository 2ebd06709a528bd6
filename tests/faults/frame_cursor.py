"""Where in a stream of Kafka's frames the next byte stands. Knows lengths, and the client id of the first request."""

from typing import Final

LENGTH_BYTES: Final = 4
CLIENT_ID_AT: Final = 14
"""In a request: behind its length, API key, version, correlation id and two bytes of the client id's own length."""
LONGEST_CLIENT_ID: Final = 200


class FrameCursor:
    """Follows one direction from its first byte on, however it is cut."""

    __slots__ = ("_beginning", "_left_bytes", "_length")

    def __init__(self) -> None:
        self._beginning = bytearray()
        self._length = bytearray()
        self._left_bytes = 0

    @property
    def is_at_boundary(self) -> bool:
        """Whether the next byte is the first one of a frame."""
        return not self._left_bytes and not self._length

    @property
    def left_bytes(self) -> int:
        """How many bytes the frame that has begun still has; 0 at a boundary, and while its length is not known."""
        return self._left_bytes

    @property
    def step_bytes(self) -> int:
        """How many bytes come before this cursor knows more: those of the frame, or of its length. At least 1."""
        return self._left_bytes or LENGTH_BYTES - len(self._length)

    @property
    def client_id(self) -> str:
        """What the first request says of its client; empty as long as it has not come."""
        beginning = self._beginning
        size = int.from_bytes(beginning[CLIENT_ID_AT - 2 : CLIENT_ID_AT], signed=True)
        found = bytes(beginning[CLIENT_ID_AT : CLIENT_ID_AT + max(0, size)])
        return found.decode(errors="replace") if len(found) == size else ""

    def advance(self, data: bytes) -> None:
        """Take note that these bytes come next."""
        room = CLIENT_ID_AT + LONGEST_CLIENT_ID - len(self._beginning)
        self._beginning += data[: max(0, room)]
        while data:
            step, data = data[: self.step_bytes], data[self.step_bytes :]
            if self._left_bytes:
                self._left_bytes -= len(step)
                continue
            self._length += step
            if len(self._length) == LENGTH_BYTES:
                self._left_bytes = max(0, int.from_bytes(self._length, signed=True))
                self._length.clear()
