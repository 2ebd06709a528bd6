"""`PeerTwins`: the connections to other kproxy processes, one for each client connection and process that it needs."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from kproxy.errors import CoordinatorNotAvailable, MalformedMessage
from kproxy.fleet.owners import GroupOwners, Peer
from kproxy.fleet.peer_hello import Purpose, RelayedClient
from kproxy.handlers.request_context import RequestContext
from kproxy.interception.calls import PeerCall
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.counting import Measuring
from kproxy.net.observation import api_name
from kproxy.net.peers.answer_decoder import AnswerDecoder
from kproxy.net.peers.owned_answer import OwnedAnswer
from kproxy.net.peers.peer_dialler import PeerDialler
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.peer_twin import GIVEN_UP, Answer, PeerTraffic, PeerTwin
from kproxy.net.peers.silences import Silences
from kproxy.net.peers.twin_place import TwinPlace
from kproxy.net.peers.whole_answer import WholeAnswer
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.read_buffer import ReadBuffer
from kproxy.net.relay.relay import DEFAULT_BUDGET_BYTES
from kproxy.net.relay.relayed_answers import RelayedAnswer
from kproxy.wire import codecs, group_ids
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest

_DECODED_TIMES: Final = 9
"""How many times its own bytes a list of groups takes that is decoded, measured; what other answers do, roughly."""


class PeerTwins:
    """Implements `Peers` for client connections, and `ask` for requests that kproxy splits.

    Args:
        owners: who serves which group.
        dialler: opens connections.
        limits: their bounds.
        measuring: what is relayed is counted and timed.
        seconds: a clock for that.
        is_sure: whether `owners` may be relied on at this moment: this process holds a lease.
    """

    def __init__(
        self,
        owners: GroupOwners,
        dialler: PeerDialler,
        *,
        limits: PeerLimits,
        measuring: Measuring,
        seconds: Callable[[], float] = time.perf_counter,
        is_sure: Callable[[], bool] = lambda: True,
    ) -> None:
        self.traffic = PeerTraffic()
        self.reads = ReadBuffer(BufferBudget(DEFAULT_BUDGET_BYTES))
        """What peers send is read into; to be that of this process's relay before anything is asked."""
        self._owners = owners
        self._dialler = dialler
        self._limits = limits
        self._measuring = measuring
        self._seconds = seconds
        self._is_sure = is_sure
        self._decoder = AnswerDecoder()
        self._silences = Silences()
        self._places: dict[int, dict[str, TwinPlace]] = {}

    def is_elsewhere(self, group_id: str) -> bool:
        """Tell whether another process serves a group: `RoutingTable.is_elsewhere`."""
        return self._owners.peer_of_group(group_id) is not None

    async def relay(self, call: PeerCall, answer: RelayedAnswer) -> bool:
        peer = self._owners.peer_of_group(call.group_id)
        if peer is None:
            return False
        api, began = api_name(call.slot.api_key), self._seconds()
        try:
            await self._relay(call, answer, peer)
        except PeerFailure as failure:
            is_cut = answer.has_begun and failure.reason != GIVEN_UP
            reason = "lost_mid_answer" if is_cut else failure.reason
            self._measuring.count("relayed_requests", 1, api, reason)
            detail = failure.detail if is_cut else self._no_answer_of(peer, failure)
            raise PeerFailure(reason, detail) from failure
        self._measuring.count("relayed_requests", 1, api, "answered")
        self._measuring.observe("relayed_request_duration_seconds", self._seconds() - began, api)
        return True

    async def ask(self, peer: Peer, request: DecodedRequest, context: RequestContext) -> Message:
        """Return the answer of `peer` to `request`, decoded; it serves that itself.

        The connection is that of `context.connection_id`; 0 and below stand for this process. What a client asks that
        has gone meanwhile has a connection of its own, on which `peer` hears so first: the member may have begun anew
        elsewhere, and nothing of that is its predecessor's to take.

        Raises:
            CoordinatorNotAvailable: it cannot be reached, ended the connection, or did not answer in time.
        """
        client = RelayedClient(context.node_id, context.peer, str(context.principal), context.connection_id)
        try:
            if context.caller.is_gone:
                async with self._passing_place(client, peer) as place:
                    return await self._ask(place, request, context)
            return await self._ask(self._place(client, peer), request, context)
        except (PeerFailure, MalformedMessage) as failure:
            raise CoordinatorNotAvailable(self._no_answer_of(peer, failure)) from failure

    def close(self, connection_id: int) -> None:
        for place in self._places.pop(connection_id, {}).values():
            place.close()

    def drop_departed(self) -> None:
        """Give up every process that serves no group any more: only an answer that has begun is waited for.

        To be called for each new map.
        """
        staying = {peer.token for peer in self._owners.peers()}
        for places in self._places.values():
            for token in places.keys() - staying:
                places.pop(token).fail_behind_answer("departed", "serves no group any more")

    def report(self) -> None:
        """Add what passed to the counter `peer_bytes`, and begin at 0 again."""
        traffic = self.traffic
        self._measuring.count("peer_bytes", traffic.to_peers, "relaying", "out")
        self._measuring.count("peer_bytes", traffic.from_peers, "relaying", "in")
        traffic.to_peers = traffic.from_peers = 0

    def hurry(self) -> None:
        """Let peers answer at once what they hold until there is something to tell: this process is about to end."""
        for place in self._all_places():
            place.say_more()

    def abort(self) -> None:
        """Close all connections now: the process ends."""
        for place in self._all_places():
            place.fail(GIVEN_UP, "is not asked any more: this process ends")
        self._places.clear()
        self._decoder.close()

    # ------------------------------------------------ private

    async def _relay(self, call: PeerCall, answer: RelayedAnswer, peer: Peer) -> None:
        client = answer.client
        principal = str(client.session.principal)
        place = self._place(RelayedClient(client.node_id, client.peer, principal, client.connection_id), peer)
        async with place.turn:
            twin = await place.twin()
            frame: list[bytes | memoryview] = [len(call.frame).to_bytes(4, "big"), call.frame]
            if client.is_gone:
                twin.send_left(frame)
                return
            taken: Answer = answer
            wait_ms = 0
            if call.slot.api_key == ApiKey.SHARE_FETCH:
                taken = self._owned(answer, peer, call.group_id)
                wait_ms = group_ids.max_wait_ms_of(call.frame)
            twin.ask(frame, taken, correlation_id=call.slot.correlation_id, extra_patience_ms=wait_ms)
            try:
                await answer.wait(twin)
            finally:
                twin.read(is_wanted=True)  # what is left of an answer that was lost stops for no client

    def _no_answer_of(self, peer: Peer, failure: PeerFailure | MalformedMessage) -> str:
        """Log why there is no answer, which is nothing for clients; return what they are told."""
        self._silences.note(peer.name, failure, now_s=self._seconds())
        return f"{peer.name}, which serves it, gave no answer"

    def _owned(self, answer: Answer, peer: Peer, group_id: str) -> OwnedAnswer:
        """Return what takes the records of a group."""
        owner = partial(self._owners.peer_of_group, group_id)
        return OwnedAnswer(answer, peer, owner=owner, is_sure=self._is_sure)

    async def _ask(self, place: TwinPlace, request: DecodedRequest, context: RequestContext) -> Message:
        api_key, version, number = request.api_key, request.api_version, request.correlation_id
        message = request.message
        frame = codecs.encode_request(api_key, version, number, request.client_id, message)
        with WholeAnswer(self._limits.most_answer_bytes, self.reads.budget) as answer:
            owned: OwnedAnswer | None = None
            wait_ms = 0
            if isinstance(message, ShareFetchRequest):  # moved since it was decoded to be served here
                owned = self._owned(answer, place.peer, message.group_id or "")
                wait_ms = max(message.max_wait_ms, 0)
            async with place.turn:
                twin = await place.twin()
                if context.caller.is_gone:  # or went while the peer was dialled
                    twin.say_gone()
                twin.ask(frame, owned or answer, correlation_id=number, extra_patience_ms=wait_ms)
                whole = await answer.frame()
            told = await self._decoder.message_of(api_key, version, whole)
            if owned is None:
                context.answer_budget.keep(_DECODED_TIMES * len(whole))
            else:
                owned.require_owner()  # its records are views of it, for which room was granted
            return told

    def _all_places(self) -> list[TwinPlace]:
        return [place for places in self._places.values() for place in places.values()]

    def _place(self, client: RelayedClient, peer: Peer) -> TwinPlace:
        """Return the way to `peer`: another one once the client is somebody else, whom only a hello tells of."""
        places = self._places.setdefault(max(client.connection_id, 0), {})
        place = places.get(peer.token)
        if place is not None and place.principal != client.principal:
            place.close()
            place = None
        if place is None:
            place = places[peer.token] = self._new_place(client, peer)
        return place

    def _new_place(self, client: RelayedClient, peer: Peer) -> TwinPlace:
        make = partial(PeerTwin, peer.name, self._limits, self.traffic, self.reads)
        dial = partial(self._dialler.open, peer, Purpose.REQUESTS, make, client=client)
        return TwinPlace(peer, dial, client.principal)

    @asynccontextmanager
    async def _passing_place(self, client: RelayedClient, peer: Peer) -> AsyncIterator[TwinPlace]:
        place = self._new_place(client, peer)
        try:
            yield place
        finally:
            place.close()
