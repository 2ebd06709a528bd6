"""Sockets between processes: the system finds out when the machine at the other end is no more."""

import asyncio
import socket
from typing import Final

_OPTIONS: Final = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
"""A peer that vanished while nothing was on its way to it is found out after 25 s; Linux's defaults are two hours.

Where something was, Linux sends that again for a quarter of an hour, and probes nothing. TCP_USER_TIMEOUT would end
that sooner, but a peer whose client reads nothing for as long, too: it counts while a window is shut
(`tcp_probe_timer`).
"""


def watch_peer(transport: asyncio.BaseTransport) -> None:
    """Let the system end `transport` when the peer's machine does not answer any more."""
    end = transport.get_extra_info("socket")
    if end is None:
        return
    end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _OPTIONS:
        option = getattr(socket, name, None)  # not every system has them
        if option is not None:
            end.setsockopt(socket.IPPROTO_TCP, option, value)
