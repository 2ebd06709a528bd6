"""A relay between a scripted broker and raw client sockets, for the tests of `kproxy.net`."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

from kproxy.handlers.request_context import RequestContext
from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.net.relay.listeners import Listeners, PortPlan, SecuredPorts
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.relay import Relay, RelayLimits
from kproxy.net.relay.sweeper import Sweeper
from kproxy.net.relay.upstream_twin import UpstreamTwin
from kproxy.net.tasks import TaskKeeper
from kproxy.settings import HostPort
from kproxy.wire import codecs
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import (
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.worlds.backing import CountedThings
from tests.worlds.waiting import until

SERVED = {76: (1, 1), 78: (1, 2), 79: (1, 2)}
BIND_HOST = "127.0.0.1"


def request(correlation_id: int, body: bytes = b"beat") -> bytes:
    """Return a request that is only forwarded."""
    return struct.pack(">ihhi", 8 + len(body), 12, 4, correlation_id) + body


def response(correlation_id: int, body: bytes = b"ok") -> bytes:
    """Return a response to it."""
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


def share_fetch(correlation_id: int) -> bytes:
    """Return a request that kproxy answers."""
    return b"".join(codecs.encode_request(78, 1, correlation_id, "client", ShareFetchRequest(group_id="g")))


def share_search(correlation_id: int, *, key_count: int = 30, key_bytes: int = 30_000) -> bytes:
    """Return a request that kproxy answers at once, with as many bytes."""
    message = FindCoordinatorRequest(key_type=2, coordinator_keys=["k" * key_bytes] * key_count)
    return b"".join(codecs.encode_request(10, 6, correlation_id, "client", message))


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Return what still came before the other side closed."""
    try:
        return await reader.read()
    except ConnectionError:
        return b""


async def settled(read: Callable[[], int]) -> int:
    """Return what `read` says when it has said the same for a tenth of a second: nothing moves any more."""
    value, unchanged = read(), 0
    while unchanged < 10:
        await asyncio.sleep(0.01)
        before, value = value, read()
        unchanged = unchanged + 1 if value == before else 0
    return value


@asynccontextmanager
async def unreading_broker() -> AsyncIterator[int]:
    """Return a port whose connections have small buffers, and are never read."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listening.bind((BIND_HOST, 0))
        listening.listen(1024)
        yield int(listening.getsockname()[1])


class ParkedApis:
    """Share APIs whose one answer waits until the test lets it go."""

    def __init__(self) -> None:
        self.requests: list[DecodedRequest] = []
        self.contexts: list[RequestContext] = []
        self.closed: list[int] = []
        self.forsaken: list[int] = []
        self.followed: list[int] = []
        self.may_answer = asyncio.Event()
        self.records: bytes | memoryview = b""
        self.was_asked = asyncio.Event()
        self.was_followed = asyncio.Event()
        self.was_closed = asyncio.Event()
        self.may_release = asyncio.Event()
        self.may_release.set()

    async def serve(self, request: DecodedRequest, context: RequestContext) -> Message:
        """Answer a ShareFetch with `records`, a heartbeat or a ShareAcknowledge, once `may_answer` is set."""
        self.requests.append(request)
        self.contexts.append(context)
        self.was_asked.set()
        await self.may_answer.wait()
        if isinstance(request.message, ShareGroupHeartbeatRequest):
            return ShareGroupHeartbeatResponse(member_id="m")
        if isinstance(request.message, ShareAcknowledgeRequest):
            return ShareAcknowledgeResponse()
        if not self.records:
            return ShareFetchResponse()
        topic = ShareFetchableTopicResponse(partitions=[PartitionData(records=self.records)])
        return ShareFetchResponse(responses=[topic])

    def forsake(self, connection_id: int) -> None:
        """Note whose requests nobody waits for."""
        self.forsaken.append(connection_id)

    async def connection_closed(self, connection_id: int) -> None:
        """Note which connection is gone."""
        self.closed.append(connection_id)
        self.was_closed.set()
        await self.may_release.wait()

    def more_arrived(self, connection_id: int) -> None:
        """Note who has sent something behind a request that waits for its answer."""
        self.followed.append(connection_id)
        self.was_followed.set()


class UnreadClient:
    """A client socket with small buffers that reads only when it is told to."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.setblocking(False)

    async def connect(self, port: int) -> Self:
        """Connect to the relay."""
        await asyncio.get_running_loop().sock_connect(self._socket, (BIND_HOST, port))
        return self

    async def send(self, data: bytes) -> None:
        """Send all of `data`."""
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def read(self, most: int = 1 << 20) -> bytes:
        """Return what has come; nothing when the other end has closed or reset the connection."""
        try:
            return await asyncio.get_running_loop().sock_recv(self._socket, most)
        except ConnectionError:
            return b""

    async def read_exactly(self, count: int) -> bytes:
        """Return `count` bytes, or fewer when the other end closes before that."""
        received = bytearray()
        while len(received) < count and (more := await self.read(count - len(received))):
            received += more
        return bytes(received)

    async def read_frame(self) -> bytes:
        """Return a frame with its length."""
        length = await self.read_exactly(4)
        return length + await self.read_exactly(int.from_bytes(length, "big"))

    def send_eof(self) -> None:
        """Send nothing any more."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close it."""
        self._socket.close()


