"""Ports that listen before the rest of kproxy is loaded.

Loading takes longer than everything else about a start. Whoever connects meanwhile waits in the operating system's
queue, with all that it sends, and is accepted in the end; had it been refused, it would come back only after a pause
that grows (`reconnect.backoff.ms`, `reconnect.backoff.max.ms`). So this module imports next to nothing.
"""

import socket
from collections.abc import Iterable, Mapping
from typing import Final

from kproxy.settings import HostPort, Settings

BACKLOG: Final = 1024
"""How many connections may wait to be accepted."""


def client_addresses(settings: Settings) -> list[HostPort]:
    """Return the addresses for clients that are known before the cluster is asked: that of `kproxy.listen` first."""
    return [*_addresses(settings.listen, settings.broker_port_map), *tls_addresses(settings)]


def tls_addresses(settings: Settings) -> list[HostPort]:
    """Return those of `kproxy.tls.listen`, none where there are no such ports."""
    return (
        [] if settings.tls_listen is None else _addresses(settings.tls_listen, settings.tls_broker_port_map)
    )


def _addresses(bootstrap: HostPort, broker_port_map: Mapping[int, int]) -> list[HostPort]:
    return [bootstrap, *(HostPort(bootstrap.host, port) for port in broker_port_map.values())]


class EarlyPorts:
    """Sockets that listen at `addresses` and accept nobody, until somebody takes them over.

    An address that cannot be bound, or a name with several addresses, is left out: whoever binds it later says why.
    """

    def __init__(self, addresses: Iterable[HostPort] = ()) -> None:
        self._sockets: dict[tuple[str, int], socket.socket] = {}
        for address in addresses:
            listening = _listening(address)
            if listening is not None:
                self._sockets[address.host, address.port] = listening

    def __contains__(self, address: HostPort) -> bool:
        return (address.host, address.port) in self._sockets

    def take(self, host: str, port: int) -> socket.socket | None:
        """Return the socket that listens there, which is the caller's from now on; None when there is none."""
        return self._sockets.pop((host, port), None)

    def split_off(self, addresses: Iterable[HostPort]) -> "EarlyPorts":
        """Return what listens at `addresses`, for another one to take; it is part of this no more."""
        part = EarlyPorts()
        for address in addresses:
            listening = self.take(address.host, address.port)
            if listening is not None:
                part._sockets[address.host, address.port] = listening
        return part

    def close(self) -> None:
        """Close what nobody took; who waits there is cut off."""
        for listening in self._sockets.values():
            listening.close()
        self._sockets.clear()


def _listening(address: HostPort) -> socket.socket | None:
    if address.port == 0:
        return None
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        if len(found) != 1:
            return None
        family, kind, protocol, _, where = found[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):  # the latter for a name with an empty or a very long part
        return None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:  # as event loops do: the address of IPv4 may be somebody else's
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(where)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        return None
    return listening
