"""Answers of any length: cut into chunks, never held whole, never waiting for a reader for ever."""

import asyncio
import json
import socket
from collections.abc import Iterator

import pytest
from aiohttp import ClientSession, web

from kproxy.admin.json_stream import (
    CHUNK_LENGTH,
    SLICE_S,
    JsonStreams,
    TooLong,
    TooManyStreams,
    chunks,
    gathered,
    json_response,
)


def a_clock(*readings_s: float) -> Iterator[float]:
    return iter(readings_s)


def test_small_pieces_are_joined_to_one_chunk() -> None:
    assert list(chunks(["a", "b", "ü"], now_s=lambda: 0.0)) == ["abü".encode()]


def test_a_chunk_ends_when_it_is_long_enough() -> None:
    # Given
    half = "x" * (CHUNK_LENGTH // 2)

    # When
    found = list(chunks([half] * 5, now_s=lambda: 0.0))

    # Then
    assert [len(chunk) for chunk in found] == [CHUNK_LENGTH, CHUNK_LENGTH, CHUNK_LENGTH // 2]


def test_a_chunk_ends_when_its_time_is_over() -> None:
    # Given
    clock = a_clock(0.0, SLICE_S / 2, SLICE_S, 1.0, 1.0)

    # When
    found = list(chunks(["a", "b", "c"], now_s=lambda: next(clock)))

    # Then
    assert found == [b"ab", b"c"]


def test_no_pieces_are_no_chunks() -> None:
    assert list(chunks([])) == []


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


def test_no_more_answers_than_allowed_are_under_way() -> None:
    # Given
    streams = JsonStreams(max_streams=1)

    # When
    with streams.reserved(), pytest.raises(TooManyStreams) as refusal, streams.reserved():
        pass

    # Then
    assert str(refusal.value) == "1 long answers are being written already; try again"
    with streams.reserved():
        pass


async def test_an_answer_that_is_held_whole_is_all_of_its_pieces() -> None:
    assert await gathered((f"{n}," for n in range(100_000)), 1 << 20) == b"".join(
        b"%d," % n for n in range(100_000)
    )


async def test_an_answer_longer_than_may_be_held_is_refused_before_all_of_it_is_made() -> None:
    # Given
    made = 0

    def pieces() -> Iterator[str]:
        nonlocal made
        while True:
            made += CHUNK_LENGTH
            yield "x" * CHUNK_LENGTH

    # When
    with pytest.raises(TooLong) as refusal:
        await gathered(pieces(), 3 * CHUNK_LENGTH)

    # Then
    assert made <= 5 * CHUNK_LENGTH
    assert str(refusal.value) == (
        "what it has to tell is longer than 196608 bytes: ask its own admin port with scope=local"
    )
