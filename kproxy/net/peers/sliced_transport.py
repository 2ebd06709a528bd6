"""`SlicedTransport`: a connection with TLS between two processes, written to in slices.

TLS encrypts each write whole, hands it to the socket and counts it no more, whether it has left or not (uvloop's and
asyncio's `sslproto` alike); what is written while the socket has enough is counted, and held. So of an answer in slices
all but the first is seen by who looks how much waits, and paused as without TLS.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, Final

SLICE_BYTES: Final = 128 * 1024
"""More than the 64 KiB beyond which a socket has enough, so that the next slice is held."""

Buffer = bytes | bytearray | memoryview


def is_tls(transport: asyncio.BaseTransport) -> bool:
    """Tell whether what passes is encrypted."""
    return transport.get_extra_info("ssl_object") is not None


def in_slices(transport: asyncio.Transport) -> asyncio.Transport:
    """Return `transport` itself, or with TLS what writes to it in slices."""
    return SlicedTransport(transport) if is_tls(transport) else transport


class SlicedTransport(asyncio.Transport):
    """Does what `secured` does, and writes in slices. To TLS the end of what is written is that of what is read."""

    __slots__ = ("_secured",)

    def __init__(self, secured: asyncio.Transport) -> None:
        super().__init__()
        self._secured = secured

    def write(self, data: Buffer) -> None:
        self.writelines((data,))

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        for together in _slices(list_of_data):
            self._secured.writelines(together)

    def write_eof(self) -> None:
        """Close behind what was written."""
        self._secured.close()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._secured.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._secured.is_closing()

    def close(self) -> None:
        self._secured.close()

    def abort(self) -> None:
        self._secured.abort()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._secured.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._secured.get_protocol()

    def is_reading(self) -> bool:
        return self._secured.is_reading()

    def pause_reading(self) -> None:
        self._secured.pause_reading()

    def resume_reading(self) -> None:
        self._secured.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._secured.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        """Return how much is held; what the socket took of the slice before is not in it, SLICE_BYTES at most."""
        return self._secured.get_write_buffer_size()

    def can_write_eof(self) -> bool:
        return True


def _slices(buffers: Iterable[Buffer]) -> Iterator[list[memoryview]]:
    """Yield all of `buffers`, in lists of SLICE_BYTES and, at the end, fewer."""
    together: list[memoryview] = []
    room = SLICE_BYTES
    for buffer in buffers:
        left = memoryview(buffer)
        while left:
            part, left = left[:room], left[room:]
            together.append(part)
            room -= len(part)
            if not room:
                yield together
                together, room = [], SLICE_BYTES
    if together:
        yield together
