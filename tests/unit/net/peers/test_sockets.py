"""The system is asked to find out when the machine at the other end is no more."""

import asyncio
import socket

from kproxy.net.peers.sockets import watch_peer
from tests.in_memory.scripted_broker import ScriptedBroker


async def test_a_connection_is_probed_while_nothing_passes() -> None:
    async with ScriptedBroker() as listener:
        _, writer = await asyncio.open_connection("127.0.0.1", listener.port)

        watch_peer(writer.transport)

        end = writer.get_extra_info("socket")
        assert end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 10
        writer.close()


def test_what_is_no_socket_is_left_alone() -> None:
    watch_peer(asyncio.Transport())
