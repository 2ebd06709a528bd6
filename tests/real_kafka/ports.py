"""Ports, on loopback unless told otherwise, that nobody else gets while a cluster may need them."""

import socket
from typing import Final, Self

LOOPBACK: Final = "127.0.0.1"


class ReservedPort:
    """A free port, held for a process that is yet to listen on it, also between its stop and its next start.

    The socket is bound and never listens. With SO_REUSEADDR on both sides Linux lets another process bind the
    same port and listen, but gives it to nobody who asks for any free port, so the race of "find a free one,
    let it go, hope" does not exist. Java sets SO_REUSEADDR on its listeners.
    """

    __slots__ = ("_socket", "host", "number")

    def __init__(self, host: str = LOOPBACK) -> None:
        """Reserve a free port of `host`, which is an IPv4 address of this machine."""
        self.host: Final = host
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((host, 0))
        self.number: int = self._socket.getsockname()[1]

    @property
    def address(self) -> str:
        """`HOST:PORT`."""
        return f"{self.host}:{self.number}"

    def accepts_connections(self) -> bool:
        """Whether somebody listens on the port now."""
        try:
            socket.create_connection((self.host, self.number), timeout=1).close()
        except OSError:
            return False
        return True

    def release(self) -> None:
        """Give the port back. May be called again."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
