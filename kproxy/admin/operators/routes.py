"""The one path of the admin port that changes something: `POST /api/v1/actions`, with a JSON object.

It asks for `release`, `accept` or `archive` (of `group`, `topic`, `partition`, `offsets`, only while `member` holds all
of them if one is named), or for `end-session` (of
`group` and `member`, with `node` of one session). Nothing changes unless `execute` is true, and then `reason` has to
say why. Only a port that this machine alone reaches, or that wants a token, takes it, and never from a browser's page.
"""

from http import HTTPStatus
from typing import Final

from aiohttp import web

from kproxy.admin.json_stream import json_text_response
from kproxy.admin.operators.performance import Performance
from kproxy.admin.operators.requests import MOST_BYTES, PATH
from kproxy.admin.peer_views import PeerAnswer

_JSON: Final = "application/json"


class OperatorRoutes:
    """Serves it. `is_guarded` tells whether strangers are kept from the port."""

    def __init__(self, performance: Performance, *, is_guarded: bool) -> None:
        self._performance = performance
        self._is_guarded = is_guarded

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to serve."""
        return [web.post(PATH, self._respond)]

    async def _respond(self, request: web.Request) -> web.Response:
        answer = await self._answer(request)
        return json_text_response(answer.body.decode(), status=answer.status)

    async def _answer(self, request: web.Request) -> PeerAnswer:
        if not self._is_guarded:
            return self._performance.refused(
                HTTPStatus.FORBIDDEN,
                "nothing is changed through an admin port that others than this machine reach without a token: set "
                "kproxy.admin.listener to a loopback address, or kproxy.admin.token.file",
            )
        if request.content_type != _JSON or "Origin" in request.headers:
            return self._performance.refused(
                HTTPStatus.FORBIDDEN,
                f"pages change nothing here: send {_JSON} with kproxy's command line, or curl",
            )
        if (request.content_length or 0) > MOST_BYTES:
            return self._performance.refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has {MOST_BYTES} bytes at most"
            )
        return await self._performance.answer(await request.read(), f"/{request.remote or 'unknown'}")
