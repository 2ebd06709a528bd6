"""The address of the admin port, bound before anything is served there. Imports no HTTP server."""

import asyncio
import socket
from typing import Final

from kproxy.errors import KproxyError
from kproxy.settings import HostPort

BACKLOG: Final = 128
"""How many connections may wait to be accepted."""


class AdminListenerUnavailable(KproxyError):
    """The admin port cannot be bound. Raised by `bind_listener`; `kproxy run` says so and exits."""


async def bind_listener(listener: HostPort) -> list[socket.socket]:
    """Return sockets that listen at every address of `listener`: who connects waits until somebody accepts.

    Raises:
        AdminListenerUnavailable: the port is in use, or the host is none of this machine's.
    """
    listening: list[socket.socket] = []
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            listener.host, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, _, _, _, address in dict.fromkeys(found):
            listening.append(_bound(family, address))
    except OSError as error:
        for each in listening:
            each.close()
        raise AdminListenerUnavailable(
            f"kproxy.admin.listener = {listener} cannot be bound: {str(error.strerror or error).lower()}; "
            "choose another address, or turn the admin port off with kproxy.admin.listener=none"
        ) from error
    return listening


def _bound(family: int, address: object) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(address)  # type: ignore[arg-type]  # as it was found
        opened.listen(BACKLOG)
        opened.setblocking(False)
    except OSError:
        opened.close()
        raise
    return opened
