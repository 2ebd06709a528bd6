"""`FleetApis`: every request answered as by one process, whoever of the fleet serves its groups."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress, CoordinatorNotAvailable
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.apis.group_id_guard import GUARDED_KEYS
from kproxy.handlers.fleet.api_divisions import divisions
from kproxy.handlers.fleet.divisions import Division, Part
from kproxy.handlers.fleet.peer_group_ids import PeerGroupIds
from kproxy.handlers.fleet.ports import FleetPorts
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.registry import InternalErrorCallback, ServedApis
from kproxy.handlers.request_context import RequestContext
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest

PEER_UNAVAILABLE: Final = "peer_unavailable"
"""The reason under which parts of requests are counted that a peer could not be asked."""

NO_ANSWER: Final = "There was no answer for this group."
"""What is said of groups about which a process said nothing: of configurations, for example, after a fault."""


class FleetApis:
    """Implements `Apis` with `apis`, which serve this process's groups, and peers, which serve theirs.

    A request is divided by the owners of its groups, all of them are asked at once, and their answers are merged. Of a
    peer that cannot be asked its part is refused, with the errors of the API, and no other. For clients of this process
    alone: what peers ask is for `apis`, so that nothing goes in circles. A process without peers looks once, and passes
    everything on.

    Args:
        apis: what this process serves.
        ports: the rest of the fleet.
        peer_ids: the ids of the share groups that peers serve: what is refused for their sake is looked at again.
        bounds: those of administrators' requests, which hold for a request as a whole.
        on_internal_error: told of faults; it must not raise.
    """

    __slots__ = ("_apis", "_divisions", "_entries", "_on_internal_error", "_owners", "_peer_ids", "_ports")

    def __init__(
        self,
        apis: ServedApis,
        ports: FleetPorts,
        peer_ids: PeerGroupIds,
        *,
        bounds: AdministrationBounds,
        on_internal_error: InternalErrorCallback,
    ) -> None:
        self._apis = apis
        self._ports = ports
        self._owners = ports.owners
        self._peer_ids = peer_ids
        self._on_internal_error = on_internal_error
        self._divisions = divisions(bounds)
        self._entries = {entry.api_key: entry for entry in (*apis.entries, *apis.partial_entries)}

    async def serve(self, request: DecodedRequest, context: RequestContext) -> Message:
        """Answer `request`, whose API key and version are registered. Raises nothing of its own."""
        if context.refusal or not self._owners.peers():
            return await self._apis.serve(request, context)
        try:
            if request.api_key in GUARDED_KEYS:
                return await self._serve_guarded(request, context)
            division = self._divisions.get(request.api_key)
            if division is None:
                return await self._apis.serve(request, context)
            return await self._serve_by_owners(division, request, context)
        except Exception as fault:  # noqa: BLE001  # the top of a request: told to the shell, answered to the client
            self._on_internal_error(context, fault)
            return self._refusal(request, ErrorCode.UNKNOWN_SERVER_ERROR, "kproxy met an unexpected fault")

    def forsake(self, connection_id: int) -> None:
        """Let nothing wait here for a connection that went away. What peers are asked for it ends with its own."""
        self._apis.forsake(connection_id)

    async def connection_closed(self, connection_id: int) -> None:
        """Release what the clients of a connection that went away hold here; peers hear of it by themselves."""
        await self._apis.connection_closed(connection_id)

    def more_arrived(self, connection_id: int) -> None:
        """Take note that bytes came behind the request of a connection that is being answered."""
        self._apis.more_arrived(connection_id)

    async def _serve_guarded(self, request: DecodedRequest, context: RequestContext) -> Message:
        """Refuse what was held because of a share group's id; only for the moment, if that is the id of none any more.

        Clients then ask again, and the request passes.
        """
        group_id: str = getattr(request.message, "group_id")  # noqa: B009  # each of these messages has it
        if not await self._peer_ids.is_gone(group_id, context):
            return await self._apis.serve(request, context)
        gone = CoordinatorLoadInProgress(f"share group {group_id!r} was deleted just now, or moves")
        self._ports.observer.refused(context, reason=gone.error_code.name.lower(), detail=str(gone))
        return self._refusal(request, gone.error_code, str(gone))

    async def _serve_by_owners(
        self, division: Division, request: DecodedRequest, context: RequestContext
    ) -> Message:
        parts = await division.parts(request.message, self._owners)
        if len(parts) == 1 and parts[0].peer is None:
            return await self._apis.serve(request, context)
        report = RefusalReport(self._ports.observer, context)
        answers = await self._answers(division, request, parts, context)
        merged = await division.merge(request.message, list(zip(parts, answers, strict=True)), report)
        report.tell()
        return merged

    async def _answers(
        self, division: Division, request: DecodedRequest, parts: Sequence[Part], context: RequestContext
    ) -> Sequence[Message]:
        if len(parts) == 1:
            return [await self._answer(division, request, parts[0], context)]
        works = [partial(self._answer, division, request, part, context) for part in parts]
        return await self._ports.side_by_side.run(works)

    async def _answer(
        self, division: Division, request: DecodedRequest, part: Part, context: RequestContext
    ) -> Message:
        """Return the answer to one part, from whoever owns its groups, or its refusal."""
        asked = replace(request, message=part.message)
        if part.peer is None:
            answer = await self._apis.serve(asked, context)
        else:
            try:
                answer = await self._ports.requests.ask(part.peer, _granted(asked, context), context)
            except CoordinatorNotAvailable as failure:
                detail = f"what {part.peer.name} serves of the request: {failure}"
                self._ports.observer.refused(context, reason=PEER_UNAVAILABLE, detail=detail)
                return self._refusal(asked, failure.error_code, str(failure))
        if division.is_answered(part, answer):
            return answer
        return self._refusal(asked, ErrorCode.UNKNOWN_SERVER_ERROR, NO_ANSWER)

    def _refusal(self, asked: DecodedRequest, error_code: ErrorCode, error_message: str) -> Message:
        division = self._divisions.get(asked.api_key)
        own_way = None if division is None else division.refuse
        refuse = own_way or self._entries[asked.api_key].refusal_of
        return refuse(asked.message, error_code, error_message)


def _granted(asked: DecodedRequest, context: RequestContext) -> DecodedRequest:
    """Return what a peer is asked: records that it reads are held here, too, as long as their client takes them."""
    message = asked.message
    if not isinstance(message, ShareFetchRequest):
        return asked
    max_bytes = context.answer_budget.grant(max(message.max_bytes, 0))
    return replace(asked, message=replace(message, max_bytes=max_bytes))
