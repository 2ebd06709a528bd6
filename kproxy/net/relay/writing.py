"""Writing to a transport: in one system call where possible, and straight on where nothing has to be looked at."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

LARGE_CHUNK_BYTES: Final = 16 * 1024
"""Smaller chunks are hardly ever the middle of a frame, and not worth a look whether they `stream_on`."""


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
