"""What was decrypted reaches the protocol that a connection is for, in the way in which it takes that."""

import asyncio
from collections.abc import Sequence

from kproxy.net.tls.paced_transport import PacedTransport


def hand_on(chunks: Sequence[bytes], transport: PacedTransport) -> None:
    """Give the protocol of `transport` what came, together; nothing once that is closing."""
    if not chunks or transport.is_closing():
        return
    protocol, data = transport.protocol, chunks[0] if len(chunks) == 1 else b"".join(chunks)
    if transport.sparing is not None:
        transport.sparing.take_read(data)
    elif isinstance(protocol, asyncio.BufferedProtocol):
        _fill(protocol, data, transport)
    elif protocol is not None:
        protocol.data_received(data)


def _fill(protocol: asyncio.BufferedProtocol, data: bytes, transport: PacedTransport) -> None:
    left = memoryview(data)
    while left and not transport.is_closing():
        room = memoryview(protocol.get_buffer(len(left)))
        count = min(len(room), len(left))
        room[:count], left = left[:count], left[count:]
        protocol.buffer_updated(count)
