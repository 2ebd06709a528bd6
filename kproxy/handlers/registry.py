"""Which APIs kproxy serves: API key to handler and version range, and the gate in front of all of them.

A request that needs the state log waits here until it is there, or cannot come (`readiness`). Nothing but an answer
leaves here: a fault inside a handler becomes UNKNOWN_SERVER_ERROR for its client, and
the shell is told once so that it can log the stack.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Protocol

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError
from kproxy.handlers.authorization import ALLOW_ALL, Authorizer
from kproxy.handlers.ports import Observer
from kproxy.handlers.readiness import AlwaysReady, Readiness, state_need
from kproxy.handlers.request_context import RequestContext
from kproxy.security.principal import UNKNOWN
from kproxy.wire.codecs import DecodedRequest, Message


class Refusal(Protocol):
    """A response class whose instances can say no as a whole."""

    def __call__(self, *, error_code: int, error_message: str | None) -> Message: ...


@dataclass(frozen=True, slots=True)
class ServedApi:
    """One API: versions from `min_version` to `max_version`, both inclusive.

    `serve` is given the message that belongs to `api_key`. A request is refused as a whole by `refuse`, which makes a
    response of nothing but an error, or by `refuse_parts` where responses have errors of their parts only: it is
    given the request, the error code and the error in words.
    """

    api_key: int
    min_version: int
    max_version: int
    serve: Callable[[Any, RequestContext], Awaitable[Message]]
    refuse: Refusal | None = None
    refuse_parts: Callable[[Any, ErrorCode, str | None], Message] | None = None

    def refusal_of(self, request: Message, error_code: ErrorCode, error_message: str | None) -> Message:
        """Return the response that refuses `request`."""
        if self.refuse_parts is not None:
            return self.refuse_parts(request, error_code, error_message)
        assert self.refuse is not None, "an API can be refused"
        return self.refuse(error_code=error_code, error_message=error_message)


class Apis(Protocol):
    """What answers requests: `ServedApis`, and what holds or times its answers."""

    async def serve(self, request: DecodedRequest, context: RequestContext) -> Message:
        """Answer a request whose API key and version are served; raises nothing."""
        ...

    def forsake(self, connection_id: int) -> None:
        """Let no request of a connection that went away wait any longer for the state log, or for records."""
        ...

    async def connection_closed(self, connection_id: int) -> None:
        """Release what the clients of a connection that went away held."""
        ...

    def more_arrived(self, connection_id: int) -> None:
        """Take note that bytes came behind the request of a connection that is being answered."""
        ...


class Service(Enum):
    """Whether share groups are served."""

    ON = "on"
    UNAVAILABLE = "unavailable"
    """For the moment not: clients are told to try again."""
    OFF = "off"
    """Not at all: the APIs are not advertised, and clients that ask all the same give up."""
    DISABLED = "disabled"
    """Not at all, as by a broker whose feature `share.version` is 0: the APIs are advertised, and clients give up."""


InternalErrorCallback = Callable[[RequestContext, Exception], None]
"""Told of an exception that no handler expected, with its stack, before the client is answered."""


class ServedApis:
    """Implements `Apis`: the served APIs by key. Off until `set_available` is called.

    Args:
        apis: one entry for each API key of share groups.
        partial_apis: the APIs of which kproxy serves the part that is about share groups; never advertised for it.
        observer: told of every request that is refused as a whole here.
        on_internal_error: told of faults; it must not raise.
        on_connection_closed: releases what a connection that went away held.
        readiness: lets requests wait for the state log.
        authorizer: what requests wait for in the first moment, until anybody's rights can be told.
    """

    __slots__ = (
        "_apis",
        "_authorizer",
        "_observer",
        "_on_connection_closed",
        "_on_internal_error",
        "_partial_apis",
        "_readiness",
        "_reason",
        "_service",
        "on_forsaken",
        "on_more_arrived",
    )

    def __init__(  # noqa: PLR0913 - keyword-only collaborators, named once where all is put together
        self,
        apis: Iterable[ServedApi],
        partial_apis: Iterable[ServedApi],
        *,
        observer: Observer,
        on_internal_error: InternalErrorCallback,
        on_connection_closed: Callable[[int], Awaitable[None]],
        readiness: Readiness | None = None,
        authorizer: Authorizer = ALLOW_ALL,
    ) -> None:
        self._authorizer = authorizer
        self._apis = {api.api_key: api for api in apis}
        self._partial_apis = {api.api_key: api for api in partial_apis}
        self._observer = observer
        self._on_internal_error = on_internal_error
        self._on_connection_closed = on_connection_closed
        self._readiness = AlwaysReady() if readiness is None else readiness
        self.on_more_arrived: Callable[[int], None] = lambda _: None
        """Answers what is held on a connection."""
        self.on_forsaken: Callable[[int], None] = lambda _: None
        """Ends what waits for records on a connection that went away."""
        self._service = Service.OFF
        self._reason = "share groups were not turned on"

    @property
    def service(self) -> Service:
        """Whether share groups are served at this moment."""
        return self._service

    @property
    def reason(self) -> str:
        """Why they are not; empty while they are."""
        return self._reason

    @property
    def entries(self) -> Collection[ServedApi]:
        """The APIs that are served whole."""
        return self._apis.values()

    @property
    def partial_entries(self) -> Collection[ServedApi]:
        """Those of which the part about share groups is."""
        return self._partial_apis.values()

    @property
    def is_off(self) -> bool:
        """Whether they are not served and will not be before somebody changes something."""
        return self._service is Service.OFF or self._service is Service.DISABLED

    def set_available(self) -> None:
        """Serve from now on."""
        self._service, self._reason = Service.ON, ""

    def set_unavailable(self, reason: str) -> None:
        """Answer COORDINATOR_NOT_AVAILABLE from now on; the APIs stay advertised."""
        self._service, self._reason = Service.UNAVAILABLE, reason

    def turn_off(self, reason: str) -> None:
        """Advertise nothing and answer UNSUPPORTED_VERSION from now on, as a broker with the feature off."""
        self._service, self._reason = Service.OFF, reason

    def disable(self, reason: str) -> None:
        """Advertise the APIs and answer UNSUPPORTED_VERSION from now on, as a broker with `share.version` 0."""
        self._service, self._reason = Service.DISABLED, reason

    def version_ranges(self) -> dict[int, tuple[int, int]]:
        """Return what to advertise: versions by API key, both ends inclusive; nothing while off."""
        if self._service is Service.OFF:
            return {}
        return {api.api_key: (api.min_version, api.max_version) for api in self._apis.values()}

    async def serve(self, request: DecodedRequest, context: RequestContext) -> Message:
        """Answer `request`, whose API key and version are registered. Raises nothing of its own.

        Of a request about configurations it is given the local half. Every part of an API is served while share groups
        are unavailable, too: it says itself what it lacks.
        """
        partial_api = self._partial_apis.get(request.api_key)
        api = self._apis[request.api_key] if partial_api is None else partial_api
        try:
            if context.refusal:
                return self._refuse_for_peer(api, request.message, context)
            if context.principal == UNKNOWN:
                return self._refuse_unknown(api, request.message, context)
            context = await self._when_ready(request.message, context)
            if partial_api is None and self._service is not Service.ON:
                return self._refuse(api, request.message, context)
            await self._authorizer.wait_until_known()
            return await api.serve(request.message, context)
        except ApiError as refusal:
            self._observer.refused(context, reason=refusal.error_code.name.lower(), detail=str(refusal))
            return api.refusal_of(request.message, refusal.error_code, str(refusal))
        except Exception as fault:  # noqa: BLE001  # the top of a request: told to the shell, answered to the client
            self._on_internal_error(context, fault)
            return api.refusal_of(
                request.message, ErrorCode.UNKNOWN_SERVER_ERROR, "kproxy met an unexpected fault"
            )

    def forsake(self, connection_id: int) -> None:
        """Let no request of a connection that went away wait for the state log, or for records."""
        self._readiness.forsake(connection_id)
        self.on_forsaken(connection_id)

    def end_waits(self) -> None:
        """Let nobody wait for the state log any more: the process ends."""
        self._readiness.end()

    async def connection_closed(self, connection_id: int) -> None:
        """Release what the clients of a connection that went away hold; also while nothing is served."""
        await self._on_connection_closed(connection_id)

    def more_arrived(self, connection_id: int) -> None:
        """Answer what is held on a connection: its client has sent something behind it."""
        self.on_more_arrived(connection_id)

    async def _when_ready(self, message: Message, context: RequestContext) -> RequestContext:
        """Return when `message` can be served as far as the state log goes, or need not wait for it any longer."""
        if self.is_off:
            return context
        need = state_need(context.api_key, message)
        if need is None or not context.answer_budget.may_wait:
            return context
        waited_ms = await self._readiness.wait(need, context.connection_id)
        return replace(context, waited_ms=waited_ms) if waited_ms else context

    def _refuse_for_peer(self, api: ServedApi, message: Message, context: RequestContext) -> Message:
        self._observer.refused(context, reason="peer_unavailable", detail=context.refusal)
        return api.refusal_of(message, ErrorCode.COORDINATOR_NOT_AVAILABLE, context.refusal)

    def _refuse_unknown(self, api: ServedApi, message: Message, context: RequestContext) -> Message:
        detail = "kproxy cannot tell who the client is by the SASL mechanism with which it authenticated"
        self._observer.refused(context, reason="principal_unknown", detail=detail)
        return api.refusal_of(message, ErrorCode.GROUP_AUTHORIZATION_FAILED, detail)

    def _refuse(self, api: ServedApi, message: Message, context: RequestContext) -> Message:
        error_code = ErrorCode.UNSUPPORTED_VERSION if self.is_off else ErrorCode.COORDINATOR_NOT_AVAILABLE
        self._observer.refused(context, reason=f"share_groups_{self._service.value}", detail=self._reason)
        return api.refusal_of(message, error_code, self._reason)
