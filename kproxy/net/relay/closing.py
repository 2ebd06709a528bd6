"""Closing a connection behind what still has to leave, for a peer that may never take it."""

import asyncio


def close_behind_buffer(transport: asyncio.Transport, *, patience_ms: int) -> None:
    """Close `transport` when what waits in its buffer has left; abort it when nothing of that left for `patience_ms`.

    Without the second half a peer that stands still would keep the connection and its buffer for ever.
    """
    if transport.is_closing():
        return
    transport.close()
    _watch(transport, transport.get_write_buffer_size(), patience_ms / 1000)


def _watch(transport: asyncio.Transport, left_bytes: int, patience_s: float) -> None:
    if left_bytes > 0:
        asyncio.get_running_loop().call_later(patience_s, _look_again, transport, left_bytes, patience_s)


def _look_again(transport: asyncio.Transport, left_before_bytes: int, patience_s: float) -> None:
    left_bytes = transport.get_write_buffer_size()
    if left_bytes == left_before_bytes:
        transport.abort()
    else:
        _watch(transport, left_bytes, patience_s)
