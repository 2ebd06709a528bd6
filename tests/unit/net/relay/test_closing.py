"""Closing: what waits leaves first, if its reader moves at all."""

import asyncio
import socket

import pytest

from kproxy.net.relay.closing import close_behind_buffer
from tests.unit.net.relaying import BOTH_LOOPS, run, until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


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


def test_an_empty_connection_is_closed_at_once(loop_kind: str) -> None:
    async def scenario() -> None:
        transport, protocol, other_end = await connected_pair()

        close_behind_buffer(transport, patience_ms=60_000)

        await until(lambda: protocol.losses == 1)
        other_end.close()

    run(scenario, loop_kind)


def test_a_peer_that_stands_still_is_cut_off(loop_kind: str) -> None:
    async def scenario() -> None:
        transport, protocol, other_end = await connected_pair()
        transport.write(bytes(1 << 20))

        close_behind_buffer(transport, patience_ms=50)

        await until(lambda: protocol.losses == 1)
        other_end.close()

    run(scenario, loop_kind)


def test_a_connection_that_was_closed_meanwhile_is_left_alone(loop_kind: str) -> None:
    async def scenario() -> None:
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

    run(scenario, loop_kind)
