"""The admin port: whatever comes there is answered as HTTP answers it, or closed, and never with a 500."""

import re
from collections.abc import Iterator
from typing import Any, Final

from kproxy.admin.questions import Endpoint
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.fuzz.execution import Seed, Target
from tests.fuzz.sockets import lasting_loop, said_to
from tests.in_memory.inspectable import ORDERS_TEXT, Inspectable

_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_SERVERS: Final[list[Any]] = []


def visit(data: bytes) -> None:
    """Bytes on a connection to the admin port."""
    answered = lasting_loop().run(_visit(data))
    for status in _STATUS.findall(answered):
        assert not status.startswith(b"5"), answered


async def _visit(sent: bytes) -> bytes:
    if not _SERVERS:
        server = _inspectable().server()
        await server.set_up()
        _SERVERS.append(server)
    return await said_to(_SERVERS[0].protocol, sent, turns=16)


def _inspectable() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.share_partition(StateBatch(100, 104, RecordState.AVAILABLE, 2))
    inspectable.write_state(0, start_offset=100)
    return inspectable


PATHS: Final = ("/livez", "/readyz", "/metrics", "/api/v1/status", *(each.value for each in Endpoint))
QUERIES: Final = (
    "",
    "?group=workers",
    "?scope=local",
    "?group=workers&topic=orders&partition=0",
    f"?group=workers&topicId={ORDERS_TEXT}",
    "?partition=2147483648&group=%00%ff&group=%F0%9F%98%80",
    "?member=" + "m" * 900,
)


def _requests() -> Iterator[Seed]:
    for path in PATHS:
        for query in QUERIES:
            line = f"GET {path.replace('{place}', 'workers')}{query} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            yield Seed(f"{path}{query[:30]}", line.encode())
    for name, odd in _ODD.items():
        yield Seed(name, odd)


_ODD: Final = {
    "two at once": b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "HTTP/1.0": b"GET /livez HTTP/1.0\r\n\r\n",
    "a method": b"DELETE /api/v1/groups HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a body": b"POST /api/v1/groups HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
    "chunks": b"POST /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "two lengths": b"POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 5\r\n\r\nhello",
    "a upgrade": b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "many headers": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 100 + b"\r\n",
    "a large header": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: " + b"x" * 3_000 + b"\r\n\r\n",
    "OpenMetrics": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text;q=1\r\n\r\n",
    "an expectation": b"POST /livez HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
    "a path of dots": b"GET /api/v1/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no target": b"CONNECT \r\nHost: localhost\r\n\r\n",
    "another host": b"GET /livez HTTP/1.1\r\nHost: elsewhere:9644\r\n\r\n",
    "two hosts": b"GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: elsewhere\r\n\r\n",
    "an origin": b"GET /api/v1/groups HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n",
    "another origin": b"GET /api/v1/groups HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n",
    "a token": b"GET /api/v1/groups HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n",
    "an absolute path": b"GET http://elsewhere/livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a proxy": b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(60),
    "Kafka": bytes.fromhex("0000001200120004000000010004746573740000"),
}

TARGETS: Final = (Target("admin-port", visit, _requests, executions=500, allowance_bytes=1 << 20),)
