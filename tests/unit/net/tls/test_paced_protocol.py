"""TLS between a TCP transport and a protocol: nothing that was sent is lost, and what fails is told."""

import asyncio
import gc
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import pytest

from kproxy.net.tls.paced_protocol import PacedProtocol
from kproxy.net.tls.paced_transport import PacedTransport
from kproxy.settings.choices import ClientAuth
from tests.event_loops import BOTH_LOOPS, async_fixture
from tests.unit.net.tls_client import TlsClient
from tests.unit.net.tls_contexts import Fixed, dialling, listening
from tests.unit.net.tls_handshakes import Served
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

BIND_HOST = "127.0.0.1"
LARGE_BYTES = 4 << 20


class PausingServed(Served):
    """What a slow broker makes of a client that is there."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.transport is not None
        self.transport.pause_reading()


class Buffered(asyncio.BufferedProtocol):
    """Has a buffer of its own, as kproxy's own connections do."""

    def __init__(self) -> None:
        self._buffer = bytearray(1000)
        self.received = bytearray()
        self.transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def get_buffer(self, _sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]


@dataclass
class Port:
    """Where connections are accepted."""

    number: int
    accepted: list[PacedProtocol[Served]] = field(default_factory=list)
    context: ssl.SSLContext = field(default_factory=lambda: listening().context)
    pauses_at_once: bool = False

    def make(self) -> PacedProtocol[Served]:
        """Return what serves the next connection."""
        served = PausingServed() if self.pauses_at_once else Served()
        self.accepted.append(PacedProtocol(served, self.context, server_side=True))
        return self.accepted[-1]

    @property
    def served(self) -> Served:
        """What serves the only connection."""
        (paced,) = self.accepted
        return paced.protocol


@async_fixture
async def port() -> AsyncIterator[Port]:
    """Return one, and see to it that its connections have ended when the loop does."""
    made = Port(0)
    server = await asyncio.get_running_loop().create_server(made.make, BIND_HOST, 0)
    made.number = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for paced in made.accepted:
            if paced.protocol.transport is not None:
                paced.protocol.transport.abort()
        await until(lambda: all(each.protocol.calls[-1:] in ([], ["lost"]) for each in made.accepted))


async def dialled(port: Port, served: Served, tls: Fixed | None = None) -> PacedProtocol[Served]:
    """Return a connection made by who dials, whose handshake is done."""
    context = (tls or dialling()).context
    _, paced = await asyncio.get_running_loop().create_connection(
        lambda: PacedProtocol(served, context, server_hostname="localhost"), BIND_HOST, port.number
    )
    return await paced.shaken(10)


async def test_both_ends_may_be_paced(port: Port) -> None:
    own = Served()
    paced = await dialled(port, own)
    assert paced.protocol is own
    assert own.transport is not None

    own.transport.write(bytes(LARGE_BYTES))
    await until(lambda: len(port.served.received) == LARGE_BYTES)
    assert port.served.transport is not None
    port.served.transport.write(b"answer")
    await until(lambda: own.received == b"answer")

    own.transport.close()
    await until(lambda: own.calls == ["made", "lost"])
    await until(lambda: port.served.calls == ["made", "eof", "lost"])


async def test_what_a_client_says_with_the_last_word_of_its_handshake_arrives(port: Port) -> None:
    own = Served()
    _, paced = await asyncio.get_running_loop().create_connection(
        lambda: PacedProtocol(own, dialling().context, server_hostname="localhost"), BIND_HOST, port.number
    )
    await paced.shaken(10)
    assert own.transport is not None

    own.transport.write(b"at once")
    own.transport.close()

    await until(lambda: bool(port.accepted) and port.served.calls == ["made", "eof", "lost"])
    assert port.served.received == b"at once"


async def test_a_protocol_with_a_buffer_of_its_own_gets_all_of_it(port: Port) -> None:
    own = Buffered()
    _, paced = await asyncio.get_running_loop().create_connection(
        lambda: PacedProtocol(own, dialling().context, server_hostname="localhost"), BIND_HOST, port.number
    )
    await paced.shaken(10)
    await until(lambda: port.served.calls == ["made"])
    assert port.served.transport is not None
    message = bytes(range(250)) * 200

    port.served.transport.write(message)

    await until(lambda: own.received == message)


async def test_who_has_a_connection_later_says_how_much_is_read_for_it_and_takes_that(port: Port) -> None:
    # Given
    class Sparing(Served):
        def room_bytes(self) -> int:
            return 1000

        def take_read(self, data: bytes) -> None:
            self.calls.append("read")
            self.data_received(data)

    first, later = Served(), Sparing()
    paced = await dialled(port, first)
    await until(lambda: port.served.calls == ["made"])
    assert first.transport is not None
    assert port.served.transport is not None
    message = bytes(range(250)) * 200

    # When
    first.transport.set_protocol(later)
    port.served.transport.write(message)
    await until(lambda: later.received == message)

    # Then
    assert len(paced.get_buffer(-1)) == 1000
    assert (len(first.received), set(later.calls)) == (0, {"read"})


