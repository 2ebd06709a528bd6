"""The admin port: HTTP for probes, Prometheus and the command line.

| path | answers |
|---|---|
| `/livez` | 200 as long as the event loop answers; never depends on Kafka |
| `/readyz` | 200 or 503; the body names every check and what is wrong with it, `?verbose` each slot |
| `/metrics` | Prometheus text, or OpenMetrics for a scraper that asks for it |
| `/api/v1/status` | what this process is and does |
| `/api/v1/…` | what it holds: see `inspection.py` |
| `/ui` | pages that show it: see `ui/web_view.py` |

It reads only, but for what `changes` has and what operators ask for (`operators/`), and binds the loopback interface
unless told otherwise. Who may ask it, and how long that may take, is the matter of `entrance`.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from kproxy.admin.entrance.access import AccessRules, Reason
from kproxy.admin.entrance.connections import AdminConnections, ConnectionLimits
from kproxy.admin.entrance.guard import MOST_BODY_BYTES, Guard
from kproxy.admin.entrance.requests_without_target import answer_requests_without_target
from kproxy.admin.entrance.token_file import TokenFile
from kproxy.admin.inspection import Inspection
from kproxy.admin.json_stream import json_response
from kproxy.admin.listener import BACKLOG, bind_listener
from kproxy.admin.readiness import Readiness
from kproxy.admin.scraping.scrape import Scrape
from kproxy.admin.scraping.scrape_responses import ScrapeResponses
from kproxy.admin.ui.web_view import WebView
from kproxy.admin.views import envelope, readiness_items
from kproxy.settings import HostPort
from kproxy.telemetry.metrics import Metrics

_SHUTDOWN_GRACE_S: Final = 1.0
"""How long open HTTP requests may go on when the server stops. None of them waits for anything."""
_KEPT_ALIVE_S: Final = 75.0
"""How long a connection may be idle between two requests."""

_LINGERING_S: Final = 0.5
"""How long the rest of a request that was refused is thrown away, so that its sender gets to read why."""


def wall_clock_ms() -> int:
    """Return milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class _HttpErrors(logging.Filter):
    """What the HTTP server would log, without what is no error of this process.

    Whoever sends what is no HTTP hears so (400). The library logs that, as an error and with a stack trace; it is
    counted instead, of bodies by the guard.
    """

    def __init__(self, metrics: Metrics) -> None:
        super().__init__()
        self._metrics = metrics

    def filter(self, record: logging.LogRecord) -> bool:
        """Let errors of this process through."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            reason = Reason.TOO_LARGE if isinstance(error, LineTooLong) else Reason.MALFORMED
            self._metrics.count("admin_requests_refused", 1, reason)
            return False
        if isinstance(error, web.RequestPayloadError):
            return False
        return record.levelno >= logging.WARNING


def _http_logger(metrics: Metrics) -> logging.Logger:
    """Return a logger for one HTTP server alone."""
    # One that nobody finds by name: each server has its own filter.
    logger = logging.Logger(f"{__name__}.http", logging.DEBUG)  # noqa: LOG001
    logger.parent = logging.getLogger(__name__)
    logger.addFilter(_HttpErrors(metrics))
    return logger


class AdminServer:
    """Serves the paths above on the running event loop, from `start` to `stop`.

    `status` returns the item of `/api/v1/status` (see `views.item`); like the readiness checks and the gauges
    it is called on the event loop and does not wait. `inspection` adds paths of its own, and gauges that need a look
    before a scrape; `scrape` takes more of these. `now_ms` counts from the epoch. `access` and `token` say who is
    answered, and `limits` how long that may take; without `access` who reaches the listener.
    """

    __slots__ = (
        "_connections",
        "_guard",
        "_inspection",
        "_listener",
        "_metrics",
        "_now_ms",
        "_readiness",
        "_runner",
        "_servers",
        "_status",
        "scrape",
    )

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        listener: HostPort,
        *,
        metrics: Metrics,
        readiness: Readiness,
        status: Callable[[], Mapping[str, object]],
        inspection: Inspection | None = None,
        now_ms: Callable[[], int] = wall_clock_ms,
        access: AccessRules | None = None,
        token: TokenFile | None = None,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self._listener = listener
        self._metrics = metrics
        self._readiness = readiness
        self._status = status
        self._inspection = inspection
        self._now_ms = now_ms
        self.scrape = Scrape(metrics)
        if inspection is not None:
            inspection.lags.register_gauges(metrics)
            self.scrape.looks.append(inspection.lags.freshen)
        self._connections = AdminConnections(self.protocol, metrics, limits)
        self._guard = Guard(
            access or AccessRules(listener, has_token=token is not None),
            token,
            connections=self._connections,
            metrics=metrics,
            now_ms=now_ms,
        )
        self._servers: list[asyncio.Server] = []
        self._runner = web.AppRunner(
            self._application(),
            access_log=None,
            logger=_http_logger(metrics),
            keepalive_timeout=_KEPT_ALIVE_S,
            lingering_time=_LINGERING_S,
            shutdown_timeout=_SHUTDOWN_GRACE_S,
        )

    def add_routes(self, routes: Sequence[web.RouteDef]) -> None:
        """Serve these, too; before `start`."""
        self._runner.app.add_routes(routes)

    @property
    def address(self) -> HostPort:
        """The address bound, with the real port where the listener asked for any. Valid once started."""
        host, port = self._servers[0].sockets[0].getsockname()[:2]
        return HostPort(host, port)

    async def start(self, listening: Sequence[socket.socket] | None = None) -> None:
        """Bind the port, or take over sockets that listen already, and serve.

        Raises:
            AdminListenerUnavailable: the port is in use, or the host is none of this machine's.
        """
        sockets = await bind_listener(self._listener) if listening is None else listening
        await self.set_up()
        loop = asyncio.get_running_loop()
        for each in sockets:
            accept = self._connections.accept
            self._servers.append(await loop.create_server(accept, sock=each, backlog=BACKLOG))

    async def stop(self) -> None:
        """Stop serving and free the port. Stopping twice, or before a start, does nothing."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        await self._runner.cleanup()

    async def set_up(self) -> None:
        """Make ready what `start` lets connections come to."""
        await self._runner.setup()
        assert self._runner.server is not None, "set up"
        answer_requests_without_target(self._runner.server, self._metrics)

    def protocol(self) -> asyncio.Protocol:
        """Return what serves a new connection."""
        assert self._runner.server is not None, "served before it was set up"
        return self._runner.server()

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._guard.middleware()], client_max_size=MOST_BODY_BYTES)
        application.router.add_get("/livez", self._answer_livez)
        application.router.add_get("/readyz", self._answer_readyz)
        application.router.add_get("/metrics", ScrapeResponses(self.scrape, self._metrics).respond)
        application.router.add_get("/api/v1/status", self._answer_status)
        if self._inspection is not None:
            application.add_routes(self._inspection.routes())
            application.add_routes(WebView().routes())
            events = self._inspection.event_readers(self._metrics)
            application.router.add_get("/api/v1/events", events.respond, allow_head=False)
            application.on_shutdown.append(events.end)
        return application

    async def _answer_livez(self, _request: web.Request) -> web.Response:
        return self._json("Liveness", [{"check": "event_loop", "passed": True, "detail": ""}])

    async def _answer_readyz(self, request: web.Request) -> web.Response:
        results = self._readiness.lines(is_verbose="verbose" in request.query)
        is_ready = all(result.is_passed for result in results)
        return self._json("Readiness", readiness_items(results), status=200 if is_ready else 503)

    async def _answer_status(self, _request: web.Request) -> web.Response:
        return self._json("ProxyStatus", [self._status()])

    def _json(self, kind: str, items: Sequence[Mapping[str, object]], *, status: int = 200) -> web.Response:
        return json_response(envelope(kind, items, as_of_ms=self._now_ms()), status=status)
