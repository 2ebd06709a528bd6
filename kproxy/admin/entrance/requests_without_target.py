"""Requests that name nothing: the HTTP library would let whoever sends one keep the connection, unanswered.

aiohttp 3.14 takes "CONNECT " and the end of the line for HTTP/0.9 with no target, and its task ends with an exception
where it makes a request of that; nothing then answers, closes or times the connection.
"""

from collections.abc import Callable
from typing import Any, Final

from aiohttp import web
from yarl import URL

from kproxy.admin.entrance.access import Reason
from kproxy.telemetry.metrics import Metrics

_NOWHERE: Final = URL("/")


def answer_requests_without_target(server: web.Server, metrics: Metrics) -> None:
    """Let `server` answer them as it answers any path that there is not, and close on them; they are counted."""
    make: Callable[..., web.BaseRequest] = server.request_factory

    def made(message: Any, *rest: Any) -> web.BaseRequest:
        if message.url is None:
            metrics.count("admin_requests_refused", 1, Reason.MALFORMED)
            message = message._replace(url=_NOWHERE, should_close=True)
        return make(message, *rest)

    server.request_factory = made
