"""`GET` and `PUT /api/v1/log-level`: the least severe log line that is written, until a restart."""

import json
from collections.abc import Callable
from typing import Final

from aiohttp import web

from kproxy.admin.json_stream import json_response
from kproxy.admin.views import envelope
from kproxy.telemetry import logs

PATH: Final = "/api/v1/log-level"
_EXAMPLE: Final = '{"level": "debug"}'


class LogLevelChange:
    """The two answers. `configured` is the level of the configuration, `now_ms` counts from the epoch."""

    def __init__(self, configured: str, now_ms: Callable[[], int]) -> None:
        self._configured = configured
        self._now_ms = now_ms

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to serve."""
        return [web.get(PATH, self._tell, allow_head=False), web.put(PATH, self._change)]

    async def _tell(self, _request: web.Request) -> web.Response:
        item = {"level": logs.level(), "configured": self._configured}
        return json_response(envelope("LogLevel", [item], as_of_ms=self._now_ms()))

    async def _change(self, request: web.Request) -> web.Response:
        wanted = _level_in(await request.read())
        for level in logs.LEVELS:
            if level == wanted:
                logs.change_level(level, by=f"admin port, {request.remote}")
                return await self._tell(request)
        said = (
            f"the body of the request says {wanted!r:.60}"
            if wanted is not None
            else "the request does not say one"
        )
        message = f"{said}: send {_EXAMPLE}; a level is one of {', '.join(logs.LEVELS)}"
        refused = envelope("Error", [{"status": 400, "message": message}], as_of_ms=self._now_ms())
        return json_response(refused, status=400)


def _level_in(body: bytes) -> object:
    """Return the level that a body names, None where it names none."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return said.get("level") if isinstance(said, dict) else None
