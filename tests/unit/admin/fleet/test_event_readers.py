"""Who listens to `/api/v1/events` hears what changes; who does not keep up is cut off, and nobody waits for them."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from kproxy.admin.activity.happenings import CountsPicture, GroupPicture, Picture
from kproxy.admin.activity.own_events import Audience, OwnEvents
from kproxy.admin.fleet.event_readers import EventReaders
from kproxy.admin.fleet.peer_events import PeerEvents
from kproxy.admin.json_chunks import CHUNK_LENGTH
from kproxy.admin.peer_views import Alone
from kproxy.handlers.live.share_counters import GroupCounts
from kproxy.net.background import BackgroundTasks
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import GroupId
from kproxy.statelog.slot_status import SlotState
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.described_answers import require_described_event
from tests.in_memory.inspectable import NOON_MS, SOON_S, Inspectable
from tests.in_memory.inspectable_fleet import InspectableFleet
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.waiting import until


class Busy:
    """Groups with names of this length, of which one record more each is delivered at every look."""

    def __init__(self, count: int, name_length: int = 10) -> None:
        self.names = [f"{number:0{name_length}}" for number in range(count)]
        self.looks = 0

    async def picture(self) -> Picture:
        self.looks += 1
        return Picture(
            dict.fromkeys(self.names, GroupPicture("Stable", 1, 1)),
            dict.fromkeys(self.names, CountsPicture(self.looks, 0, 0)),
            {},
        )


@asynccontextmanager
async def listened(
    look: Callable[[], Awaitable[Picture]], *, peers: PeerEvents | None = None, **limits: Any
) -> AsyncIterator[tuple[int, Metrics]]:
    """Serve the events of what `look` sees; yield the port, and the metrics."""
    metrics, background = Metrics(), BackgroundTasks(TaskKeeper())
    readers = EventReaders(
        OwnEvents(look, background=background, interval_s=SOON_S),
        peers or PeerEvents(Alone(), Alone(), background=background, metrics=metrics, interval_s=SOON_S),
        wall_clock=ManualClock(NOON_MS),
        metrics=metrics,
        **limits,
    )
    application = web.Application()
    application.router.add_get("/events", readers.respond)
    application.on_shutdown.append(readers.end)
    runner = web.AppRunner(application, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1], metrics
    finally:
        await runner.cleanup()


async def events(response: aiohttp.ClientResponse, count: int) -> list[tuple[str, dict[str, Any]]]:
    """The next so many events."""
    found: list[tuple[str, dict[str, Any]]] = []
    name = ""
    async for line in response.content:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            found.append((name, json.loads(text.removeprefix("data: "))))
            if len(found) == count:
                break
    return found


def test_a_reader_of_the_admin_port_hears_of_groups_records_and_slots() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.state_log.add(0)
    server = inspectable.server()

    async def listen() -> list[tuple[str, dict[str, Any]]]:
        await server.start()
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://{server.address}/api/v1/events") as response,
            ):
                assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
                hello = await events(response, 1)

                # When
                inspectable.join("bob")
                inspectable.counts[GroupId("workers")] = GroupCounts(7, 2, 3)
                inspectable.state_log.slots.clear()
                inspectable.state_log.add(0, SlotState.LOADING, reason="being loaded")
                return [*hello, *await events(response, 3)]
        finally:
            await server.stop()

    told = asyncio.run(listen())

    # Then
    for name, data in told:
        require_described_event(name, data)
    assert told == [
        ("hello", {"apiVersion": "kproxy/v1", "asOf": "2026-11-21T12:00:00.000Z"}),
        (
            "group",
            {
                "process": "",
                "groupId": "workers",
                "change": "changed",
                "state": "Stable",
                "groupEpoch": 2,
                "memberCount": 2,
            },
        ),
        (
            "records",
            {"process": "", "groupId": "workers", "delivered": 7, "redelivered": 2, "acknowledged": 3},
        ),
        ("slot", {"process": "", "partition": 0, "state": "loading", "owner": "", "reason": "being loaded"}),
    ]


def test_a_reader_hears_of_the_whole_fleet_and_who_asks_for_this_process_of_that_alone() -> None:
    # Given
    fleet = InspectableFleet("kproxy-a", "kproxy-b")
    own_group, other_group = fleet.group_of("kproxy-a"), fleet.group_of("kproxy-b")
    server = fleet.processes["kproxy-a"].server()

    async def listen() -> list[list[tuple[str, dict[str, Any]]]]:
        await server.start()
        url = f"http://{server.address}/api/v1/events"
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(url) as of_fleet,
                session.get(f"{url}?scope=local") as of_process,
            ):
                await events(of_process, 1)
                greeting = await events(of_fleet, 2)

                # When
                fleet.processes["kproxy-b"].join("bob", group_id=other_group)
                from_other = await events(of_fleet, 1)
                fleet.processes["kproxy-a"].join("alice", group_id=own_group)
                return [greeting, from_other, await events(of_fleet, 1), await events(of_process, 1)]
        finally:
            await server.stop()

    # Then
    greeting, from_other, from_own, of_process = asyncio.run(listen())
    assert greeting[1] == (
        "peer",
        {"process": "kproxy-b", "state": "heard", "missed": False, "reason": ""},
    )
    assert [(name, data["process"], data["groupId"]) for name, data in from_other] == [
        ("group", "kproxy-b", other_group)
    ]
    assert [(name, data["process"], data["groupId"]) for name, data in from_own] == [
        ("group", "kproxy-a", own_group)
    ]
    assert of_process == from_own
    for name, data in [*greeting, *from_other, *from_own]:
        require_described_event(name, data)


def test_a_scope_that_there_is_not_is_refused() -> None:
    # When
    async def listen() -> tuple[int, str]:
        async with (
            listened(Busy(1).picture) as (port, _),
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/events?scope=globe") as response,
        ):
            return response.status, await response.text()

    status, text = asyncio.run(listen())

    # Then
    assert status == 400
    assert "scope='globe': expected fleet or local" in text


def test_a_reader_that_takes_nothing_is_cut_off_while_others_go_on() -> None:
    # Given
    busy = Busy(50, name_length=10_000)

    async def listen() -> int:
        async with listened(busy.picture, most_queued_bytes=1 << 20) as (port, metrics):
            with socket.socket() as slow:
                slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                slow.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_connect(slow, ("127.0.0.1", port))
                await loop.sock_sendall(slow, b"GET /events HTTP/1.1\r\nHost: here\r\n\r\n")
                async with (
                    aiohttp.ClientSession() as session,
                    session.get(f"http://127.0.0.1:{port}/events") as response,
                ):
                    reading = asyncio.create_task(events(response, 200_000))  # noqa: TID251 - of the test
                    # When
                    await until(lambda: metrics.counted("admin_event_readers_cut_off") > 0)
                    heard_ms = busy.looks
                    await until(lambda: busy.looks > heard_ms + 3)
                    assert not reading.done()
                    reading.cancel()
            return metrics.counted("admin_event_readers_cut_off")

    # Then
    assert asyncio.run(listen()) == 1


def test_a_reader_that_takes_all_at_once_hears_more_than_may_be_queued_for_it() -> None:
    # Given
    busy = Busy(200, name_length=30_000)

    async def listen() -> tuple[int, int]:
        async with (
            listened(busy.picture, most_queued_bytes=300_000) as (port, metrics),
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/events") as response,
        ):
            # When
            heard = 0
            async for part in response.content.iter_any():
                heard += part.count(b"event: records")
                if heard >= 200:
                    break
            return heard, metrics.counted("admin_event_readers_cut_off")

    # Then
    heard, cut_off = asyncio.run(listen())
    assert heard >= 200
    assert cut_off == 0


class OneLongAnswer(PeerEvents):
    """Another process that tells so many bytes at once to who begins to listen."""

    def __init__(self, told: bytes) -> None:
        self._told = told
        self._telling: asyncio.Handle | None = None

    def begin(self, audience: Audience) -> None:
        """Tell soon: when the reader was greeted."""
        self._telling = asyncio.get_running_loop().call_later(0.05, audience.tell, self._told)

    def standings(self) -> bytes:
        """Nobody is told of."""
        return b""

    def end(self) -> None:
        """Nothing goes on."""


def test_what_another_process_tells_at_once_is_written_piece_by_piece() -> None:
    # Given
    told = b"event: group\ndata: " + b"x" * 1_000_000 + b"\n\n"

    async def listen() -> list[bytes]:
        async with listened(Busy(0).picture, peers=OneLongAnswer(told)) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /events HTTP/1.1\r\nHost: here\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
            written: list[bytes] = []
            # When
            while not b"".join(written).endswith(told):
                length = int(await reader.readline(), 16)
                written.append(await reader.readexactly(length))
                await reader.readexactly(2)
            writer.close()
            return written

    written = asyncio.run(listen())

    # Then
    assert max(map(len, written)) == CHUNK_LENGTH


def test_a_reader_that_stands_still_with_little_to_hear_is_cut_off_in_time() -> None:
    # Given
    busy = Busy(100, name_length=100_000)

    async def listen() -> int:
        async with listened(busy.picture, most_queued_bytes=1 << 30, patience_s=0.2) as (port, metrics):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_024)
            writer.write(b"GET /events HTTP/1.1\r\nHost: here\r\n\r\n")

            # When
            await until(lambda: metrics.counted("admin_event_readers_cut_off") > 0)
            writer.close()
            assert reader is not None
            return metrics.counted("admin_event_readers_cut_off")

    # Then
    assert asyncio.run(listen()) == 1


def test_no_more_may_listen_than_there_are_places_and_who_goes_makes_room() -> None:
    # Given
    async def listen() -> list[int]:
        async with (
            listened(Busy(1).picture, most_readers=1) as (port, metrics),
            aiohttp.ClientSession() as session,
        ):
            url = f"http://127.0.0.1:{port}/events"
            async with session.get(url) as first:
                await events(first, 1)

                # When
                async with session.get(url) as second:
                    refused = second.status
                    assert "1 listen to events already" in await second.text()
                first.close()
            async with session.get(url) as third:
                return [refused, third.status, metrics.counted("admin_event_readers_refused")]

    # Then
    assert asyncio.run(listen()) == [503, 200, 1]


def test_nobody_looks_while_nobody_listens() -> None:
    # Given
    busy = Busy(1)

    async def listen() -> bool:
        async with listened(busy.picture) as (port, _):
            assert busy.looks == 0
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/events") as response:
                    await events(response, 3)
                response.close()

            # When
            await until(lambda: not any("events" in task.get_name() for task in asyncio.all_tasks()))
            return True

    # Then
    assert asyncio.run(listen())


def test_the_end_of_the_process_ends_what_is_listened_to() -> None:
    # Given
    async def listen() -> bytes:
        async with aiohttp.ClientSession() as session:
            async with listened(Busy(0).picture) as (port, _):
                response = await session.get(f"http://127.0.0.1:{port}/events")
                await events(response, 1)
            # When
            return await response.content.read()

    # Then
    assert asyncio.run(listen()).strip() == b""
