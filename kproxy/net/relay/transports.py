"""Writing to a transport, in one system call where possible, and closing it behind what still has to leave."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

LARGE_CHUNK_BYTES: Final = 16 * 1024
"""Smaller chunks are hardly ever the middle of a frame, and not worth a look whether they `stream_on`."""

_PATIENCES: Final = 10
"""In how many times the patience with it a peer must have taken what waits for it when a connection is closed."""


def write_together(transport: asyncio.Transport, buffers: Sequence[bytes | memoryview]) -> int:
    """Write `buffers`, of which there is at least one; returns how many bytes they are."""
    if len(buffers) == 1:
        transport.write(buffers[0])
        return len(buffers[0])
    transport.writelines(buffers)
    return sum(map(len, buffers))


def stream_on(transport: asyncio.Transport | None, passes: Callable[[int], bool], data: bytes) -> bool:
    """Write `data` if nothing waits for the peer and `passes` says that they only have to be sent on; whether it did.

    Little is touched on this way: the data themselves have just pushed everything else out of the processor's caches.

    Args:
        transport: the way to the peer, None when it is not open.
        passes: `RequestStream.passes` or `ResponseStream.passes`; asked only when the data can be written.
        data: what came from the other side.
    """
    if (
        transport is None
        or transport.get_write_buffer_size()
        or transport.is_closing()
        or not passes(len(data))
    ):
        return False
    transport.write(data)
    return True


def close_behind_buffer(transport: asyncio.Transport | None, *, patience_ms: int) -> None:
    """Close `transport`, if there is one that is open, when what waits in its buffer has left.

    Abort it when less than a tenth of that left within `patience_ms`: without that a peer that stands still, or takes a
    byte now and then, would keep the connection and its buffer for ever.
    """
    if transport is None or transport.is_closing():
        return
    transport.close()
    left_bytes = transport.get_write_buffer_size()
    _watch(transport, left_bytes, -(-left_bytes // _PATIENCES), patience_ms / 1000)


def _watch(transport: asyncio.Transport, left_bytes: int, least_bytes: int, patience_s: float) -> None:
    if left_bytes > 0:
        loop = asyncio.get_running_loop()
        loop.call_later(patience_s, _look_again, transport, left_bytes, least_bytes, patience_s)


def _look_again(
    transport: asyncio.Transport, left_before_bytes: int, least_bytes: int, patience_s: float
) -> None:
    left_bytes = transport.get_write_buffer_size()
    if left_bytes and left_before_bytes - left_bytes < least_bytes:
        transport.abort()
    else:
        _watch(transport, left_bytes, least_bytes, patience_s)
