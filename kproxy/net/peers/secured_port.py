"""`SecuredPort`: an internal listener whose connections begin with a TLS handshake, each with the newest context."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from kproxy.errors import PeerRefused
from kproxy.net.dialing import TlsContext
from kproxy.net.peers.reception import Reception
from kproxy.net.relay.early_ports import BACKLOG
from kproxy.net.tasks import TaskKeeper
from kproxy.net.tls.handshakes import failure_with_peer
from kproxy.net.tls.paced_protocol import PacedProtocol
from kproxy.telemetry import logs

log = logs.logger("net.peers")

HANDSHAKE_SECONDS: Final = 60.0
"""Longer than any preamble may take: its own deadline ends the handshake, see `Reception.expect`."""

_PAUSE_SECONDS: Final = 0.5
"""After a failed accept: what it lacks, as file descriptors, has to come back first."""


class SecuredPort:
    """Accepts connections; how many may be in their handshake, and for how long, is the business of receptions.

    Args:
        sockets: bound; they become its own.
        make_reception: makes what hears who dials.
        tls: the context for the next handshake.
        tasks: keeps what accepts and what waits for handshakes.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        make_reception: Callable[[], Reception],
        tls: TlsContext,
        tasks: TaskKeeper,
    ) -> None:
        self.sockets = sockets
        self._make_reception = make_reception
        self._tls = tls
        self._tasks = tasks
        self._accepting: list[asyncio.Task[None]] = []

    async def start_serving(self) -> None:
        """Accept from now on."""
        for listening in self.sockets:
            listening.setblocking(False)
            listening.listen(BACKLOG)
            task = self._tasks.spawn(self._accept(listening), name="accepting peers")
            # Not before: a loop that waits at a socket which is closed mistakes the next one for it.
            task.add_done_callback(partial(_close, listening))
            self._accepting.append(task)

    def close(self) -> None:
        """Accept nobody any more, from the loop's next turn on; connections that are open stay."""
        for task in self._accepting:
            task.cancel()
        self.sockets = ()

    async def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                accepted, (host, port, *_) = await asyncio.get_running_loop().sock_accept(listening)
            except OSError as error:
                log.warning("accept_failed", err=error)
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                self._receive(accepted, f"{host}:{port}")

    def _receive(self, accepted: socket.socket, address: str) -> None:
        reception = self._make_reception()
        task = self._tasks.spawn(self._shake_hands(accepted, reception), name=f"handshake with {address}")
        task.add_done_callback(partial(_close_if_cancelled, accepted))
        reception.expect(address, task.cancel)

    async def _shake_hands(self, accepted: socket.socket, reception: Reception) -> None:
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            paced = PacedProtocol(reception, self._tls.context, server_side=True)
            await asyncio.get_running_loop().connect_accepted_socket(lambda: paced, accepted)
            await paced.shaken(HANDSHAKE_SECONDS)
        except OSError as error:
            failure = failure_with_peer(error)
            reception.handshake_failed(PeerRefused(failure.reason, failure.detail))


def _close(listening: socket.socket, _task: asyncio.Task[None]) -> None:
    listening.close()


def _close_if_cancelled(accepted: socket.socket, task: asyncio.Task[None]) -> None:
    """A task that is cancelled before it begins has told nobody of its socket."""
    if task.cancelled():
        accepted.close()
