"""`TwinPlace`: the way from one client connection to one peer."""

import asyncio
from collections.abc import Awaitable, Callable

from kproxy.fleet.owners import Peer
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_twin import GIVEN_UP, PeerTwin


class TwinPlace:
    """A connection when it is needed, and another one when it was lost. `dial` raises PeerFailure.

    `principal` is who the peer is told that the client is.
    """

    __slots__ = ("_dial", "_dialling", "_end", "_twin", "peer", "principal", "turn")

    def __init__(self, peer: Peer, dial: Callable[[], Awaitable[PeerTwin]], principal: str = "") -> None:
        self.peer = peer
        self.principal = principal
        self.turn = asyncio.Lock()
        """Held by whoever asks: one request at a time."""
        self._dial = dial
        self._dialling: asyncio.Timeout | None = None
        self._twin: PeerTwin | None = None
        self._end: Callable[[PeerTwin], None] | None = None

    async def twin(self) -> PeerTwin:
        """Return the connection, open. To be called in `turn`. Raises PeerFailure."""
        if self._twin is not None and self._twin.is_open:
            return self._twin
        try:
            async with asyncio.timeout(None) as self._dialling:
                self._twin = None if self._end is not None else await self._dial()
        except TimeoutError:
            self._twin = None
        finally:
            self._dialling = None
        return self._still_wanted(self._twin)

    def close(self) -> None:
        """Let the peer serve what it was sent; dial no more."""
        self._give_up(lambda twin: twin.close())

    def fail(self, reason: str, detail: str) -> None:
        """Close now: no answer of this peer is waited for; see `PeerTwin.fail`."""
        self._give_up(lambda twin: twin.fail(reason, detail))

    def fail_behind_answer(self, reason: str, detail: str) -> None:
        """Close now, or when the answer that has begun is whole; see `PeerTwin.fail_behind_answer`."""
        self._give_up(lambda twin: twin.fail_behind_answer(reason, detail))

    def say_more(self) -> None:
        """Let the peer answer what it holds: see `PeerTwin.say_more`."""
        if self._twin is not None:
            self._twin.say_more()

    def _still_wanted(self, twin: PeerTwin | None) -> PeerTwin:
        """Return `twin`, unless it was given up: a dial may succeed in the very turn in which that happens."""
        if twin is not None and self._end is None:
            return twin
        if twin is not None and self._end is not None:
            self._end(twin)
        raise PeerFailure(GIVEN_UP, f"{self.peer.name} is not asked any more")

    def _give_up(self, end: Callable[[PeerTwin], None]) -> None:
        self._end = end
        if self._twin is not None:
            end(self._twin)
        if self._dialling is not None:
            self._dialling.reschedule(0)
