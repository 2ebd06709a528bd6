"""`guard`: what stands before every path of the admin port."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from aiohttp import HttpVersion10, web

from kproxy.admin.entrance.access import AccessRules, Asked, Reason, Refusal
from kproxy.admin.entrance.connections import AdminConnections
from kproxy.admin.entrance.token_file import AdminTokenUnusable, TokenFile
from kproxy.admin.json_stream import json_response
from kproxy.admin.views import envelope
from kproxy.telemetry import logs
from kproxy.telemetry.metrics import Metrics
from kproxy.wording import counted

MOST_BODY_BYTES: Final = 64 << 10
"""Of a request: nothing that is asked for or told here is longer."""

_PROBES: Final = frozenset({Reason.HOST, Reason.ORIGIN, Reason.TOKEN})
"""What somebody is refused for who may have no business here. Anybody may send what is broken, too long or too slow."""

if TYPE_CHECKING:
    from aiohttp.typedefs import Middleware

_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logs.logger("admin")


class Guard:
    """Answers the refused itself, and lets the others through with their body read.

    Args:
        rules: whom the port answers.
        token: what those show who need it; None where there is none.
        connections: are told who is at work.
        metrics: counts the refusals by reason.
        now_ms: counts from the epoch, for `asOf`.
    """

    def __init__(
        self,
        rules: AccessRules,
        token: TokenFile | None,
        *,
        connections: AdminConnections,
        metrics: Metrics,
        now_ms: Callable[[], int],
    ) -> None:
        self._rules = rules
        self._token = token
        self._connections = connections
        self._metrics = metrics
        self._now_ms = now_ms

    def middleware(self) -> "Middleware":
        """Return it as the HTTP server wants it."""

        @web.middleware
        async def guarded(request: web.Request, handler: _Handler) -> web.StreamResponse:
            with self._connections.at_work(request.transport):
                refusal = self._refusal(request) or await self._refused_body(request)
                if refusal is None:
                    return await handler(request)
                _log_probe(request, refusal)
                return self._told(refusal)

        return guarded

    def _refusal(self, request: web.Request) -> Refusal | None:
        asked = _asked(request)
        refusal = self._rules.refusal(asked)
        if refusal is not None or not self._rules.needs_token(asked.resource):
            return refusal
        try:
            token = "" if self._token is None else self._token.read()
        except AdminTokenUnusable as unusable:
            log.warning("admin token", problem=str(unusable))
            return Refusal(
                Reason.TOKEN,
                503,
                "nobody is let in now: the token of this port cannot be read, its log says why",
            )
        return self._rules.token_refusal(asked, token)

    async def _refused_body(self, request: web.Request) -> Refusal | None:
        """Read the body, so that handlers have it at hand; return why it cannot be had."""
        if not request.can_read_body:
            return None
        deadline_s = self._connections.limits.body_s
        try:
            if (request.content_length or 0) <= MOST_BODY_BYTES:
                with self._connections.awaiting_body(request.transport):
                    async with asyncio.timeout(deadline_s):
                        await request.read()
                return None
        except TimeoutError:
            message = f"the body of the request was not there within {deadline_s:g} s"
            return Refusal(Reason.TOO_SLOW, 408, message)
        except (web.RequestPayloadError, ConnectionError):
            message = "the body of the request cannot be read: it is not what its headers say, or broke off"
            return Refusal(Reason.MALFORMED, 400, message)
        except web.HTTPRequestEntityTooLarge:
            pass
        most = counted(MOST_BODY_BYTES, "byte")
        return Refusal(Reason.TOO_LARGE, 413, f"the body of a request may have {most}")

    def _told(self, refusal: Refusal) -> web.Response:
        self._metrics.count("admin_requests_refused", 1, refusal.reason)
        item = {"status": refusal.status, "message": refusal.message}
        response = json_response(envelope("Error", [item], as_of_ms=self._now_ms()), status=refusal.status)
        if refusal.status == 401:
            response.headers["WWW-Authenticate"] = 'Bearer realm="kproxy"'
        response.force_close()
        return response


def _log_probe(request: web.Request, refusal: Refusal) -> None:
    """Write who may have no business here, without what was shown as token. The log holds back what comes too often."""
    if refusal.reason in _PROBES:
        transport = request.transport
        host, port, *_ = (transport and transport.get_extra_info("peername")) or ("?", 0)
        log.warning(
            "admin_request_refused",
            peer=f"{host}:{port}",
            path=request.path,
            reason=refusal.reason,
            why=refusal.message,
        )


def _asked(request: web.Request) -> Asked:
    resource = request.match_info.route.resource
    local = request.transport.get_extra_info("sockname") if request.transport is not None else None
    return Asked(
        resource="" if resource is None else resource.canonical,
        hosts=tuple(request.headers.getall("Host", ())),
        local_address=local[0] if isinstance(local, tuple) else "",
        origin=request.headers.get("Origin"),
        authorization=request.headers.get("Authorization"),
        fetch_site=request.headers.get("Sec-Fetch-Site"),
        is_navigation=request.headers.get("Sec-Fetch-Mode") == "navigate"
        and request.headers.get("Sec-Fetch-Dest") == "document",
        is_http_1_0=request.version <= HttpVersion10,
    )
