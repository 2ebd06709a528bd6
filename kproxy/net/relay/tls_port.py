"""`TlsPort`: a port where clients begin with a TLS handshake, each with the newest context at that moment."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol, cast

from kproxy.net.counting import Counting
from kproxy.net.dialing import TlsContext
from kproxy.net.tasks import TaskKeeper
from kproxy.net.tls.handshakes import HANDSHAKE_ABANDONED, failure_with_client
from kproxy.net.tls.paced_protocol import PacedProtocol
from kproxy.telemetry import logs

log = logs.logger("net.relay.relay")

HANDSHAKE_SECONDS: Final = 10.0
"""How long a handshake may take: longer than any client on a slow line needs, shorter than its patience (30 s)."""

MOST_HANDSHAKES: Final = 1000
"""How many may be under way at a port; who comes beyond that waits to be accepted."""

_PAUSE_SECONDS: Final = 0.5
"""After a failed accept: what it lacks, as file descriptors, has to come back first."""


class AdmittedProtocol(Protocol):
    """What serves a client, asked before its handshake whether there is room for it: `LimitedConnection`."""

    def admit(self, host: str, port: int) -> bool:
        """Count it; False when it is to be closed."""
        ...

    def withdraw(self) -> None:
        """Count it no more: its handshake failed."""
        ...


class TlsPort:
    """Accepts connections on sockets that listen, and hands them over once the handshake is done.

    What fails, or takes too long, is closed, logged and counted, and nothing of it reaches `make_protocol`'s relay.

    Args:
        sockets: bound; they become its own.
        make_protocol: makes what serves a client.
        tls: the context for the next handshake.
        tasks: keeps what accepts and what waits for handshakes.
        counting: counts what failed.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        make_protocol: Callable[[], AdmittedProtocol],
        tls: TlsContext,
        *,
        tasks: TaskKeeper,
        counting: Counting,
    ) -> None:
        self.sockets = sockets
        self._make_protocol = make_protocol
        self._tls = tls
        self._tasks = tasks
        self._counting = counting
        self._accepting: list[asyncio.Task[None]] = []
        self._turns = asyncio.Semaphore(MOST_HANDSHAKES)
        self._has_failed = False

    async def start_serving(self) -> None:
        """Accept from now on; again it does nothing."""
        if self._accepting:
            return
        for listening in self.sockets:
            listening.setblocking(False)
            name = f"accepting at port {listening.getsockname()[1]}"
            task = self._tasks.spawn(self._accept(listening), name=name)
            # Not before: a loop that waits at a socket which is closed mistakes the next one for it.
            task.add_done_callback(partial(_close, listening))
            self._accepting.append(task)

    def close(self) -> None:
        """Accept nobody any more, from the loop's next turn on; connections that are open stay."""
        for task in self._accepting:
            task.cancel()
        for listening in () if self._accepting else self.sockets:
            listening.close()
        self.sockets = ()

    async def _accept(self, listening: socket.socket) -> None:
        while True:
            await self._turns.acquire()
            await self._accept_one(listening)

    async def _accept_one(self, listening: socket.socket) -> None:
        try:
            accepted, address = await asyncio.get_running_loop().sock_accept(listening)
        except OSError as error:
            self._turns.release()
            await self._pause_after(error)
            return
        self._has_failed = False
        peer = f"{address[0]}:{address[1]}"
        task = self._tasks.spawn(self._welcome(accepted, address), name=f"handshake with {peer}")
        task.add_done_callback(partial(_close_if_cancelled, accepted))

    async def _pause_after(self, error: OSError) -> None:
        """Count a failed accept, tell of the first in a row, and wait for what it lacks to come back."""
        self._counting.count("connection_errors", 1, "client", "accept_failed")
        tell = log.debug if self._has_failed else log.warning
        tell("accept_failed", err=error)
        self._has_failed = True
        await asyncio.sleep(_PAUSE_SECONDS)

    async def _welcome(self, accepted: socket.socket, address: tuple[str, int]) -> None:
        loop = asyncio.get_running_loop()
        served, (host, port, *_) = self._make_protocol(), address
        if not served.admit(host, port):
            accepted.close()
            self._turns.release()
            return
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            paced = PacedProtocol(cast("asyncio.Protocol", served), self._tls.context, server_side=True)
            await loop.connect_accepted_socket(lambda: paced, accepted)
            await paced.shaken(HANDSHAKE_SECONDS)
        except OSError as error:
            served.withdraw()
            self._note_failure(error, f"{host}:{port}")
        finally:
            self._turns.release()

    def _note_failure(self, error: OSError, peer: str) -> None:
        failure = failure_with_client(error)
        self._counting.count("connection_errors", 1, "client", failure.reason)
        tell = log.debug if failure.reason == HANDSHAKE_ABANDONED else log.warning
        tell("connection_refused", peer=peer, side="client", reason=failure.reason, err=failure.detail)


def _close(listening: socket.socket, _task: asyncio.Task[None]) -> None:
    listening.close()


def _close_if_cancelled(accepted: socket.socket, task: asyncio.Task[None]) -> None:
    """A task that is cancelled before it begins has told nobody of its socket."""
    if task.cancelled():
        accepted.close()
