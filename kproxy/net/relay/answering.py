"""Answering the requests that do not (only) go to the broker: the way from a decoded request to frames, timed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol

from kproxy.handlers.asked_rights import AskedRights
from kproxy.handlers.groups.group_configs import are_few_groups
from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.handlers.refusal_streaks import RefusalStreaks
from kproxy.handlers.registry import Apis
from kproxy.handlers.request_context import AnswerBudget, RequestContext
from kproxy.interception.calls import Call
from kproxy.interception.client_session import ClientSession
from kproxy.interception.response_slots import ResponseSlot
from kproxy.interception.rewrites.shared_apis import SHARED_APIS
from kproxy.interception.routing import Disposition
from kproxy.net.counting import Observing
from kproxy.net.observation import api_name
from kproxy.net.relay.memory.answer_memory import cut_free, surplus_bytes
from kproxy.security.client_hosts import host_address
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest

_BRIEFLY_ANSWERED: Final = frozenset(
    (ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)
)
"""What members send all the time; the answers are of a session's size at most, and long ones of heartbeats have had a
pause (`handlers.apis.share_group_heartbeat`)."""


class TimedApis:
    """Implements `Apis` with `apis`, and observes how long each answer took.

    Measured from the moment at which the request's turn on its connection has come, so what it waited for behind
    earlier ones is not part of it; what it waited for records is. A request that is cut off with its connection is
    not observed: it was never answered.
    """

    def __init__(
        self, apis: Apis, observing: Observing, *, seconds: Callable[[], float] = time.perf_counter
    ) -> None:
        self._apis = apis
        self._observing = observing
        self._seconds = seconds

    async def serve(self, request: DecodedRequest, context: RequestContext) -> Message:
        began = self._seconds()
        answer = await self._apis.serve(request, context)
        self._observing.observe(
            "request_duration_seconds", self._seconds() - began, api_name(request.api_key)
        )
        return answer

    def forsake(self, connection_id: int) -> None:
        self._apis.forsake(connection_id)

    async def connection_closed(self, connection_id: int) -> None:
        await self._apis.connection_closed(connection_id)

    def more_arrived(self, connection_id: int) -> None:
        self._apis.more_arrived(connection_id)


class Answered(Protocol):
    """The connection that an answer goes to; its client may be gone by the time there is one.

    `ClientConnection`, which lets its requests be answered here, and so stands above this module.
    """

    connection_id: int
    node_id: int
    peer: str
    session: ClientSession
    refusals: RefusalStreaks
    is_gone: bool
    """Whether nobody hears the answer."""
    is_over: bool
    """Whether nothing behind this request is served any more."""
    is_relayed: ClassVar[bool]
    """Whether its client knows other ports: those of the process that relays it, or of another kind."""

    @property
    def rights(self) -> AskedRights | None:
        """What its broker says of its client's rights; None for a client whose broker is not asked."""
        ...


@dataclass(frozen=True, slots=True)
class ConnectedCaller:
    """Implements `Caller`: whoever is at the other end of a connection."""

    connection: Answered

    @property
    def is_gone(self) -> bool:
        return self.connection.is_gone or self.connection.session.is_farewell_said

    @property
    def has_more(self) -> bool:
        return self.connection.session.waiting_bytes > 0


async def answer_call(connection: Answered, call: Call, apis: Apis, budget: AnswerBudget) -> int:
    """Answer `call` from the served APIs, or from the broker and them together, holding no more than `budget` grants.

    Returns how many bytes the answer keeps in memory beside its own.

    Raises:
        PeerViolation: by requests that waited behind this one.
    """
    context = context_of(connection, call.request, budget)
    if call.is_large:
        await let_others_go_on()  # it was decoded in this turn, or the last one
    if call.disposition is Disposition.EXAMINE:
        await _answer_together(connection, call, apis, context)
        return 0
    if call.answer is not None:
        context = replace(context, answer_if_allowed=call.answer)
    response = await apis.serve(call.request, context)
    if call.request.api_key not in _BRIEFLY_ANSWERED:
        await let_others_go_on()  # an answer may have tens of thousands of parts, and they are encoded next
    return send_answer(connection, call.slot, call.request, response)


def send_answer(connection: Answered, slot: ResponseSlot, request: DecodedRequest, response: Message) -> int:
    """Answer `request` with `response`, unless nothing is served any more; return what that keeps beside its own bytes.

    Raises:
        PeerViolation: by requests that waited behind this one.
    """
    if connection.is_over:
        return 0
    buffers = cut_free(framed(request, response))
    connection.session.answer(slot, buffers)
    return surplus_bytes(buffers)


def context_of(connection: Answered, request: DecodedRequest, budget: AnswerBudget) -> RequestContext:
    """Return who sent `request`, and where it arrived."""
    return RequestContext(
        connection_id=connection.connection_id,
        node_id=connection.node_id,
        api_key=request.api_key,
        api_version=request.api_version,
        client_id=request.client_id or "",
        client_host="/" + host_address(connection.peer.rpartition(":")[0]),
        peer=connection.peer,
        answer_budget=budget,
        caller=ConnectedCaller(connection),
        refusals=connection.refusals,
        rights=connection.rights,
        is_relayed=connection.is_relayed,
        principal=connection.session.principal,
    )


async def _answer_together(connection: Answered, call: Call, apis: Apis, context: RequestContext) -> None:
    """Serve what is about share groups here and the rest at the broker, and merge both answers.

    A request about the configurations of too many groups is refused as a whole. It may be large, so others have a turn
    between its steps.
    """
    request = call.request
    shared = SHARED_APIS[request.api_key]
    halves = shared.split(request.message)
    await let_others_go_on()
    is_refused = _names_too_many_groups(halves.local)
    served: Message | None = request.message if is_refused else halves.local
    local = await apis.serve(replace(request, message=served), context) if served is not None else None
    await let_others_go_on()
    if connection.is_over:
        return
    if is_refused and local is not None:
        connection.session.answer(call.slot, framed(request, local))
        return
    left = halves.upstream if shared.left is None else shared.left(request.message, local)
    if left is None or connection.session.broker_lacks(request.api_key):
        merged = shared.merge(request.message, local, None)
        await let_others_go_on()
        connection.session.answer(call.slot, framed(request, merged))
        return
    half = connection.session.left_half(
        request, left, lambda answer: shared.merge(request.message, local, answer)
    )
    connection.session.pass_on(call.slot, half.frame(), half.answer, kept_bytes=call.memory_bytes)


def _names_too_many_groups(message: Message | None) -> bool:
    """The elder AlterConfigs is refused for every group that kproxy serves, one by one."""
    if not isinstance(message, DescribeConfigsRequest | IncrementalAlterConfigsRequest):
        return False
    return not are_few_groups(message.resources)


def framed(request: DecodedRequest, response: Message) -> list[bytes | memoryview]:
    """Return the frame of `response`, which answers `request`."""
    return codecs.encode_response(request.api_key, request.api_version, request.correlation_id, response)