class RelayUnderTest:
    """A relay with a bootstrap port, all of whose traffic goes to `upstream_port`."""

    def __init__(
        self,
        upstream_port: int,
        *,
        budget_bytes: int = 256 << 20,
        **limits: int,
    ) -> None:
        self.counted = CountedThings()
        self.apis = ParkedApis()
        self.tasks = TaskKeeper(self.counted)
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
            budget=BufferBudget(budget_bytes),
            tasks=self.tasks,
            counting=self.counted,
            upstream_addresses=lambda _node_id: [HostPort(BIND_HOST, upstream_port)],
        )
        self.listeners = Listeners(PortPlan(BIND_HOST, 0, 1, "kproxy"), self.relay, self.addresses)
        self.relay.binder = self.listeners
        self.sweeper = Sweeper(self.relay, standing_bytes=lambda: 0)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a client connection to the bootstrap port."""
        return await asyncio.open_connection(BIND_HOST, self.listeners.bound_ports[-1])

    async def connect_unread(self) -> UnreadClient:
        """Open a client connection with small buffers that nobody reads; kproxy's end has a small buffer, too."""
        before = set(self.relay.connections)
        client = await UnreadClient().connect(self.listeners.bound_ports[-1])
        await until(lambda: len(self.relay.connections) > len(before))
        (connection,) = self.relay.connections - before
        assert connection.transport is not None
        own_end = connection.transport.get_extra_info("socket")
        own_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return client

    async def until_twins(self, count: int) -> None:
        """Return when so many connections to the broker are open; kproxy's ends of them have small buffers then."""
        await until(lambda: self.relay.open_twins == count)
        for twin in self.relay.twins:
            assert isinstance(twin, UpstreamTwin)
            assert twin.transport is not None
            own_end = twin.transport.get_extra_info("socket")
            own_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    async def __aenter__(self) -> Self:
        await self.listeners.bind_bootstrap()
        self.tasks.keep_up(self.sweeper.run, name="sweeper")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.listeners.stop_accepting()
        for connection in tuple(self.relay.connections):
            connection.abort()
        await until(lambda: not self.relay.connections and not self.relay.open_twins)
        await self.tasks.close()


class SecuredRelayUnderTest(RelayUnderTest):
    """The same with TLS on its ports."""

    def __init__(self, upstream_port: int, secured: SecuredPorts, **limits: int) -> None:
        super().__init__(upstream_port, **limits)
        plan = PortPlan(BIND_HOST, 0, 1, "kproxy")
        self.listeners = Listeners(plan, self.relay, self.addresses, secured=secured)
        self.relay.binder = self.listeners
