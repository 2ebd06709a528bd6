"""Steps of handshakes wait for a turn of the loop that has time for them, and what waits neither grows nor stays."""

import asyncio
import gc
import socket
import ssl
import struct
from collections import Counter

import pytest

from kproxy.net.tls import byte_costs
from kproxy.net.tls.paced_protocol import PacedProtocol
from kproxy.net.tls.paced_transport import RECORD_BYTES
from kproxy.net.tls.step_line import MOST_IN_A_TURN, Row
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.relaying import settled
from tests.unit.net.tls_client import TlsClient
from tests.unit.net.tls_contexts import dialling
from tests.unit.net.tls_handshakes import BIND_HOST, HeldLine, Port, Served
from tests.worlds.waiting import until, until_all_wait

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

LARGE_BYTES = 1 << 20


def hello() -> bytes:
    """Return what a client says first: it may be said many times, as nothing of it is proved yet."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        dialling().context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def count_of_tls() -> int:
    return sum(isinstance(each, ssl.SSLObject) for each in gc.get_objects())


async def test_of_many_clients_that_begin_together_only_so_many_are_answered_in_a_turn(port: Port) -> None:
    # Given
    turn, answered_in = 0, Counter[int]()

    class Counted(ssl.SSLObject):
        def do_handshake(self) -> None:
            answered_in[turn] += 1
            super().do_handshake()

    async def count_turns() -> None:
        nonlocal turn
        while True:  # until it is cancelled
            await asyncio.sleep(0)
            turn += 1

    port.context.sslobject_class = Counted
    clients = [socket.create_connection((BIND_HOST, port.number)) for _ in range(8 * MOST_IN_A_TURN)]
    await until(lambda: len(port.accepted) == len(clients))
    await until_all_wait()
    said = hello()

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        await asyncio.sleep(0)
        for client in clients:
            client.sendall(said)
        await until(lambda: answered_in.total() == len(clients))
        counting.cancel()

    # Then: those of a callback, and those of what is read before the turn is counted
    assert max(answered_in.values()) <= 2 * MOST_IN_A_TURN
    for client in clients:
        assert client.recv(1) == b"\x16"
        client.close()


async def test_who_waits_is_read_for_a_record_and_no_further(port: Port, held: HeldLine) -> None:
    # Given
    writer = await port.connect()
    (paced,) = port.accepted

    # When
    writer.write(bytes(LARGE_BYTES))
    waiting_bytes = await settled(lambda: len(paced._came))

    # Then
    assert waiting_bytes == RECORD_BYTES
    assert list(held.waiting.values()) == [Row.STRANGERS]
    writer.transport.abort()


async def test_what_a_client_says_in_parts_while_it_waits_is_taken_in_together(
    port: Port, held: HeldLine
) -> None:
    # Given
    said, writer = hello(), await port.connect()
    (paced,) = port.accepted
    for end in (100, 200, len(said)):
        writer.write(said[len(paced._came) : end])
        await until(lambda end=end: len(paced._came) == end)  # type: ignore[misc]
    before = (paced.is_waiting, paced.begun_ms, paced.heard_ms is not None)

    # When
    await held.go_on()

    # Then
    assert before == (True, None, True)
    assert (paced.is_waiting, paced.begun_ms) == (False, paced.heard_ms)
    assert paced._row is Row.ANSWERED
    assert len(held) == 0
    writer.transport.abort()


async def test_a_client_is_a_stranger_before_its_first_answer_and_no_more_then(
    port: Port, held: HeldLine
) -> None:
    async with asyncio.TaskGroup() as tasks:
        connecting = tasks.create_task(TlsClient.connected(port.number))
        rows = [await held.go_on(), await held.go_on()]

    assert rows == [Row.STRANGERS, Row.ANSWERED]
    await until(lambda: port.served.calls == ["made"])
    connecting.result().close()


async def test_who_dials_does_not_wait_with_clients(port: Port, held: HeldLine) -> None:
    own = Served()

    async def dial() -> PacedProtocol[Served]:
        _, paced = await asyncio.get_running_loop().create_connection(
            lambda: PacedProtocol(own, dialling().context, server_hostname="localhost"),
            BIND_HOST,
            port.number,
        )
        return await paced.shaken(10)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(dial())
        rows = [await held.go_on() for _ in range(4)]
        await until(lambda: own.calls == ["made"])

    assert rows == [Row.OWN, Row.STRANGERS, Row.OWN, Row.ANSWERED]
    assert own.transport is not None
    own.transport.abort()


async def test_what_passes_behind_a_handshake_does_not_wait_for_those_who_shake_hands(
    port: Port, held: HeldLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given: however busy the machine is
    monkeypatch.setattr(byte_costs, "LONG_SECONDS_PER_BYTE", 1.0)
    async with asyncio.TaskGroup() as tasks:
        connecting = tasks.create_task(TlsClient.connected(port.number))
        await held.go_on()
        await held.go_on()
    client, served = connecting.result(), port.served
    writer = await port.connect()
    writer.write(hello())
    await until(lambda: len(held) == 1)

    # When
    await client.send(bytes(LARGE_BYTES))
    await until(lambda: len(served.received) == LARGE_BYTES)
    assert served.transport is not None
    served.transport.write(b"answer")

    # Then
    assert await client.read_exactly(6) == b"answer"
    assert len(held) == 1
    client.close()
    writer.transport.abort()


@pytest.mark.parametrize("is_reset", [False, True])
async def test_a_client_that_leaves_while_its_first_word_waits_costs_nothing_and_leaves_nothing(
    port: Port, held: HeldLine, *, is_reset: bool
) -> None:
    # Given
    gc.collect()
    before = count_of_tls()
    writer = await port.connect()
    paced = port.accepted.pop()
    writer.write(hello())
    await until(lambda: len(held) == 1)

    # When
    if is_reset:
        reset(writer)
    writer.transport.abort()
    with pytest.raises(ConnectionResetError):
        await paced.shaken(10)

    # Then
    assert len(held) == 0
    del paced
    await until(lambda: gc.collect() >= 0 and count_of_tls() <= before)


def reset(writer: asyncio.StreamWriter) -> None:
    """Let its end be a reset."""
    own_end = writer.get_extra_info("socket")
    own_end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def test_what_the_first_word_waits_is_not_of_the_time_that_a_handshake_has(
    port: Port, held: HeldLine
) -> None:
    # Given
    async with asyncio.TaskGroup() as tasks:
        connecting = tasks.create_task(TlsClient.connected(port.number))
        await until(lambda: len(held) == 1)
        (paced,) = port.accepted
        shaken = tasks.create_task(paced.shaken(60.0))
        await asyncio.sleep(0)

        # When: as if it had waited for so long, and were looked at behind its time, before the answer and after it
        assert paced._said_ms is not None
        paced._said_ms -= 90_000
        look_again(paced, after_s=100.0)
        await held.go_on()
        look_again(paced, after_s=100.0)
        await held.go_on()

    # Then
    assert shaken.result() is paced
    connecting.result().close()


async def test_the_first_word_does_not_wait_for_ever(port: Port, held: HeldLine) -> None:
    # Given
    writer = await port.connect()
    writer.write(hello())
    await until(lambda: len(held) == 1)
    (paced,) = port.accepted
    shaken = asyncio.get_running_loop().create_task(paced.shaken(60.0))
    await asyncio.sleep(0)

    # When
    assert paced._said_ms is not None
    paced._said_ms -= 180_000
    look_again(paced, after_s=180.0)

    # Then
    with pytest.raises(ConnectionAbortedError, match=r"no TLS handshake within 60\.0 s"):
        await shaken
    assert len(held) == 0
    writer.close()


def look_again(paced: PacedProtocol[Served], *, after_s: float) -> None:
    """Have the time of a handshake looked at as if it had begun so long ago."""
    assert paced._timer is not None
    paced._timer.cancel()
    paced._look_at_time(asyncio.get_running_loop().time() - after_s, 60.0)


async def test_who_is_out_of_time_leaves_the_line(port: Port, held: HeldLine) -> None:
    # Given
    writer = await port.connect()
    writer.write(hello())
    await until(lambda: len(held) == 1)

    # When
    with pytest.raises(ConnectionAbortedError, match=r"no TLS handshake within 0\.01 s"):
        await port.accepted[0].shaken(0.01)

    # Then
    await until(lambda: len(held) == 0)
    writer.close()


async def test_who_is_cut_off_leaves_the_line_in_that_turn(port: Port, held: HeldLine) -> None:
    # Given
    writer = await port.connect()
    writer.write(hello())
    await until(lambda: len(held) == 1)

    # When
    port.accepted[0].cut_off(ConnectionAbortedError("for somebody else"))

    # Then
    assert len(held) == 0
    with pytest.raises(ConnectionAbortedError, match="for somebody else"):
        await port.accepted[0].shaken(10)
    writer.close()


async def test_a_step_behind_which_the_connection_is_closed_already_is_none(
    port: Port, held: HeldLine
) -> None:
    # Given
    writer = await port.connect()
    writer.write(hello())
    await until(lambda: len(held) == 1)
    (paced,) = port.accepted
    cancelled = asyncio.get_running_loop().create_task(paced.shaken(10))
    await asyncio.sleep(0)

    # When: the connection is lost in the next turn only
    cancelled.cancel()
    await asyncio.wait([cancelled])
    paced.take_step()

    # Then
    assert paced.begun_ms is None
    writer.close()


@pytest.mark.parametrize("says_last_word", [False, True])
async def test_what_a_client_says_with_the_last_word_of_its_handshake_and_leaves_arrives(
    port: Port, held: HeldLine, *, says_last_word: bool
) -> None:
    # Given
    async with asyncio.TaskGroup() as tasks:
        connecting = tasks.create_task(TlsClient.connected(port.number))
        await held.go_on()
    client = connecting.result()
    await client.send(b"at once")
    if says_last_word:
        await client.say_last_word()
    client.send_fin()
    await until(lambda: port.accepted[0]._has_ended)

    # When
    await held.go_on()

    # Then
    await until(lambda: "lost" in port.served.calls)
    assert port.served.calls == ["made", *(["eof"] if says_last_word else []), "lost"]
    assert port.served.received == b"at once"
    client.close()


async def test_a_client_whose_handshake_is_not_done_behind_its_end_has_left(
    port: Port, held: HeldLine
) -> None:
    # Given
    writer = await port.connect()
    writer.write(hello())
    await held.go_on()
    writer.write(b"\x17\x03\x03\x00\x50")
    writer.write_eof()
    await until(lambda: port.accepted[0]._has_ended)

    # When
    await held.go_on()

    # Then
    with pytest.raises(ConnectionResetError):
        await port.accepted[0].shaken(10)
    assert len(held) == 0
    writer.close()


async def test_a_protocol_that_raises_when_it_is_made_is_cut_off(port: Port, held: HeldLine) -> None:
    class Raising(Served):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            raise ValueError

    port.served_by = Raising
    async with asyncio.TaskGroup() as tasks:
        connecting = tasks.create_task(TlsClient.connected(port.number))
        await held.go_on()
        with pytest.raises(ValueError):  # noqa: PT011 - it has no words
            await held.go_on()

    await until(lambda: port.served.calls == ["made", "lost"])
    connecting.result().close()