async def test_a_protocol_that_closes_in_the_middle_is_given_nothing_more(port: Port) -> None:
    class Ending(Buffered):
        def buffer_updated(self, nbytes: int) -> None:
            super().buffer_updated(nbytes)
            cast("PacedTransport", self.transport).close()

    own = Ending()
    _, paced = await asyncio.get_running_loop().create_connection(
        lambda: PacedProtocol(own, dialling().context, server_hostname="localhost"), BIND_HOST, port.number
    )
    await paced.shaken(10)
    await until(lambda: port.served.calls == ["made"])
    assert port.served.transport is not None

    port.served.transport.write(bytes(5000))

    await until(lambda: port.served.calls == ["made", "eof", "lost"])
    assert len(own.received) == len(own.get_buffer(0))


@pytest.mark.parametrize("is_told", [False, True])
async def test_what_was_not_read_when_the_client_left_is_not_lost(port: Port, *, is_told: bool) -> None:
    # Given
    port.pauses_at_once = True
    client = await TlsClient.connected(port.number)
    await client.send(bytes(LARGE_BYTES // 32))
    if is_told:
        await client.say_last_word()
    client.send_fin()
    await until(lambda: port.served.transport is not None)
    assert port.served.transport is not None
    await asyncio.sleep(0.05)  # the FIN has come by then, and would have been seen

    # When
    port.served.transport.resume_reading()

    # Then
    await until(lambda: "lost" in port.served.calls)
    assert len(port.served.received) == LARGE_BYTES // 32
    assert ("eof" in port.served.calls) is is_told
    client.close()


async def test_the_handshake_says_why_it_failed_and_so_does_the_other_end(port: Port) -> None:
    # Given
    port.context = listening(client_auth=ClientAuth.REQUIRED).context
    own = Served()

    # When: in TLSv1.3 the client's own handshake is over before it is judged
    await dialled(port, own)

    # Then
    await until(lambda: "lost" in own.calls)
    assert isinstance(own.error, ssl.SSLError)
    assert "CERTIFICATE_REQUIRED" in str(own.error)
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        await port.accepted[0].shaken(10)
    assert not port.served.calls


async def test_a_handshake_takes_no_longer_than_it_may(port: Port) -> None:
    reader, writer = await asyncio.open_connection(BIND_HOST, port.number)
    await until(lambda: len(port.accepted) == 1)
    assert port.accepted[0].heard_ms is None

    with pytest.raises(ConnectionAbortedError, match=r"no TLS handshake within 0\.01 s"):
        await port.accepted[0].shaken(0.01)

    assert await reader.read() == b""
    assert not port.served.calls
    writer.close()


async def test_a_handshake_that_is_done_in_the_turn_in_which_its_time_is_over_is_done(port: Port) -> None:
    # Given
    own = Served()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(dialled(port, own))
        await until(lambda: len(port.accepted) == 1)
        paced, ends_at = port.accepted[0], time.monotonic() + 0.7
        connection_made = paced.protocol.connection_made

        def take_long(transport: asyncio.BaseTransport) -> None:
            connection_made(transport)
            while time.monotonic() < ends_at:
                pass

        paced.protocol.connection_made = take_long  # type: ignore[method-assign]

        # When
        shaken = await paced.shaken(0.7)

    # Then
    assert shaken is paced
    assert paced.protocol.calls == ["made"]


async def test_who_leaves_in_the_middle_of_the_handshake_is_known_to_have(port: Port) -> None:
    _, writer = await asyncio.open_connection(BIND_HOST, port.number)
    writer.write(b"\x16\x03\x01\x02\x00\x01")
    await until(lambda: len(port.accepted) == 1 and port.accepted[0].heard_ms is not None)
    writer.close()

    with pytest.raises(ConnectionResetError):
        await port.accepted[0].shaken(10)


async def test_bytes_that_are_no_tls_behind_the_handshake_end_the_connection(port: Port) -> None:
    client = await TlsClient.connected(port.number)
    await client.send(b"before")
    await client.send_raw(b"no TLS, but long enough to be taken for a record")

    await until(lambda: "lost" in port.served.calls)

    assert port.served.received == b"before"
    assert isinstance(port.served.error, ssl.SSLError)
    client.close()


async def test_a_handshake_that_failed_keeps_nothing_of_tls(port: Port) -> None:
    # Given: a collection of cycles may be far away
    gc.collect()
    gc.disable()
    try:
        before = count_of_tls()

        # When
        for _ in range(10):
            _, writer = await asyncio.open_connection(BIND_HOST, port.number)
            writer.write(b"no TLS, but long enough to be taken for a record")
            await until(lambda: bool(port.accepted))
            with pytest.raises(ssl.SSLError):
                await port.accepted.pop().shaken(10)
            writer.close()

        # Then
        await until(lambda: count_of_tls() == before)
    finally:
        gc.enable()


def count_of_tls() -> int:
    return sum(isinstance(each, ssl.SSLObject) for each in gc.get_objects())
