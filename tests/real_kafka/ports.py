"""Ports, on loopback unless told otherwise, that nobody else gets while a cluster may need them."""

import socket
from typing import Final, Self

LOOPBACK: Final = "127.0.0.1"


class PortTaken(RuntimeError):
    """Somebody else has the port, or only root may have it."""


class ReservedPort:
    """A free port, held for a process that is yet to listen on it, also between its stop and its next start.

    The socket is bound and never listens. With SO_REUSEADDR on both sides Linux lets another process bind the
    same port and listen, but gives it to nobody who asks for any free port, so the race of "find a free one,
    let it go, hope" does not exist. Java sets SO_REUSEADDR on its listeners.
    """

    __slots__ = ("_socket", "host", "number")

    def __init__(self, host: str = LOOPBACK, number: int = 0) -> None:
        """Reserve a port of `host`, which is an IPv4 address of this machine: port `number`, or 0 for any free one.

        Raises `PortTaken`.
        """
        self.host: Final = host
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, number))
        except OSError as failure:
            self._socket.close()
            raise PortTaken(f"port {number} of {host} cannot be had: {failure.strerror}") from failure
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
