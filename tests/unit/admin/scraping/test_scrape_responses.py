"""Who scrapes and reads nothing costs little, and does so to a bounded number."""

import asyncio
import socket
from collections.abc import Mapping

import pytest

from kproxy.admin.readiness import Readiness
from kproxy.admin.scraping.scrape_responses import MOST_AT_ONCE
from kproxy.admin.server import AdminServer
from kproxy.settings import HostPort
from kproxy.telemetry.metrics import Metrics
from tests.worlds.waiting import until

SERIES = 5_000
SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


@pytest.fixture
def metrics() -> Metrics:
    """Metrics that no socket takes at once."""
    found = Metrics(max_series=SERIES)
    labels: Mapping[tuple[str, ...], float] = {
        (f"group {number}" + "x" * 1_000,): number for number in range(SERIES)
    }
    found.register_gauge("share_lag_records", lambda: labels)
    return found


def an_admin_port(metrics: Metrics) -> AdminServer:
    return AdminServer(HostPort("127.0.0.1", 0), metrics=metrics, readiness=Readiness({}), status=dict)


async def scraper(address: HostPort) -> socket.socket:
    """Return a connection with a request on it, of somebody who reads nothing."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.setblocking(False)
    await asyncio.get_running_loop().sock_connect(opened, (address.host, address.port))
    await asyncio.get_running_loop().sock_sendall(opened, SCRAPE)
    return opened


async def test_a_scrape_that_is_read_is_whole(metrics: Metrics) -> None:
    # Given
    server = an_admin_port(metrics)
    await server.start()
    reader, writer = await asyncio.open_connection(server.address.host, server.address.port)

    # When
    writer.write(SCRAPE)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")

    # Then
    writer.close()
    await server.stop()
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"text/plain; version=" in head
    assert body.count(b"kproxy_share_lag_records{") == SERIES


async def test_of_many_who_read_nothing_the_last_are_refused_and_counted(metrics: Metrics) -> None:
    # Given
    server = an_admin_port(metrics)
    await server.start()

    # When
    scrapers = [await scraper(server.address) for _ in range(MOST_AT_ONCE + 3)]

    # Then
    await until(lambda: metrics.counted("admin_requests_refused", "too_many") == 3)
    for each in scrapers:
        each.close()
    await server.stop()
