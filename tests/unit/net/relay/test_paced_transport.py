"""TLS gets no more to encrypt than its peer takes; what waits is counted, and leaves in its order before the end."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import pytest

from kproxy.net.relay import paced_transport
from kproxy.net.relay.paced_transport import SLICE_BYTES, PacedTransport
from tests.event_loops import BOTH_LOOPS, async_fixture
from tests.unit.net.tls_contexts import dialling, listening
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

LARGE_BYTES = 24 << 20


class Own(asyncio.Protocol):
    """The protocol of a TLS transport that is paced."""

    paced: PacedTransport
    tls: asyncio.Transport

    def __init__(self) -> None:
        self.calls: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.tls = cast("asyncio.Transport", transport)
        self.paced = PacedTransport(
            self.tls,
            on_full=lambda: self.calls.append("full"),
            on_taken=lambda: self.calls.append("taken"),
        )

    def resume_writing(self) -> None:
        self.paced.go_on()

    def connection_lost(self, _error: Exception | None) -> None:
        self.calls.append("lost")
        self.paced.forget()


@dataclass
class Pair:
    """A paced transport with its protocol, and the other end, which reads only when it is told to."""

    own: Own = field(default_factory=Own)
    other: asyncio.StreamReader = field(default_factory=asyncio.StreamReader)

    @property
    def paced(self) -> PacedTransport:
        """What is tested."""
        return self.own.paced


@async_fixture
async def pair() -> AsyncIterator[Pair]:
    """Return one whose handshake is done."""
    loop, made = asyncio.get_running_loop(), Pair()
    server = await loop.create_server(lambda: made.own, "127.0.0.1", 0, ssl=listening().context)
    port = server.sockets[0].getsockname()[1]
    made.other, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=dialling().context, server_hostname="localhost"
    )
    await until(lambda: hasattr(made.own, "paced"))
    try:
        yield made
    finally:
        made.paced.abort()
        writer.transport.abort()
        server.close()


@pytest.fixture
def paced(pair: Pair) -> PacedTransport:
    return pair.paced


async def test_what_is_written_in_pieces_of_any_size_arrives_in_its_order(
    pair: Pair, paced: PacedTransport
) -> None:
    pieces = [
        bytes([number]) * size for number, size in enumerate((1, 0, SLICE_BYTES, 3 * SLICE_BYTES + 1, 5))
    ]

    paced.write(pieces[0])
    paced.writelines([*pieces[1:3], memoryview(pieces[3])])
    paced.write(pieces[4])

    whole = b"".join(pieces)
    assert await pair.other.readexactly(len(whole)) == whole


async def test_what_the_peer_has_not_taken_waits_in_plaintext(pair: Pair, paced: PacedTransport) -> None:
    paced.write(bytes(LARGE_BYTES))

    await until(lambda: pair.own.tls.get_write_buffer_size() > 0)
    assert paced.get_write_buffer_size() > LARGE_BYTES / 2
    assert pair.own.tls.get_write_buffer_size() < 2 * SLICE_BYTES


async def test_one_turn_encrypts_some_slices_and_no_more(pair: Pair, paced: PacedTransport) -> None:
    paced.write(bytes(LARGE_BYTES))

    assert paced.get_write_buffer_size() >= LARGE_BYTES - 5 * SLICE_BYTES
    assert not pair.own.calls[1:]


async def test_full_is_told_above_the_high_water_and_taken_once_the_peer_has_read(
    pair: Pair, paced: PacedTransport
) -> None:
    paced.set_write_buffer_limits(high=LARGE_BYTES // 2)
    paced.write(bytes(LARGE_BYTES))
    assert pair.own.calls == ["full"]

    await pair.other.readexactly(LARGE_BYTES)

    await until(lambda: pair.own.calls == ["full", "taken"])
    assert paced.get_write_buffer_size() == 0
    assert paced.get_write_buffer_limits() == (LARGE_BYTES // 8, LARGE_BYTES // 2)


async def test_a_limit_that_is_lowered_is_told_at_once_and_one_of_nothing_is_met_by_an_empty_queue(
    pair: Pair, paced: PacedTransport
) -> None:
    paced.set_write_buffer_limits(high=2 * LARGE_BYTES)
    paced.set_write_buffer_limits(high=0)
    assert not pair.own.calls
    paced.set_write_buffer_limits(high=2 * LARGE_BYTES)
    paced.write(bytes(LARGE_BYTES))
    assert not pair.own.calls

    paced.set_write_buffer_limits(high=0)

    assert pair.own.calls == ["full"]
    await pair.other.readexactly(LARGE_BYTES)
    await until(lambda: pair.own.calls == ["full", "taken"])


async def test_what_waits_leaves_before_the_end(pair: Pair, paced: PacedTransport) -> None:
    paced.write(bytes(LARGE_BYTES))

    paced.close()
    paced.write(b"too late")
    paced.writelines([b"too late"])

    assert paced.is_closing()
    assert not pair.own.tls.is_closing()
    assert len(await pair.other.read()) == LARGE_BYTES
    await until(lambda: "lost" in pair.own.calls)


async def test_an_abort_loses_what_waits(pair: Pair, paced: PacedTransport) -> None:
    paced.write(bytes(LARGE_BYTES))

    paced.abort()

    assert paced.get_write_buffer_size() < 2 * SLICE_BYTES
    await until(lambda: "lost" in pair.own.calls)


async def test_a_peer_that_wants_nothing_more_gets_what_was_encrypted_and_the_end(
    pair: Pair, paced: PacedTransport
) -> None:
    paced.write(bytes(LARGE_BYTES))

    paced.end()

    assert 0 < len(await pair.other.read()) < LARGE_BYTES
    await until(lambda: "lost" in pair.own.calls)


async def test_all_that_was_encrypted_for_a_peer_that_reads_late_arrives(
    pair: Pair, paced: PacedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(paced_transport, "LOOK_SECONDS", 0.02)  # sockets have grown by then
    paced.write(bytes(LARGE_BYTES))
    await until(lambda: pair.own.tls.get_write_buffer_size() > 0)
    encrypted_bytes = LARGE_BYTES - paced.get_write_buffer_size() + pair.own.tls.get_write_buffer_size()

    # When
    paced.end()
    await asyncio.sleep(0.6)  # time itself is what this is about

    # Then: of what OpenSSL holds as well the overhead is no part of what is written
    assert encrypted_bytes - SLICE_BYTES <= len(await pair.other.read()) <= encrypted_bytes


async def test_the_tls_transport_beneath_is_asked_for_the_rest(pair: Pair, paced: PacedTransport) -> None:
    assert paced.get_extra_info("ssl_object") is not None
    assert not paced.can_write_eof()
    with pytest.raises(NotImplementedError):
        paced.write_eof()
    assert paced.is_reading()
    paced.pause_reading()
    assert not paced.is_reading()
    paced.resume_reading()
    assert pair.own.tls.is_reading()
