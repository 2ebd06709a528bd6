"""TLS gets no more to encrypt than its peer takes; what waits is counted, and leaves in its order before the end."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

import pytest

from kproxy.net.tls import paced_transport
from kproxy.net.tls.paced_protocol import PacedProtocol
from kproxy.net.tls.paced_transport import SLICE_BYTES, PacedTransport, is_tls
from tests.event_loops import BOTH_LOOPS, async_fixture
from tests.unit.net.relaying import settled
from tests.unit.net.tls_client import TlsClient
from tests.unit.net.tls_contexts import listening
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

LARGE_BYTES = 24 << 20
IN_SOCKETS_BYTES = 10 << 20
"""More than two loopback sockets take before anybody reads."""


class Own(asyncio.Protocol):
    """Has the transport that is tested."""

    paced: PacedTransport

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.paced = cast("PacedTransport", transport)

    def data_received(self, data: bytes) -> None:
        self.received += data

    def pause_writing(self) -> None:
        self.calls.append("full")

    def resume_writing(self) -> None:
        self.calls.append("taken")

    def connection_lost(self, _error: Exception | None) -> None:
        self.calls.append("lost")


@dataclass
class Pair:
    """A paced transport with its protocol, and the other end, which reads only when it is told to."""

    own: Own
    other: TlsClient

    @property
    def paced(self) -> PacedTransport:
        """What is tested."""
        return self.own.paced


@async_fixture
async def pair() -> AsyncIterator[Pair]:
    """Return one whose handshake is done."""
    loop, own = asyncio.get_running_loop(), Own()
    server = await loop.create_server(
        lambda: PacedProtocol(own, listening().context, server_side=True), "127.0.0.1", 0
    )
    made = Pair(own, await TlsClient.connected(server.sockets[0].getsockname()[1]))
    await until(lambda: hasattr(own, "paced"))
    try:
        yield made
    finally:
        own.paced.abort()
        made.other.close()
        server.close()
        await until(lambda: "lost" in own.calls)


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
    assert await pair.other.read_exactly(len(whole)) == whole


async def test_what_the_peer_has_not_taken_waits_and_is_counted(pair: Pair, paced: PacedTransport) -> None:
    paced.write(bytes(LARGE_BYTES))

    waiting_bytes = await settled(paced.get_write_buffer_size)
    assert waiting_bytes > LARGE_BYTES - IN_SOCKETS_BYTES
    assert paced._tcp.get_write_buffer_size() < 2 * SLICE_BYTES


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

    await pair.other.read_exactly(LARGE_BYTES)

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
    await pair.other.read_exactly(LARGE_BYTES)
    await until(lambda: pair.own.calls == ["full", "taken"])


async def test_what_waits_leaves_before_close_notify(pair: Pair, paced: PacedTransport) -> None:
    paced.write(bytes(LARGE_BYTES))

    paced.close()
    paced.write(b"too late")
    paced.writelines([b"too late"])

    assert paced.is_closing()
    assert len(await pair.other.read_to_end()) == LARGE_BYTES
    assert pair.other.was_told
    await until(lambda: "lost" in pair.own.calls)


async def test_what_arrives_at_a_transport_that_closes_is_dropped(pair: Pair, paced: PacedTransport) -> None:
    paced.write(bytes(LARGE_BYTES))
    paced.close()

    await pair.other.send(b"too late")

    assert len(await pair.other.read_to_end()) == LARGE_BYTES
    assert not pair.own.received


async def test_a_peer_that_takes_nothing_is_let_go_and_what_waits_is_dropped(
    pair: Pair, paced: PacedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(paced_transport, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(paced_transport, "PATIENCE_SECONDS", 0.3)
    paced.write(bytes(LARGE_BYTES))

    # When
    paced.close()

    # Then
    await until(lambda: "lost" in pair.own.calls)
    assert 0 < len(await pair.other.read_to_end()) < LARGE_BYTES
    assert not pair.other.was_told


async def test_a_peer_that_does_not_answer_close_notify_is_let_go(
    pair: Pair, paced: PacedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paced_transport, "LOOK_SECONDS", 0.01)

    paced.close()

    await until(lambda: "lost" in pair.own.calls)


async def test_an_abort_loses_what_waits(pair: Pair, paced: PacedTransport) -> None:
    paced.write(bytes(LARGE_BYTES))

    paced.abort()

    await until(lambda: "lost" in pair.own.calls)
    assert len(await pair.other.read_to_end()) < LARGE_BYTES


async def test_a_peer_that_wants_nothing_more_gets_what_was_encrypted_and_the_end(
    pair: Pair, paced: PacedTransport
) -> None:
    paced.write(bytes(LARGE_BYTES))

    await pair.other.say_last_word()

    await until(paced.is_closing)
    assert 0 < len(await pair.other.read_to_end()) < LARGE_BYTES
    assert pair.other.was_told
    await until(lambda: "lost" in pair.own.calls)


async def test_all_that_was_encrypted_for_a_peer_that_reads_late_arrives(
    pair: Pair, paced: PacedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(paced_transport, "LOOK_SECONDS", 0.02)
    paced.write(bytes(LARGE_BYTES))
    await settled(paced.get_write_buffer_size)
    encrypted_bytes = LARGE_BYTES - paced._queued_bytes

    # When
    await pair.other.say_last_word()
    await asyncio.sleep(0.6)  # time itself is what this is about

    # Then
    assert len(await pair.other.read_to_end()) == encrypted_bytes


async def test_another_protocol_may_have_the_transport(pair: Pair, paced: PacedTransport) -> None:
    other = Own()
    paced.set_protocol(other)

    await pair.other.send(b"for the other one")

    await until(lambda: other.received == b"for the other one")
    assert paced.get_protocol() is other
    pair.other.close()
    await until(lambda: other.calls == ["lost"])
    pair.own.calls.append("lost")  # for the fixture


async def test_what_is_not_its_own_matter_is_that_of_the_tcp_transport(
    pair: Pair, paced: PacedTransport
) -> None:
    assert is_tls(paced)
    assert not is_tls(asyncio.Transport())
    assert paced.get_extra_info("peername")[0] == "127.0.0.1"
    assert not paced.can_write_eof()
    with pytest.raises(NotImplementedError):
        paced.write_eof()
    assert paced.is_reading()
    paced.pause_reading()
    assert not paced.is_reading()
    paced.resume_reading()
    assert paced.is_reading()
