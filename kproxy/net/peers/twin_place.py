"""`TwinPlace`: the way from one client connection to one peer."""

import asyncio
from collections.abc import Awaitable, Callable

from kproxy.fleet.owners import Peer
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_twin import GIVEN_UP, PeerTwin


class TwinPlace:
    """A connection when it is needed, and another one when it was lost. `dial` raises PeerFailure."""

    __slots__ = ("_dial", "_dialling", "_is_closed", "_twin", "peer", "turn")

    def __init__(self, peer: Peer, dial: Callable[[], Awaitable[PeerTwin]]) -> None:
        self.peer = peer
        self.turn = asyncio.Lock()
        """Held by whoever asks: one request at a time."""
        self._dial = dial
        self._dialling: asyncio.Timeout | None = None
        self._twin: PeerTwin | None = None
        self._is_closed = False

    async def twin(self) -> PeerTwin:
        """Return the connection, open. To be called in `turn`. Raises PeerFailure."""
        if self._twin is not None and self._twin.is_open:
            return self._twin
        try:
            async with asyncio.timeout(None) as self._dialling:
                self._twin = None if self._is_closed else await self._dial()
        except TimeoutError:
            self._twin = None
        finally:
            self._dialling = None
        if self._twin is None:
            raise PeerFailure(GIVEN_UP, f"{self.peer.name} is not asked any more")
        return self._twin

    def close(self) -> None:
        """Let the peer serve what it was sent; dial no more."""
        self._give_up()
        if self._twin is not None:
            self._twin.close()

    def fail(self, reason: str, detail: str) -> None:
        """Close now: no answer of this peer is waited for; see `PeerTwin.fail`."""
        self._give_up()
        if self._twin is not None:
            self._twin.fail(reason, detail)

    def say_more(self) -> None:
        """Let the peer answer what it holds: see `PeerTwin.say_more`."""
        if self._twin is not None:
            self._twin.say_more()

    def _give_up(self) -> None:
        self._is_closed = True
        if self._dialling is not None:
            self._dialling.reschedule(0)
