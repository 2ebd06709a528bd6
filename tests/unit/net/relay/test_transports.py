"""Transports: everything leaves in order and counted, and what waits leaves before the end, if its reader moves."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from kproxy.net.relay.transports import close_behind_buffer, stream_on, write_together
from tests.event_loops import BOTH_LOOPS, async_fixture
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


class PassingAll:
    """Lets everything pass, and remembers what it was asked."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, size: int) -> bool:
        self.sizes.append(size)
        return True


@async_fixture
async def pair() -> AsyncIterator[tuple[asyncio.Transport, socket.socket]]:
    """A transport whose buffers are small, and the other end, which nobody reads yet."""
    own_end, other_end = socket.socketpair()
    for end in (own_end, other_end):
        end.setblocking(False)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=own_end)
    try:
        yield transport, other_end
    finally:
        transport.abort()
        other_end.close()


@pytest.fixture
def transport(pair: tuple[asyncio.Transport, socket.socket]) -> asyncio.Transport:
    return pair[0]


@pytest.fixture
def other_end(pair: tuple[asyncio.Transport, socket.socket]) -> socket.socket:
    return pair[1]


async def read(other_end: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        received += await asyncio.get_running_loop().sock_recv(other_end, count - len(received))
    return received


@pytest.mark.parametrize("buffers", [[b"one"], [b"one", memoryview(b"two"), b"three"]])
async def test_all_buffers_are_written_in_their_order_and_counted(
    buffers: list[bytes | memoryview], transport: asyncio.Transport, other_end: socket.socket
) -> None:
    whole = b"".join(buffers)

    written = write_together(transport, buffers)

    assert written == len(whole)
    assert await read(other_end, len(whole)) == whole


async def test_what_only_has_to_be_sent_on_is_written_when_nothing_waits(
    transport: asyncio.Transport, other_end: socket.socket
) -> None:
    passes = PassingAll()

    has_streamed = stream_on(transport, passes, b"middle")

    assert has_streamed
    assert passes.sizes == [6]
    assert await read(other_end, 6) == b"middle"


async def test_what_has_to_be_looked_at_is_not_written(
    transport: asyncio.Transport, other_end: socket.socket
) -> None:
    has_streamed = stream_on(transport, lambda _size: False, b"a head")
    transport.write(b"!")

    assert not has_streamed
    assert await read(other_end, 1) == b"!"


async def test_nothing_overtakes_what_waits_for_a_slow_peer_and_nobody_is_told_that_it_passed(
    transport: asyncio.Transport, other_end: socket.socket
) -> None:
    passes = PassingAll()
    transport.write(bytes(1 << 20))
    # What the peer's socket takes has left by the second turn of the loop.
    await read(other_end, 1)

    has_streamed = stream_on(transport, passes, b"later")

    assert not has_streamed
    assert passes.sizes == []


async def test_a_connection_that_is_closing_or_not_there_takes_nothing(transport: asyncio.Transport) -> None:
    transport.close()

    assert not stream_on(transport, PassingAll(), b"late")
    assert not stream_on(None, PassingAll(), b"early")


class LossNoted(asyncio.Protocol):
    """Remembers how often it was told that the connection is gone."""

    def __init__(self) -> None:
        self.losses = 0

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - the protocol's own signature
        self.losses += 1


async def connected_pair() -> tuple[asyncio.Transport, LossNoted, socket.socket]:
    """Return a transport with small buffers, its protocol, and the other end, which nobody reads yet."""
    own_end, other_end = socket.socketpair()
    for end in (own_end, other_end):
        end.setblocking(False)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(LossNoted, sock=own_end)
    return transport, protocol, other_end


async def test_an_empty_connection_is_closed_at_once() -> None:
    transport, protocol, other_end = await connected_pair()

    close_behind_buffer(transport, patience_ms=60_000)

    await until(lambda: protocol.losses == 1)
    other_end.close()


async def test_a_peer_that_stands_still_is_cut_off() -> None:
    transport, protocol, other_end = await connected_pair()
    transport.write(bytes(1 << 20))

    close_behind_buffer(transport, patience_ms=50)

    await until(lambda: protocol.losses == 1)
    other_end.close()


async def test_a_connection_that_was_closed_meanwhile_is_left_alone() -> None:
    transport, protocol, other_end = await connected_pair()
    transport.write(bytes(100_000))
    close_behind_buffer(transport, patience_ms=100)
    close_behind_buffer(transport, patience_ms=100)
    loop = asyncio.get_running_loop()
    while await loop.sock_recv(other_end, 1 << 20):
        pass
    await until(lambda: protocol.losses == 1)

    # The timer still rings; time itself is what this is about.
    await asyncio.sleep(0.15)

    assert protocol.losses == 1
    other_end.close()


class LeftBehind(asyncio.Transport):
    """A transport that was closed behind its buffer, of which so much is taken between two looks."""

    def __init__(self, left_bytes: int, taken_bytes: int) -> None:
        super().__init__()
        self.left_bytes, self._taken_bytes = left_bytes, taken_bytes
        self.is_aborted = self._is_closed = False

    def get_write_buffer_size(self) -> int:
        left_bytes = self.left_bytes
        self.left_bytes = max(left_bytes - self._taken_bytes, 0)
        return left_bytes

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._is_closed = True

    def abort(self) -> None:
        self.is_aborted = True


@pytest.mark.parametrize(("taken_bytes", "is_aborted"), [(1, True), (99, True), (100, False), (1_000, False)])
async def test_a_peer_that_takes_a_byte_now_and_then_keeps_no_closed_connection_for_ever(
    taken_bytes: int, *, is_aborted: bool
) -> None:
    transport = LeftBehind(1_000, taken_bytes)

    close_behind_buffer(transport, patience_ms=1)
    await until(lambda: transport.is_aborted or transport.left_bytes == 0)

    assert transport.is_aborted is is_aborted
