"""The bytes of one direction of a TCP connection, in order: out of segments that came twice, late, or never."""

from collections.abc import Iterator
from typing import Final

from kproxy.clients.frames.captured_packets import Segment

_SEQUENCE_SPACE: Final = 2**32
_HALF: Final = 2**31
MOST_BYTES_WAITING: Final = 16 * 2**20
"""How much may wait for a segment that is missing, before it is taken for lost."""


class TcpStream:
    """One direction. `take` gives what has become readable; a gap that stays is told once, and stepped over."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._waiting: dict[int, bytes] = {}
        self._waiting_bytes = 0

    def take(self, segment: Segment) -> Iterator[bytes | int]:
        """Yield bytes in order, and an int for so many bytes that the capture does not have."""
        if segment.is_first:
            self._next = (segment.sequence + 1) % _SEQUENCE_SPACE
            self._waiting.clear()
            self._waiting_bytes = 0
            return
        if not segment.payload:
            return
        if self._next is None:
            self._next = segment.sequence
        self._keep(segment.sequence, segment.payload)
        yield from self._readable()
        if self._waiting_bytes > MOST_BYTES_WAITING:
            yield from self.rest()

    def rest(self) -> Iterator[bytes | int]:
        """Yield what still waits for segments that will not come, with the gaps."""
        while self._waiting:
            nearest = min(self._waiting, key=self._distance)
            missing = self._distance(nearest)
            if missing > 0:
                yield missing
                self._next = nearest
            yield from self._readable()

    def _keep(self, sequence: int, payload: bytes) -> None:
        known = self._waiting.get(sequence, b"")
        if len(payload) > len(known):
            self._waiting[sequence] = payload
            self._waiting_bytes += len(payload) - len(known)

    def _readable(self) -> Iterator[bytes]:
        """Yield what follows on what was read; what was read already is dropped."""
        while True:
            ready = [sequence for sequence in self._waiting if self._distance(sequence) <= 0]
            if not ready:
                return
            for sequence in sorted(ready, key=self._distance):
                payload = self._waiting.pop(sequence)
                self._waiting_bytes -= len(payload)
                if fresh := payload[-self._distance(sequence) :]:
                    self._next = (sequence + len(payload)) % _SEQUENCE_SPACE
                    yield fresh

    def _distance(self, sequence: int) -> int:
        """Return by how much a sequence number is ahead of the next byte; below zero: it is behind."""
        assert self._next is not None
        return (sequence - self._next + _HALF) % _SEQUENCE_SPACE - _HALF
