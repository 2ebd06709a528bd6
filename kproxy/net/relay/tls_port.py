"""`TlsPort`: a port where clients begin with a TLS handshake, each with the newest context at that moment."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol, cast

from kproxy.net.counting import Counting
from kproxy.net.dialing import TlsContext
from kproxy.net.relay.limits.handshake_places import HandshakePlaces
from kproxy.net.tasks import TaskKeeper
from kproxy.net.tls.handshakes import HANDSHAKE_ABANDONED, failure_with_client
from kproxy.net.tls.paced_protocol import PacedProtocol
from kproxy.telemetry import logs

log = logs.logger("net.relay.relay")

HANDSHAKE_SECONDS: Final = 10.0
"""How long a handshake may take: longer than any client on a slow line needs, shorter than its patience (30 s). Where
very many begin together, their first words wait for up to twice as long beside that, see `PacedProtocol.shaken`."""

_PAUSE_SECONDS: Final = 0.5
"""After a failed accept: what it lacks, as file descriptors, has to come back first."""

_ROOM_STEP_SECONDS: Final = 0.05
"""How often is looked for a place, when all who shake hands are about it."""


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
        places: of those who shake hands, at this port and others. Who comes beyond them waits to be accepted, unless
            one who is silent gives way.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        make_protocol: Callable[[], AdmittedProtocol],
        tls: TlsContext,
        *,
        tasks: TaskKeeper,
        counting: Counting,
        places: HandshakePlaces,
    ) -> None:
        self.sockets = sockets
        self._make_protocol = make_protocol
        self._tls = tls
        self._tasks = tasks
        self._counting = counting
        self._accepting: list[asyncio.Task[None]] = []
        self._places = places
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
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, (host, port, *_) = await loop.sock_accept(listening)
            except OSError as error:
                await self._pause_after(error)
                continue
            self._has_failed = False
            try:
                while not self._places.has_room(int(loop.time() * 1000)):  # noqa: ASYNC110 - they leave one by one
                    await asyncio.sleep(_ROOM_STEP_SECONDS)
            except asyncio.CancelledError:
                accepted.close()
                raise
            self._receive(accepted, host, port)

    async def _pause_after(self, error: OSError) -> None:
        """Count a failed accept, tell of the first in a row, and wait for what it lacks to come back."""
        self._counting.count("connection_errors", 1, "client", "accept_failed")
        tell = log.debug if self._has_failed else log.warning
        tell("accept_failed", err=error)
        self._has_failed = True
        await asyncio.sleep(_PAUSE_SECONDS)

    def _receive(self, accepted: socket.socket, host: str, port: int) -> None:
        served = self._make_protocol()
        if not served.admit(host, port):
            accepted.close()
            return
        handshake = NewcomerHandshake(served, self._tls.context)
        self._places.enter(handshake, int(asyncio.get_running_loop().time() * 1000))
        peer = f"{host}:{port}"
        task = self._tasks.spawn(self._welcome(accepted, handshake, peer), name=f"handshake with {peer}")
        task.add_done_callback(partial(_close_if_cancelled, accepted))
        task.add_done_callback(lambda _: self._places.leave(handshake))

    async def _welcome(self, accepted: socket.socket, handshake: "NewcomerHandshake", peer: str) -> None:
        paced = handshake.paced
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().connect_accepted_socket(lambda: paced, accepted)
            await paced.shaken(HANDSHAKE_SECONDS)
        except GaveWay:
            self._counting.count("connections_expired", 1, "handshake_crowded")
            log.info("connection_expired", peer=peer, reason="handshake_crowded")
        except OSError as error:
            handshake.served.withdraw()
            self._note_failure(error, peer)

    def _note_failure(self, error: OSError, peer: str) -> None:
        failure = failure_with_client(error)
        self._counting.count("connection_errors", 1, "client", failure.reason)
        tell = log.debug if failure.reason == HANDSHAKE_ABANDONED else log.warning
        tell("connection_refused", peer=peer, side="client", reason=failure.reason, err=failure.detail)


class GaveWay(OSError):
    """A handshake was ended for the sake of a newcomer."""


class NewcomerHandshake:
    """A handshake that is under way: `limits.handshake_places` has it so."""

    __slots__ = ("paced", "served")

    def __init__(self, served: AdmittedProtocol, context: ssl.SSLContext) -> None:
        self.served = served
        client = cast("asyncio.Protocol", served)
        self.paced = PacedProtocol(client, context, server_side=True, is_stranger=True)

    @property
    def heard_ms(self) -> int | None:
        """When its client last said something, or that was taken in."""
        return self.paced.heard_ms

    @property
    def begun_ms(self) -> int | None:
        """When what it said was first taken in."""
        return self.paced.begun_ms

    @property
    def is_waiting(self) -> bool:
        """Whether what it said waits to be taken in."""
        return self.paced.is_waiting

    def give_way(self) -> bool:
        """End it, unless it is done: then its client is served, and counts. What it held is free when that returns."""
        if self.paced.is_shaken:
            return False
        self.served.withdraw()
        self.paced.cut_off(GaveWay())
        return True


def _close(listening: socket.socket, _task: asyncio.Task[None]) -> None:
    listening.close()


def _close_if_cancelled(accepted: socket.socket, task: asyncio.Task[None]) -> None:
    """A task that is cancelled before it begins has told nobody of its socket."""
    if task.cancelled():
        accepted.close()
