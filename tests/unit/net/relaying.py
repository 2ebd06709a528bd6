"""A relay between a scripted broker and raw client sockets, for the tests of `kproxy.net`."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Self

import uvloop

from kproxy.handlers.ports import RequestContext
from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.net.listeners import Listeners, PortPlan
from kproxy.net.relay import Relay, RelayLimits
from kproxy.net.sweeper import Sweeper
from kproxy.net.tasks import TaskKeeper
from kproxy.settings import HostPort
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse

SERVED = {76: (1, 1), 78: (1, 2), 79: (1, 2)}
BIND_HOST = "127.0.0.1"


class CountedThings:
    """Counters in memory."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()

    def count(self, counter: str, amount: int = 1, *labels: str) -> None:
        """Add to a counter."""
        self.counts[(counter, *labels)] += amount

    def of(self, *key: str) -> int:
        """Return a counter with its labels."""
        return self.counts[key]


class ParkedApis:
    """Share APIs whose one answer waits until the test lets it go."""

    def __init__(self) -> None:
        self.contexts: list[RequestContext] = []
        self.closed: list[int] = []
        self.may_answer = asyncio.Event()
        self.was_asked = asyncio.Event()
        self.was_closed = asyncio.Event()

    async def serve(self, _request: DecodedRequest, context: RequestContext) -> ShareFetchResponse:
        """Answer an empty ShareFetch once `may_answer` is set."""
        self.contexts.append(context)
        self.was_asked.set()
        await self.may_answer.wait()
        return ShareFetchResponse()

    async def connection_closed(self, connection_id: int) -> None:
        """Note which connection is gone."""
        self.closed.append(connection_id)
        self.was_closed.set()


class RelayUnderTest:
    """A relay with a bootstrap port, all of whose traffic goes to `upstream_port`."""

    def __init__(self, upstream_port: int, **limits: int) -> None:
        self.counted = CountedThings()
        self.apis = ParkedApis()
        self.tasks = TaskKeeper()
        self.addresses = BrokerAddresses({1: AdvertisedAddress("kproxy", 19101)})
        routes = RoutingTable(SERVED)
        self.relay = Relay(
            routes=routes,
            rewriter=ResponseRewriter(self.addresses, lambda: routes.served),
            limits=RelayLimits(
                **{
                    "max_request_bytes": 1 << 20,
                    "connect_timeout_ms": 2000,
                    "frame_deadline_ms": 60_000,
                    "keepalive_ms": 60_000,
                    **limits,
                }
            ),
            apis=self.apis,
            tasks=self.tasks,
            counting=self.counted,
            upstream_addresses=lambda _node_id: [HostPort(BIND_HOST, upstream_port)],
        )
        self.listeners = Listeners(PortPlan(BIND_HOST, 0, 1, "kproxy"), self.relay, self.addresses)
        self.relay.binder = self.listeners
        self.sweeper = Sweeper(self.relay)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a client connection to the bootstrap port."""
        return await asyncio.open_connection(BIND_HOST, self.listeners.bound_ports[-1])

    async def __aenter__(self) -> Self:
        await self.listeners.bind_bootstrap()
        self.tasks.spawn(self.sweeper.run(), name="sweeper")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.listeners.stop_accepting()
        for connection in tuple(self.relay.connections):
            connection.abort()
        await self.tasks.close()


def run(scenario: Callable[[], Coroutine[Any, Any, None]], loop_kind: str) -> None:
    """Run `scenario` on asyncio's or uvloop's event loop, for at most 30 seconds."""

    async def bounded() -> None:
        async with asyncio.timeout(30):
            await scenario()

    factory = uvloop.new_event_loop if loop_kind == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(bounded())
