"""How long the served APIs take, for the histogram `request_duration_seconds`."""

import time
from collections.abc import Callable

from kproxy.handlers.ports import RequestContext
from kproxy.net.counting import Observing
from kproxy.net.observation import api_name
from kproxy.net.relay.answering import Apis
from kproxy.wire.codecs import DecodedRequest, Message


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
