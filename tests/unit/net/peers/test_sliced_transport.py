"""What waits for a peer is seen through TLS, too."""

import asyncio
from typing import cast

import pytest

from kproxy.net.peers.sliced_transport import SLICE_BYTES, SlicedTransport, in_slices, is_tls
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.tls_contexts import fleet_tls

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
LARGE = 16 << 20


class Writer(asyncio.Protocol):
    """The end that writes; it notes whether it is to pause."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.is_paused = False
        self.made = asyncio.Event()
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = in_slices(cast("asyncio.Transport", transport))
        self.made.set()

    def connection_lost(self, _error: Exception | None) -> None:
        self.lost.set()

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False


async def test_all_of_a_large_answer_but_a_slice_is_counted_as_waiting_and_comes_whole() -> None:
    # Given
    tls, end, came = fleet_tls(), Writer(), bytearray()
    server = await asyncio.get_running_loop().create_server(lambda: end, "127.0.0.1", 0, ssl=tls.context)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=tls.dialling.context, server_hostname="kproxy"
    )
    await end.made.wait()
    transport = end.transport
    assert isinstance(transport, SlicedTransport)
    reading = cast("asyncio.Transport", writer.transport)
    reading.pause_reading()

    # When
    transport.writelines([b"head", memoryview(bytes(LARGE)), b"tail"])

    # Then
    in_sockets = 8 << 20  # what two loopback sockets take at most, before anybody reads
    assert transport.get_write_buffer_size() > LARGE - in_sockets - SLICE_BYTES
    assert end.is_paused
    transport.write_eof()
    assert transport.is_closing()
    reading.resume_reading()
    async with asyncio.timeout(10):
        while part := await reader.read(1 << 20):
            came += part
    assert bytes(came) == b"head" + bytes(LARGE) + b"tail"
    server.close()
    writer.close()
    async with asyncio.timeout(
        10
    ):  # a loop of uvloop may wait for ever for a connection that is about to close
        await writer.wait_closed()
        await end.lost.wait()


async def test_a_connection_in_plaintext_is_left_as_it_is() -> None:
    plain = asyncio.Transport()
    assert in_slices(plain) is plain
    assert not is_tls(plain)
