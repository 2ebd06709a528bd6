"""The admin port at a start: it listens at once, and what serves it is loaded when the proxy is at work already.

The HTTP server takes as long to import as a third of everything else, and nobody's records wait for it, nor for what is
told to other processes. So this is the one place of the application where something is imported inside of a function.
"""

import asyncio
import gc
import socket
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

from kproxy.admin.listener import bind_listener
from kproxy.application.admin_parts import AdminParts
from kproxy.net.tasks import TaskKeeper
from kproxy.settings import HostPort
from kproxy.telemetry import logs

if TYPE_CHECKING:
    from kproxy.admin.server import AdminServer
    from kproxy.application.process_views import ProcessViews

log = logs.logger("application")

LATEST_SECONDS: Final = 2.0
"""After this the HTTP server is loaded although nobody asked, so that whoever asks later is answered at once."""


class LateAdmin:
    """The admin port from `start` to `stop`."""

    def __init__(self, parts: AdminParts, tasks: TaskKeeper) -> None:
        self._parts = parts
        self._tasks = tasks
        self._listening: Sequence[socket.socket] = ()
        self._server: AdminServer | None = None
        self._views: ProcessViews | None = None

    async def start(self) -> None:
        """Bind the port, if there is one; who asks is answered as soon as the HTTP server is loaded.

        Raises:
            AdminListenerUnavailable: the port is in use, or the host is none of this machine's.
            AdminTokenUnusable: the file of the token has none.
        """
        if self._parts.listener is not None:
            self._look_at_token(self._parts.listener)
            self._listening = await bind_listener(self._parts.listener)
            self._tasks.spawn(self._serve(self._parts.listener), name="admin port")

    def _look_at_token(self, listener: HostPort) -> None:
        token = self._parts.token
        if token is not None:
            token.read()
        elif not listener.is_loopback:
            log.info(
                "admin port without a token",
                listener=str(listener),
                detail="others than this machine reach it, so nothing but /livez, /readyz and /metrics is answered: "
                "set kproxy.admin.token.file, or listen on 127.0.0.1",
            )

    async def tell_peer(self, path: str) -> tuple[int, bytes]:
        """Return status and JSON of what this process itself holds of what a path of the admin port asks for."""
        views = await self._views_loaded()
        answer = await views.own_part.tell(path)
        return answer.status, answer.body

    async def stop(self) -> None:
        """Stop serving and free the port. Stopping twice, or before a start, does nothing."""
        if self._server is not None:
            await self._server.stop()
        for each in self._listening:
            each.close()

    async def _views_loaded(self) -> "ProcessViews":
        loaded = await asyncio.to_thread(import_module, "kproxy.application.process_views")
        if self._views is None:
            self._views = loaded.ProcessViews(self._parts)
        assert self._views is not None
        return self._views

    async def _serve(self, listener: HostPort) -> None:
        await self._wait_until_asked()
        views = await self._views_loaded()
        admin_port = await asyncio.to_thread(import_module, "kproxy.application.admin_port")
        # As after the other imports: no collection is to walk over all that this one made.
        gc.freeze()
        self._server = admin_port.admin_server(listener, self._parts, views)
        assert self._server is not None
        await self._server.start(self._listening)

    async def _wait_until_asked(self) -> None:
        loop, asked = asyncio.get_running_loop(), asyncio.Event()
        for each in self._listening:
            loop.add_reader(each, asked.set)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(asked.wait(), LATEST_SECONDS)
        finally:
            for each in self._listening:
                loop.remove_reader(each)
