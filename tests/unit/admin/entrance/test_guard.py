"""The guard in front of a real admin port."""

import asyncio
import io
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kproxy.admin.entrance.access import AccessRules
from kproxy.admin.entrance.connections import ConnectionLimits
from kproxy.admin.entrance.token_file import TokenFile
from kproxy.admin.readiness import Readiness
from kproxy.admin.server import AdminServer
from kproxy.settings import HostPort
from kproxy.telemetry.logs import EventHandler, JsonFormatter
from kproxy.telemetry.metrics import Metrics
from kproxy.telemetry.repetition import BURST
from tests.worlds.waiting import until_all_wait

EVERYWHERE = HostPort("0.0.0.0", 9644)
TOKEN = "0123456789abcdef"


@dataclass
class Answer:
    status: int
    head: str
    body: Any

    @property
    def message(self) -> str:
        assert self.body["kind"] == "Error"
        return str(self.body["items"][0]["message"])


class Port:
    """An admin port that thinks that it is bound where a test says, and is bound to the loopback interface."""

    def __init__(self, listener: HostPort, token: Path | None = None, **limits: float) -> None:
        self.metrics = Metrics()
        self._file = None if token is None else TokenFile(token)
        self._rules = AccessRules(listener, has_token=token is not None)
        self._limits = ConnectionLimits(**limits)  # type: ignore[arg-type]

    def _server(self) -> AdminServer:
        return AdminServer(
            HostPort("127.0.0.1", 0),
            metrics=self.metrics,
            readiness=Readiness({"listeners": str}),
            status=lambda: {"version": "0.1.0"},
            access=self._rules,
            token=self._file,
            limits=self._limits,
        )

    def refused(self, reason: str) -> int:
        return self.metrics.counted("admin_requests_refused", reason)

    async def ask(self, request: str, *headers: str, host: str = "127.0.0.1", body: bytes = b"") -> Answer:
        server = self._server()
        await server.start()
        try:
            address = server.address
            reader, writer = await asyncio.open_connection(address.host, address.port)
            lines = [f"{request} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
            writer.write("\r\n".join(lines).encode(errors="surrogateescape") + b"\r\n\r\n" + body)
            head, _, told = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
            return Answer(int(head.split()[1]), head.decode(), json.loads(told) if told[:1] == b"{" else told)
        finally:
            await server.stop()

    async def leave_after(self, begun: bytes) -> None:
        """Send what is no whole request, and go; return when the port has seen both."""
        server = self._server()
        await server.start()
        address = server.address
        _, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(begun)
        await writer.drain()
        await until_all_wait()
        writer.transport.abort()
        await until_all_wait()
        await server.stop()


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    return path


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/api/v1/status", "/nothing"])
async def test_whatever_is_asked_under_a_foreign_name_is_refused_and_counted(path: str) -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644))

    # When
    answer = await port.ask(f"GET {path}", host="evil.example")

    # Then
    assert answer.status == 403
    assert "kproxy.admin.allowed.hosts" in answer.message
    assert port.refused("host") == 1


async def test_a_page_of_somebody_else_is_refused_and_counted() -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644))

    # When
    answer = await port.ask("GET /api/v1/status", "Origin: http://evil.example")

    # Then
    assert answer.status == 403
    assert "'http://evil.example'" in answer.message
    assert port.refused("origin") == 1


