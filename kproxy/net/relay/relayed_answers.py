"""Requests about groups that another kproxy process serves: relayed as they came, answered as the answer comes.

`kproxy.net.peers` has the connections; what of them a client connection needs is said here.
"""

import asyncio
from dataclasses import replace
from typing import Final, Protocol

from kproxy.handlers.registry import Apis
from kproxy.handlers.request_context import AnswerBudget
from kproxy.interception.calls import PeerCall
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.relay.answering import Answered, context_of, send_answer


class PeerLink(Protocol):
    """A connection to a peer, on which a request waits for its answer: `PeerTwin`, which stands above this module."""

    def read(self, *, is_wanted: bool) -> None:
        """Read from the peer, or nothing more for now."""
        ...

    def say_more(self) -> None:
        """Let the peer know that the client has sent something behind its request."""
        ...

    def forsake(self) -> None:
        """Drop all that the peer answers from now on: nobody hears it."""
        ...


class UnderWay(Protocol):
    """An answer that a peer is about to give, as its client connection sees it: `RelayedAnswer`, or none."""

    @property
    def has_yet_to_be_asked(self) -> bool:
        """Whether its request has not been sent: the peer is being dialled."""
        ...

    def read(self, *, is_wanted: bool) -> None:
        """Read from the peer, or nothing more for now: the client is slow."""
        ...

    def more_arrived(self) -> None:
        """Take note that the client has sent something behind its request."""
        ...

    def forsake(self) -> None:
        """Wait no longer: the client is gone."""
        ...


class _NoAnswer:
    """`UnderWay` for a connection that waits for no peer."""

    has_yet_to_be_asked = False

    def read(self, *, is_wanted: bool) -> None:
        pass

    def more_arrived(self) -> None:
        pass

    def forsake(self) -> None:
        pass


NO_ANSWER: Final[UnderWay] = _NoAnswer()


class RelayingClient(Answered, Protocol):
    """The client connection whose request is relayed: `ClientConnection`."""

    transport: asyncio.Transport | None
    relayed: UnderWay
    """The answer under way; `NO_ANSWER` when there is none."""

    def receive_from_peer(self, data: bytes | memoryview) -> None:
        """Take a part of the answer."""
        ...


class Peers(Protocol):
    """The other processes, as client connections see them: `PeerTwins`, which stands above this module."""

    async def relay(self, call: PeerCall, answer: "RelayedAnswer") -> bool:
        """Relay a request; return when `answer` has ended. False: the group is not served elsewhere any more.

        Raises:
            PeerFailure: there is no answer, and there will be none.
        """
        ...

    def close(self, connection_id: int) -> None:
        """Let go of everything that a client connection had: it ended."""
        ...


class NoPeers:
    """`Peers` of a process that is alone."""

    async def relay(self, _call: PeerCall, _answer: "RelayedAnswer") -> bool:
        return False

    def close(self, connection_id: int) -> None:
        pass


class RelayedAnswer:
    """The answer to one request of `client`, from its first byte to its last. Made when the request's turn has come."""

    __slots__ = ("_ended", "_link", "client", "has_begun")

    def __init__(self, client: RelayingClient) -> None:
        self.client = client
        self.has_begun = False
        """Whether the client has a part of it."""
        self._link: PeerLink | None = None
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # ---- `UnderWay`: what the client connection says

    @property
    def has_yet_to_be_asked(self) -> bool:
        return self._link is None and not self._ended.done()

    def read(self, *, is_wanted: bool) -> None:
        if self._link is not None:
            self._link.read(is_wanted=is_wanted)

    def more_arrived(self) -> None:
        if self._link is not None:
            self._link.say_more()

    def forsake(self) -> None:
        link = self._link
        self.end()
        if link is not None:
            link.forsake()

    # ---- what the connection to the peer says

    async def wait(self, link: PeerLink) -> None:
        """Return when it has ended; it comes on `link`. Raises PeerFailure: see `lose`."""
        self._link = link
        try:
            if self.client.session.waiting_bytes:
                link.say_more()
            await self._ended
        finally:
            self._link = None

    def receive(self, data: bytes | memoryview) -> None:
        """Take a part of it, for a client that is there to have it."""
        self.has_begun = True
        transport = self.client.transport
        if transport is not None and not transport.is_closing():
            self.client.receive_from_peer(data)

    def end(self) -> None:
        """Take note that all of it came: whether the client is slow is the next answer's business."""
        self._link = None
        if not self._ended.done():
            self._ended.set_result(None)

    def lose(self, failure: PeerFailure) -> None:
        """Take note that the rest of it will not come."""
        if not self._ended.done():
            self._ended.set_exception(failure)


async def answer_from_peer(
    client: RelayingClient, call: PeerCall, apis: Apis, peers: Peers, budget: AnswerBudget
) -> int:
    """Answer `call` with what a peer answers; here, where it has no answer or the group is not elsewhere any more.

    Returns how many bytes the answer keeps in memory beside its own.

    Raises:
        PeerViolation: by the request itself, or by those that waited behind this one.
        PeerFailure: the peer was lost in the middle of its answer.
    """
    answer = client.relayed = RelayedAnswer(client)
    refusal = ""
    try:
        if await peers.relay(call, answer):
            _finish(client, call)
            return 0
    except PeerFailure as failure:
        if client.is_over:
            return 0
        if answer.has_begun:
            raise
        refusal = failure.detail
    finally:
        client.relayed = NO_ANSWER
    request = call.decoded()
    context = context_of(client, request, budget)
    response = await apis.serve(request, replace(context, refusal=refusal))
    return send_answer(client, call.slot, request, response)


def _finish(client: RelayingClient, call: PeerCall) -> None:
    if not client.is_over:
        client.session.answer(call.slot, [])
