import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import aiohttp
import pytest

from kproxy.admin.listener import bind_listener
from kproxy.admin.readiness import CheckResult, Readiness
from kproxy.admin.server import AdminServer, wall_clock_ms
from kproxy.settings import HostPort
from kproxy.share.identifiers import TopicIdPartition
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.inspectable import ORDERS, Inspectable
from tests.in_memory.scripted_partition_reader import InMemoryLog

T = TypeVar("T")
NOON_MS = 1_795_262_400_000


class Answer:
    def __init__(self, status: int, headers: Mapping[str, str], body: str) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def items(self) -> list[dict[str, object]]:
        found = json.loads(self.body)["items"]
        assert isinstance(found, list)
        return found


def an_admin_server(
    complaint: str = "", metrics: Metrics | None = None, readiness: Readiness | None = None
) -> AdminServer:
    return AdminServer(
        HostPort("127.0.0.1", 0),
        metrics=metrics or Metrics(),
        readiness=readiness
        or Readiness({"listeners_bound": lambda: "", "metadata_fresh": lambda: complaint}),
        status=lambda: {"version": "0.1.0", "state": "ready"},
        now_ms=lambda: NOON_MS,
    )


def while_serving(server: AdminServer, visit: Callable[[aiohttp.ClientSession, str], Awaitable[T]]) -> T:
    async def serve_and_visit() -> T:
        await server.start()
        try:
            async with aiohttp.ClientSession() as session:
                return await visit(session, f"http://{server.address}")
        finally:
            await server.stop()

    return asyncio.run(serve_and_visit())


def answer_to(server: AdminServer, path: str, method: str = "GET", **headers: str) -> Answer:
    async def visit(session: aiohttp.ClientSession, url: str) -> Answer:
        async with session.request(method, url + path, headers=headers) as response:
            return Answer(response.status, response.headers, await response.text())

    return while_serving(server, visit)


def test_livez_answers_even_when_nothing_is_ready() -> None:
    # When
    answer = answer_to(an_admin_server(complaint="the cluster cannot be reached"), "/livez")

    # Then
    assert answer.status == 200
    assert answer.items == [{"check": "event_loop", "passed": True, "detail": ""}]


def test_readyz_is_200_when_every_check_passes() -> None:
    # When
    answer = answer_to(an_admin_server(), "/readyz")

    # Then
    assert answer.status == 200
    assert [check["passed"] for check in answer.items] == [True, True]


def test_readyz_is_503_and_says_which_check_fails_and_why() -> None:
    # When
    answer = answer_to(an_admin_server(complaint="the cluster cannot be reached"), "/readyz")

    # Then
    assert answer.status == 503
    assert answer.items == [
        {"check": "listeners_bound", "passed": True, "detail": ""},
        {"check": "metadata_fresh", "passed": False, "detail": "the cluster cannot be reached"},
    ]


@pytest.mark.parametrize(("query", "count"), [("", 2), ("?verbose", 51), ("?verbose=true&exclude=x", 51)])
def test_readyz_groups_the_slots_unless_it_is_asked_to_be_verbose(query: str, count: int) -> None:
    # Given
    slots = [CheckResult(f"slot_{number}", "loading") for number in range(50)]
    readiness = Readiness({"listeners": str}, more=lambda: slots, group="slots")

    # When
    answer = answer_to(an_admin_server(readiness=readiness), f"/readyz{query}")

    # Then
    assert (answer.status, len(answer.items)) == (503, count)


def test_metrics_are_prometheus_text() -> None:
    # Given
    metrics = Metrics()
    metrics.count("keepalives", 7)

    # When
    answer = answer_to(an_admin_server(metrics=metrics), "/metrics")

    # Then
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert "kproxy_keepalives_total 7.0" in answer.body.splitlines()


def test_a_scraper_that_asks_for_openmetrics_gets_it() -> None:
    # When
    answer = answer_to(an_admin_server(), "/metrics", Accept="application/openmetrics-text; version=1.0.0")

    # Then
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert answer.body.endswith("# EOF\n")


def test_the_status_is_one_item_in_the_envelope() -> None:
    # When
    answer = answer_to(an_admin_server(), "/api/v1/status")

    # Then
    assert answer.headers["Content-Type"].startswith("application/json")
    assert json.loads(answer.body) == {
        "apiVersion": "kproxy/v1",
        "kind": "ProxyStatus",
        "asOf": "2026-11-21T12:00:00.000Z",
        "items": [{"version": "0.1.0", "state": "ready"}],
    }


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nothing", 404), ("POST", "/readyz", 405)])
def test_anything_else_is_refused(method: str, path: str, status: int) -> None:
    assert answer_to(an_admin_server(), path, method).status == status


def test_a_port_that_listens_already_is_taken_over_with_whoever_waits_there() -> None:
    # Given
    server = an_admin_server()

    async def ask_before_it_serves() -> bytes:
        [listening] = await bind_listener(HostPort("127.0.0.1", 0))
        host, port = listening.getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET /livez HTTP/1.0\r\n\r\n")
        await server.start([listening])
        try:
            return await reader.readline()
        finally:
            writer.close()
            await server.stop()

    # When
    answer = asyncio.run(ask_before_it_serves())

    # Then
    assert b" 200 OK" in answer


def test_stopping_frees_the_port_and_may_be_repeated() -> None:
    # Given
    server = an_admin_server()

    async def start_and_stop_twice() -> HostPort:
        await server.start()
        address = server.address
        await server.stop()
        await server.stop()
        return address

    # When
    address = asyncio.run(start_and_stop_twice())

    # Then
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.host, address.port), timeout=1)


def test_the_wall_clock_counts_milliseconds_since_the_epoch() -> None:
    assert wall_clock_ms() > NOON_MS / 2


def test_a_scrape_looks_at_the_lag_of_groups_first() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.share_partition(start_offset=4)
    inspectable.write_state(1, start_offset=0)
    for partition in range(2):
        log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, partition)] = InMemoryLog()
        log.append([b"a"] * 10, timestamp_ms=NOON_MS - 3_600_000)

    # When
    answer = answer_to(inspectable.server(), "/metrics")

    # Then
    assert 'kproxy_share_lag_records{group="workers"} 16.0' in answer.body
    assert 'kproxy_share_oldest_unfinished_seconds{group="workers"} 3600.0' in answer.body


@pytest.mark.parametrize(
    "nonsense",
    [
        b"GET /livez H\\TP/1.1\r\n\r\n",
        b"POST /livez HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 5\r\n\r\nhello",
        b"GET /livez HTTP/1.1\r\nAccept: " + b"x" * 9_000 + b"\r\n\r\n",
        b"GET /livez?" + b"x" * 9_000 + b" HTTP/1.1\r\n\r\n",
        b"CONNECT \r\nHost: localhost\r\n\r\n",
    ],
    ids=["no version of HTTP", "two lengths", "a huge header", "a huge query", "no target"],
)
def test_who_speaks_no_http_is_told_so_and_is_no_error_in_the_log(
    nonsense: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    server = an_admin_server()

    async def speak(_session: aiohttp.ClientSession, _url: str) -> bytes:
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        writer.write(nonsense)
        answer = await reader.read()
        writer.close()
        return answer

    # When
    answer = while_serving(server, speak)

    # Then
    assert answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4", b"HTTP/0.9 4"))
    assert [record for record in caplog.records if record.name != "asyncio"] == []
