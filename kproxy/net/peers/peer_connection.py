"""`PeerConnection`: a client of another kproxy process, served here as one of its own.

What brokers have to do with a client stays where it is connected; here comes what is about share groups alone.
"""

import asyncio
from collections.abc import Iterable
from typing import cast

from kproxy.fleet.peer_hello import Hello
from kproxy.handlers.registry import Apis, ServedApi
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.net.counting import Counting
from kproxy.net.peers.peer_twin import GONE_VERSION, MORE_API_KEY, MORE_VERSION
from kproxy.net.peers.sockets import watch_peer
from kproxy.net.relay.client_connection import ClientConnection
from kproxy.net.relay.relay import WRITE_HIGH_WATER_BYTES, Relay
from kproxy.net.relay.traffic import Traffic
from kproxy.security.principal import Principal
from kproxy.telemetry import logs

log = logs.logger("net.peers")


class PeerConnection(ClientConnection):
    """A `ClientConnection` without a broker. It is what the dialling process said in `hello` of its client."""

    __slots__ = ()
    is_relayed = True

    def __init__(self, relay: Relay, hello: Hello) -> None:
        super().__init__(relay, hello.client.node_id)
        self.peer = hello.client.address or hello.identity.name
        self._memory.host = hello.client.address.rpartition(":")[0] or hello.identity.name
        self.session.principal = Principal.parse(hello.client.principal)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=WRITE_HIGH_WATER_BYTES)
        watch_peer(transport)
        self._relay.connections.add(self)
        self._relay.counting.count("connections", 1, "peer")

    def sweep(self, now_ms: int) -> None:
        """End it when it stalls, and when nothing was heard for as long as a broker waits for a client."""
        if self.transport is None or self.transport.is_closing():
            return
        self._account()
        self._adjust_reading()
        times = self._times
        is_awaited = self.session.requests.is_mid_frame and self.transport.is_reading()
        unwritten_bytes = self._memory.unwritten_bytes(self.transport, None)
        if stall := times.stalled_frame(now_ms, self._memory.readable_bytes, is_client_awaited=is_awaited):
            self._fail("peer", "frame_stalled", stall)
        elif times.stands_still(now_ms, unwritten_bytes):
            self._fail("peer", "stands_still", f"it took nothing for {times.idle_limit_ms} ms")
        elif self.may_be_closed and self.transport.is_reading() and times.is_idle(now_ms):
            self.close()


class PeerRoutes(RoutingTable):
    """What processes ask each other: all that is about share groups alone is served, nothing else is known.

    Whether share groups are on is not asked: they are refused by whoever serves them.
    """

    __slots__ = ("_entries",)
    farewell = (int(MORE_API_KEY), GONE_VERSION)

    def __init__(self, entries: Iterable[ServedApi]) -> None:
        self._entries = tuple(entries)
        super().__init__({})

    def _tabulate(self) -> dict[tuple[int, int], Disposition]:
        table = {
            (int(api.api_key), version): Disposition.SERVE
            for api in self._entries
            for version in range(api.min_version, api.max_version + 1)
        }
        # Answered without a look: see `PeerTwin.say_more` and `PeerTwin.say_gone`.
        table[int(MORE_API_KEY), MORE_VERSION] = table[self.farewell] = Disposition.EXAMINE
        return table


class ServedTraffic(Traffic):
    """What passed on connections of peers. Their requests were counted where their clients are."""

    def report(self, counting: Counting, routes: RoutingTable) -> None:  # noqa: ARG002 - as `Traffic` has it
        """Add everything to the counter `peer_bytes`, and begin at 0 again."""
        counting.count("peer_bytes", self.from_clients, "serving", "in")
        counting.count("peer_bytes", self.to_clients, "serving", "out")
        self.from_clients = self.to_clients = 0
        self.requests.clear()


def peer_relay(relay: Relay, entries: Iterable[ServedApi], apis: Apis) -> Relay:
    """Return what the connections of peers share.

    Args:
        relay: that of this process's own clients: budget, limits, tasks, turns, shares and connection ids are the same.
        entries: what is served here, whole or in part; nothing of it is relayed any further.
        apis: what serves them, and times and holds the answers.
    """
    served = Relay(
        routes=PeerRoutes(entries),
        rewriter=relay.rewriter,
        limits=relay.limits,
        apis=apis,
        tasks=relay.tasks,
        counting=relay.counting,
        upstream_addresses=lambda _node_id: (),
        budget=relay.budget,
        traffic=ServedTraffic(),
        connection_ids=relay.connection_ids,
        turns=relay.turns,
        shares=relay.shares,
    )
    served.reads = relay.reads
    return served
