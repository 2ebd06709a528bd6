"""Answers of any length: cut into chunks, never held whole, never waiting for a reader for ever."""

import asyncio
import json
import socket
from collections.abc import Iterator

from aiohttp import ClientSession, web

from kproxy.admin.json_chunks import CHUNK_LENGTH
from kproxy.admin.json_stream import JsonStreams, json_response


def test_a_short_answer_is_json_that_nobody_stores() -> None:
    # When
    response = json_response({"a": 1}, status=503)

    # Then
    assert response.status == 503
    assert response.text == '{\n  "a": 1\n}\n'
    assert response.headers["Cache-Control"] == "no-store"


async def serve(
    streams: JsonStreams, pieces: Iterator[str], *, ended: asyncio.Event | None = None
) -> tuple[web.AppRunner, int]:
    """Serve `pieces` at `/` on a free port; tell when an answer has `ended`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await streams.send(request, pieces)
        finally:
            if ended is not None:
                ended.set()

    application = web.Application()
    application.router.add_get("/", answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, runner.addresses[0][1]


async def test_an_answer_arrives_whole_while_other_work_goes_on() -> None:
    # Given
    turns = []

    async def work() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    pieces = iter(["[", *(f"{n}," for n in range(100_000)), "0]"])
    runner, port = await serve(JsonStreams(), pieces)
    other = asyncio.get_running_loop().create_task(work())

    # When
    try:
        async with ClientSession() as session, session.get(f"http://127.0.0.1:{port}/") as response:
            answer = json.loads(await response.read())
    finally:
        other.cancel()
        await runner.cleanup()

    # Then
    assert answer == [*range(100_000), 0]
    assert len(turns) > 5


async def test_a_reader_that_stands_still_loses_its_connection_and_holds_a_bounded_part() -> None:
    # Given
    made = 0

    def pieces() -> Iterator[str]:
        nonlocal made
        while True:
            made += CHUNK_LENGTH
            yield "x" * CHUNK_LENGTH

    ended = asyncio.Event()
    runner, port = await serve(JsonStreams(timeout_s=0.1), pieces(), ended=ended)

    # When
    with socket.create_connection(("127.0.0.1", port)) as reader:
        reader.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(reader, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        await ended.wait()
        try:
            while part := await loop.sock_recv(reader, 1 << 20):
                received += part
        except ConnectionResetError:
            pass
    await runner.cleanup()

    # Then
    assert not received.endswith(b"0\r\n\r\n")
    assert made < 64 * 1024 * 1024
