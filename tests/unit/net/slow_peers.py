"""The memory of a connection without sockets, whose peers take what the test says."""

import asyncio

from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.client_session import ClientSession
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.net.relay.connection_memory import ConnectionMemory
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.relay import WRITE_HIGH_WATER_BYTES
from tests.unit.net.relaying import SERVED


class SlowClient(asyncio.Transport):
    """A transport whose peer takes what the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.unwritten_bytes = 0
        self.has_been_closed = False
        self.high_bytes: int | None = WRITE_HIGH_WATER_BYTES

    def get_write_buffer_size(self) -> int:
        return self.unwritten_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert low is None
        self.high_bytes = high

    def is_closing(self) -> bool:
        return self.has_been_closed


class SlowTwin:
    """As much of an `UpstreamTwin` as is asked about memory."""

    buffered_bytes = 0

    def __init__(self) -> None:
        self.high_bytes = WRITE_HIGH_WATER_BYTES

    def set_high_water(self, high_bytes: int) -> None:
        self.high_bytes = high_bytes


class Held:
    """The memory of one connection that waits for nobody but its client."""

    def __init__(self, limit_bytes: int) -> None:
        routes = RoutingTable(SERVED | {77: (1, 1)})
        rewriter = ResponseRewriter(BrokerAddresses(), lambda: routes.served)
        self.budget = BufferBudget(limit_bytes)
        self.session = ClientSession(routes, rewriter, max_request_bytes=1 << 20, request_counts={})
        self.memory = ConnectionMemory(self.budget, self.session, on_granted=lambda: None)
        self.client = SlowClient()

    def tell(self) -> int:
        self.memory.tell(self.client, None)
        return self.budget.held_bytes
