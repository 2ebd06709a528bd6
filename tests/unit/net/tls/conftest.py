"""What tests of handshakes, and of what comes behind them, begin with."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kproxy.net.tls import paced_protocol
from tests.event_loops import async_fixture
from tests.unit.net.tls_handshakes import BIND_HOST, HeldLine, Port
from tests.worlds.waiting import until


@async_fixture
async def port() -> AsyncIterator[Port]:
    """Return one, and see to it that its connections have ended when the loop does."""
    made = Port()
    server = await asyncio.get_running_loop().create_server(made.make, BIND_HOST, 0, backlog=1024)
    made.number = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for paced in made.accepted:
            paced.cut_off(ConnectionAbortedError())
            if paced.protocol.transport is not None:
                paced.protocol.transport.abort()
        await until(lambda: all(each._tcp is None for each in made.accepted))


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> HeldLine:
    """Return the line of all connections that are made from now on."""
    line = HeldLine()
    monkeypatch.setattr(paced_protocol, "step_line_of_this_loop", lambda: line)
    return line
