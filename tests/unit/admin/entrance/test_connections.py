"""Connections of the admin port, over sockets, in front of a protocol that answers when a test lets it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import cast

import pytest

from kproxy.admin.entrance.connections import AdminConnections, ConnectionLimits
from kproxy.telemetry.metrics import Metrics
from tests.event_loops import BOTH_LOOPS

SOON_S = 0.05
LATER_S = 0.3
"""Late enough for a request that is to begin before."""
NEVER_S = 3600.0
pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


class Served(asyncio.Protocol):
    """A server that takes each line for a request, and answers `big` with more than anybody's buffers hold."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._work = ExitStack()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if b"begin" in data:
            self._work.enter_context(self._world.connections.at_work(self.transport))
        if b"body" in data:
            self._work.enter_context(self._world.connections.awaiting_body(self.transport))
        if b"end" in data:
            self._work.close()
        if b"big" in data:
            self.transport.write(b"x" * (16 << 20))
        self.transport.write(b"ok\n")


class World:
    def __init__(self, limits: ConnectionLimits) -> None:
        self.metrics = Metrics()
        self.connections = AdminConnections(lambda: Served(self), self.metrics, limits)
        self.address: tuple[str, int]

    def refused(self, reason: str) -> int:
        return self.metrics.counted("admin_requests_refused", reason)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.address)


@asynccontextmanager
async def a_port(**limits: float) -> AsyncIterator[World]:
    world = World(ConnectionLimits(**{"request_s": NEVER_S, "reader_s": NEVER_S, **limits}))  # type: ignore[arg-type]
    server = await asyncio.get_running_loop().create_server(world.connections.accept, "127.0.0.1", 0)
    world.address = server.sockets[0].getsockname()
    yield world
    server.close()


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def test_who_connects_and_asks_nothing_is_closed_and_counted() -> None:
    async with a_port(request_s=SOON_S) as world:
        # When
        reader, writer = await world.connect()
        answer = await rest_of(reader)

        # Then
        writer.close()
        assert answer == b""
        assert world.refused("too_slow") == 1


async def test_who_begins_a_request_and_does_not_end_it_is_told_so() -> None:
    async with a_port(request_s=LATER_S) as world:
        # When
        reader, writer = await world.connect()
        writer.write(b"half of a")
        answer = await rest_of(reader)

        # Then
        writer.close()
        assert answer.startswith(b"ok\nHTTP/1.1 408 Request Timeout\r\n")
        assert world.refused("too_slow") == 1


async def test_a_request_that_is_at_work_has_all_the_time_it_needs_and_the_next_one_has_not() -> None:
    async with a_port(request_s=LATER_S) as world:
        # Given
        reader, writer = await world.connect()
        writer.write(b"begin")
        await reader.readline()
        other, other_writer = await world.connect()
        await rest_of(other)
        before = world.refused("too_slow")

        # When
        writer.write(b"end, and half of another")
        answer = await rest_of(reader)

        # Then
        for each in (writer, other_writer):
            each.close()
        assert before == 1
        assert b"408" in answer
        assert world.refused("too_slow") == 2


async def test_a_connection_between_two_requests_is_left_in_peace() -> None:
    async with a_port(request_s=LATER_S) as world:
        # Given
        reader, writer = await world.connect()
        writer.write(b"begin")
        await reader.readline()
        writer.write(b"begin")  # the request that comes while one is at work
        await reader.readline()

        # When
        other, other_writer = await world.connect()
        await rest_of(other)

        # Then
        assert not reader.at_eof()
        for each in (writer, other_writer):
            each.close()


async def test_more_bytes_than_a_request_has_are_refused() -> None:
    async with a_port(unasked_bytes=100) as world:
        # When
        reader, writer = await world.connect()
        writer.write(b"x" * 101)
        answer = await rest_of(reader)

        # Then
        writer.close()
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert world.refused("too_large") == 1


