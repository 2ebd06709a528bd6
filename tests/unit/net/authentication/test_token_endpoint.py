"""Tokens of an OAuth endpoint on a loopback socket."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from kproxy.net.authentication.token_endpoint import EndpointTokens
from kproxy.net.broker_failures import AuthenticationRefused
from tests.in_memory.manual_clock import ManualClock


class Endpoint:
    """Answers each POST with `status` and `body`, and keeps what it was asked."""

    def __init__(self, body: object, status: int = 200) -> None:
        self.status = status
        self.body = body if isinstance(body, str) else json.dumps(body)
        self.asked: list[tuple[str, str]] = []
        self.clock = ManualClock()

    @asynccontextmanager
    async def tokens(self, *, scope: str = "") -> AsyncIterator[EndpointTokens]:
        """Serve, and return tokens of this endpoint."""
        runner = web.AppRunner(_application(self))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            url = f"http://127.0.0.1:{port}/token"
            yield EndpointTokens(url, "kproxy", lambda: "pencil", scope=scope, clock=self.clock)
        finally:
            await runner.cleanup()


def _application(endpoint: Endpoint) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        endpoint.asked.append((request.headers["Authorization"], await request.text()))
        return web.Response(status=endpoint.status, text=endpoint.body)

    application = web.Application()
    application.router.add_post("/token", answer)
    return application


async def test_the_endpoint_is_asked_with_the_client_credentials_grant() -> None:
    # Given
    endpoint = Endpoint({"access_token": "a.b.c", "expires_in": 100})

    # When
    async with endpoint.tokens(scope="kafka all") as tokens:
        token = await tokens.token()

    # Then
    assert token == "a.b.c"
    assert endpoint.asked == [
        ("Basic a3Byb3h5OnBlbmNpbA==", "grant_type=client_credentials&scope=kafka+all"),
    ]


async def test_one_token_serves_everybody_for_four_fifths_of_its_life() -> None:
    # Given
    endpoint = Endpoint({"access_token": "a.b.c", "expires_in": 100})
    async with endpoint.tokens() as tokens:
        await asyncio.gather(*(tokens.token() for _ in range(5)))
        endpoint.clock.advance(79_999)
        await tokens.token()
        asked = [len(endpoint.asked)]

        # When
        endpoint.clock.advance(1)
        await tokens.token()

    # Then
    assert [*asked, len(endpoint.asked)] == [1, 2]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, {"error": "invalid_client"}, "HTTP 401 invalid_client$"),
        (500, "oops", "HTTP 500$"),
        (302, "", "HTTP 302$"),
        (200, "oops", "no access_token"),
        (200, [], "no access_token"),
        (200, {"access_token": ""}, "no access_token"),
        (200, {"access_token": "a", "expires_in": "soon"}, "no number"),
        (200, "x" * 1_100_000, "too long"),
    ],
)
async def test_an_answer_without_a_token_is_told_with_the_url(status: int, body: object, words: str) -> None:
    # Given
    async with Endpoint(body, status).tokens() as tokens:
        # When
        with pytest.raises(
            AuthenticationRefused, match=f"token.endpoint.url: http://127.*{words}"
        ) as refusal:
            await tokens.token()

    # Then
    assert "pencil" not in str(refusal.value)


async def test_an_endpoint_that_nobody_reaches_is_told() -> None:
    # Given
    tokens = EndpointTokens("http://127.0.0.1:1/", "kproxy", lambda: "pencil", scope="", clock=ManualClock())

    # When, then
    with pytest.raises(AuthenticationRefused, match="Cannot connect to host"):
        await tokens.token()


def test_a_name_server_that_says_nothing_is_told_of_and_keeps_no_process_from_ending() -> None:
    # Given
    program = """
import asyncio, socket, threading
from kproxy.net.authentication import token_endpoint
from kproxy.net.broker_failures import AuthenticationRefused
from kproxy.net.deadlines import MonotonicClock

def hang(host, *args, flags=0, **keywords):
    if flags == socket.AI_NUMERICHOST:
        raise socket.gaierror(socket.EAI_NONAME, "no number")
    threading.Event().wait()

socket.getaddrinfo = hang
token_endpoint._LOOKUP_TIMEOUT_MS = 50
tokens = token_endpoint.EndpointTokens(
    "http://silent/token", "kproxy", lambda: "pencil", scope="", clock=MonotonicClock()
)

async def ask():
    try:
        await tokens.token()
    except AuthenticationRefused as refusal:
        print(refusal)

asyncio.run(ask())
"""

    # When
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False
    )

    # Then
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "the name 'silent' was not resolved within 50 ms" in ended.stdout