async def test_an_image_on_a_page_of_somebody_else_is_refused_and_a_link_is_followed() -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644))
    site = "Sec-Fetch-Site: cross-site"

    # When
    image = await port.ask("GET /api/v1/status", site, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image")
    frame = await port.ask("GET /api/v1/status", site, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe")
    link = await port.ask("GET /api/v1/status", site, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")

    # Then
    assert [image.status, frame.status, link.status] == [403, 403, 200]
    assert port.refused("origin") == 2


@pytest.mark.parametrize(
    ("headers", "host", "reason", "why"),
    [
        ((), "evil.example", "host", "this admin port is not known as 'evil.example'"),
        (
            ("Origin: http://evil.example",),
            "127.0.0.1",
            "origin",
            "pages of 'http://evil.example' may not ask",
        ),
        (
            (f"Authorization: Bearer {TOKEN}-1",),
            "127.0.0.1",
            "token",
            "the token that was sent is another one",
        ),
    ],
    ids=["host", "origin", "token"],
)
async def test_who_was_refused_what_and_why_stands_in_the_log(
    headers: tuple[str, ...], host: str, reason: str, why: str, token: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    port = Port(EVERYWHERE, token)

    # When
    await port.ask("GET /api/v1/groups?lag=false", *headers, host=host)

    # Then
    [line] = [record for record in caplog.records if record.msg == "admin_request_refused"]
    keys = dict(line.event_keys)  # type: ignore[attr-defined]
    assert (keys["path"], keys["reason"]) == ("/api/v1/groups", reason)
    assert keys["peer"].startswith("127.0.0.1:")
    assert why in keys["why"]
    assert TOKEN not in str(keys)


async def test_of_very_many_refusals_some_stand_in_the_log_and_how_many_others_there_were() -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644))
    lines = io.StringIO()
    handler = EventHandler(lines)
    handler.setFormatter(JsonFormatter())
    logging.getLogger("kproxy.admin").addHandler(handler)

    # When
    for number in range(BURST + 5):
        await port.ask(f"GET /{number}", host="evil.example")
    logging.getLogger("kproxy.admin").removeHandler(handler)
    handler.close()

    # Then
    written = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert len(written) == BURST + 1
    assert written[-1]["suppressed"] == 5


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
async def test_probes_and_scrapes_need_no_token(path: str, token: Path) -> None:
    assert (await Port(EVERYWHERE, token).ask(f"GET {path}")).status == 200


async def test_beyond_this_machine_what_is_held_is_told_to_those_with_the_token_alone(token: Path) -> None:
    # Given
    port = Port(EVERYWHERE, token)

    # When
    without = await port.ask("GET /api/v1/status")
    wrong = await port.ask("GET /api/v1/status", "Authorization: Bearer 0123456789abcdee")
    right = await port.ask("GET /api/v1/status", f"Authorization: Bearer {TOKEN}")

    # Then
    assert [without.status, wrong.status, right.status] == [401, 401, 200]
    assert 'WWW-Authenticate: Bearer realm="kproxy"' in without.head
    assert "KPROXY_ADMIN_TOKEN_FILE" in without.message
    assert TOKEN not in without.message + wrong.message
    assert port.refused("token") == 2


async def test_bytes_that_are_no_text_are_another_token(
    token: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    port = Port(EVERYWHERE, token)

    # When
    answer = await port.ask("GET /api/v1/status", "Authorization: Bearer \udcff")

    # Then
    assert answer.status == 401
    assert port.refused("token") == 1
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_token_that_was_replaced_counts_at_once(token: Path) -> None:
    # Given
    port = Port(EVERYWHERE, token)
    token.write_text("another-token-entirely")  # noqa: ASYNC240

    # When
    answer = await port.ask("GET /api/v1/status", f"Authorization: Bearer {TOKEN}")

    # Then
    assert answer.status == 401


async def test_while_the_token_cannot_be_read_nobody_is_let_in(token: Path) -> None:
    # Given
    port = Port(EVERYWHERE, token)
    token.unlink()  # noqa: ASYNC240

    # When
    answer = await port.ask("GET /api/v1/status", "Authorization: Bearer ")

    # Then
    assert answer.status == 503
    assert "cannot be read" in answer.message


async def test_beyond_this_machine_without_any_token_nothing_but_probes_is_answered() -> None:
    # Given
    port = Port(EVERYWHERE)

    # When
    answer = await port.ask("GET /api/v1/status", f"Authorization: Bearer {TOKEN}")

    # Then
    assert answer.status == 403
    assert "set kproxy.admin.token.file" in answer.message


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (("Content-Length: 65537",), b""),
        (("Transfer-Encoding: chunked",), b"10001\r\n" + b"x" * 0x10001 + b"\r\n0\r\n\r\n"),
    ],
    ids=["announced", "in chunks"],
)
async def test_a_body_that_is_too_long_is_refused_and_counted(headers: tuple[str, ...], body: bytes) -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644))

    # When
    answer = await port.ask("POST /api/v1/status", *headers, body=body)

    # Then
    assert (answer.status, answer.message) == (413, "the body of a request may have 65536 bytes")
    assert port.refused("too_large") == 1


async def test_a_header_that_is_too_long_is_refused_and_counted() -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644))

    # When
    answer = await port.ask("GET /livez", "Accept: " + "x" * 9_000)

    # Then
    assert answer.status == 400
    assert port.refused("too_large") == 1


async def test_what_is_no_http_is_counted() -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644))

    # When
    answer = await port.ask("G\x00T /livez")

    # Then
    assert answer.status == 400
    assert port.refused("malformed") == 1


async def test_a_body_that_does_not_come_is_given_up_with_its_connection() -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644), body_s=0.05)

    # When
    answer = await port.ask("POST /api/v1/status", "Content-Length: 5")

    # Then
    assert (answer.status, answer.message) == (408, "the body of the request was not there within 0.05 s")
    assert port.refused("too_slow") == 1


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (("Content-Encoding: gzip", "Content-Length: 5"), b"hello"),
        (("Transfer-Encoding: chunked",), b"5\r\nhello\r\nno length\r\n"),
    ],
    ids=["what is not compressed as it says", "what is no chunk"],
)
async def test_a_body_that_cannot_be_read_is_refused_and_counted_and_no_error_in_the_log(
    headers: tuple[str, ...], body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644))

    # When
    answer = await port.ask("POST /api/v1/status", *headers, body=body)

    # Then
    assert answer.status == 400
    assert port.refused("malformed") == 1
    assert [record for record in caplog.records if record.name != "asyncio"] == []


async def test_who_leaves_in_the_middle_of_a_body_is_no_error_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    port = Port(HostPort("127.0.0.1", 9644))

    # When
    await port.leave_after(b"POST /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nhel")

    # Then
    assert [record for record in caplog.records if record.name != "asyncio"] == []