async def test_one_connection_too_many_is_closed_at_once_and_the_place_of_one_that_ended_is_free() -> None:
    async with a_port(most=1) as world:
        # Given
        first, first_writer = await world.connect()
        first_writer.write(b"begin")
        await first.readline()
        second, second_writer = await world.connect()
        refused = await rest_of(second)
        first_writer.write_eof()
        await rest_of(first)

        # When
        third, third_writer = await world.connect()
        third_writer.write(b"begin")
        answer = await third.readline()

        # Then
        for each in (first_writer, second_writer, third_writer):
            each.close()
        assert (refused, answer) == (b"", b"ok\n")
        assert world.refused("too_many") == 1


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"begin, end", id="asked"),
        pytest.param(b"half of a", id="asks half"),
        pytest.param(b"", id="asks nothing"),
        pytest.param(b"begin, body", id="sends no body"),
    ],
)
async def test_where_all_places_are_taken_a_connection_that_is_not_answered_gives_way(sent: bytes) -> None:
    async with a_port(most=2) as world:
        # Given
        busy, busy_writer = await world.connect()
        busy_writer.write(b"begin")
        await busy.readline()
        idle, idle_writer = await world.connect()
        idle_writer.write(sent)
        if sent:
            await idle.readline()

        # When
        newcomer, newcomer_writer = await world.connect()
        newcomer_writer.write(b"begin")
        answer = await newcomer.readline()

        # Then
        left = await rest_of(idle)
        busy_writer.write(b"end")
        busy_answer = await busy.readline()
        for each in (busy_writer, idle_writer, newcomer_writer):
            each.close()
        assert (answer, left, busy_answer) == (b"ok\n", b"", b"ok\n")
        assert world.refused("too_many") == 1


async def test_of_connections_that_are_not_answered_the_one_gives_way_that_was_longest_ago() -> None:
    async with a_port(most=2) as world:
        # Given
        first, first_writer = await world.connect()
        second, second_writer = await world.connect()
        for reader, writer in ((first, first_writer), (second, second_writer), (first, first_writer)):
            writer.write(b"begin, end")
            await reader.readline()

        # When
        third, third_writer = await world.connect()
        third_writer.write(b"begin, end")
        answer = await third.readline()

        # Then
        first_writer.write(b"begin, end")
        answer_of_first, left = await first.readline(), await rest_of(second)
        for each in (first_writer, second_writer, third_writer):
            each.close()
        assert (answer, answer_of_first, left) == (b"ok\n", b"ok\n", b"")


async def test_who_is_still_reading_an_answer_gives_way_after_all_who_have_theirs() -> None:
    async with a_port(most=2) as world:
        # Given
        reading, reading_writer = await asyncio.open_connection(*world.address, limit=1024)
        reading_writer.write(b"begin big end")
        await reading.read(1)
        idle, idle_writer = await world.connect()
        idle_writer.write(b"begin, end")
        await idle.readline()

        # When
        newcomer, newcomer_writer = await world.connect()
        newcomer_writer.write(b"begin")
        await newcomer.readline()

        # Then
        left = await rest_of(idle)
        answer = await reading.readexactly((16 << 20) + 2)
        for each in (reading_writer, idle_writer, newcomer_writer):
            each.close()
        assert left == b""
        assert answer.endswith(b"xok\n")


async def test_places_of_those_who_gave_way_are_not_given_twice() -> None:
    async with a_port(most=1) as world:
        # Given
        idle, idle_writer = await world.connect()
        newcomer, newcomer_writer = await world.connect()
        newcomer_writer.write(b"begin")
        await newcomer.readline()
        await rest_of(idle)

        # When
        another, another_writer = await world.connect()
        refused = await rest_of(another)

        # Then
        for each in (idle_writer, newcomer_writer, another_writer):
            each.close()
        assert refused == b""
        assert world.refused("too_many") == 2


async def test_a_reader_that_stands_still_loses_its_connection() -> None:
    async with a_port(reader_s=SOON_S) as world:
        # Given
        reader, writer = await asyncio.open_connection(*world.address, limit=1024)
        writer.write(b"begin")
        await reader.readline()

        # When
        writer.write(b"big")
        await until(lambda: world.refused("reader_stalled") == 1)

        # Then
        read = await rest_of(reader)
        writer.close()
        assert len(read) < 16 << 20


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110
        await asyncio.sleep(0)
