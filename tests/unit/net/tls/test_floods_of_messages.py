"""What comes behind a handshake and makes TLS work rather than say something waits for its turn, too."""

import asyncio
import socket
import ssl
from collections import Counter
from pathlib import Path

import pytest

from kproxy.net.tls import byte_costs, paced_protocol
from kproxy.net.tls.paced_transport import RECORD_BYTES
from kproxy.net.tls.step_line import MOST_IN_A_TURN, step_line_of_this_loop
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.forged_records import ForgedRecords
from tests.unit.net.relaying import settled
from tests.unit.net.tls_client import TlsClient
from tests.unit.net.tls_contexts import dialling
from tests.unit.net.tls_handshakes import Port, SlowlyServed
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

LARGE_BYTES = 1 << 20


@pytest.mark.parametrize("are_answered", [False, True])
async def test_a_flood_of_key_updates_is_decrypted_in_many_turns(
    port: Port, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, are_answered: bool
) -> None:
    # Given: however fast the machine is
    monkeypatch.setattr(byte_costs, "LONG_SECONDS_PER_BYTE", 0.0)
    client, forged = await forging(port, tmp_path)
    turn, fed_in = 0, Counter[int]()
    (paced,) = port.accepted

    class Counted:
        """What is decrypted next, counted."""

        def __init__(self, incoming: ssl.MemoryBIO) -> None:
            self._incoming = incoming

        def write(self, data: memoryview) -> int:
            fed_in[turn] += len(data)
            return self._incoming.write(data)

        @property
        def pending(self) -> int:
            return self._incoming.pending

    async def count_turns() -> None:
        nonlocal turn
        while True:  # until it is cancelled
            await asyncio.sleep(0)
            turn += 1

    paced._incoming = Counted(paced._incoming)  # type: ignore[assignment]
    flood = forged.key_updates(5_000, are_answered=are_answered)
    transport = port.served.transport
    assert transport is not None
    transport.pause_reading()
    await client.send_raw(flood + forged.data(b"behind"))

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        transport.resume_reading()
        await until(lambda: port.served.received == b"behind")
        counting.cancel()

    # Then: one that was not looked at, and two turns of pieces
    assert fed_in.total() >= len(flood)
    assert max(fed_in.values()) <= RECORD_BYTES + (2 * MOST_IN_A_TURN + 1) * byte_costs.LOOK_BYTES
    client.close()


async def test_who_costs_much_beside_too_many_others_who_do_is_ended(
    port: Port, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(paced_protocol, "MOST_COSTLY", 0)
    monkeypatch.setattr(byte_costs, "LONG_SECONDS_PER_BYTE", 0.0)
    client, forged = await forging(port, tmp_path)

    # When
    await client.send_raw(forged.key_updates(2_000, are_answered=False))

    # Then
    await until(lambda: port.served.calls == ["made", "lost"])
    assert isinstance(port.served.error, ConnectionAbortedError)
    assert len(step_line_of_this_loop()) == 0
    client.close()


async def test_what_is_large_and_thought_to_cost_much_arrives_all_the_same(
    port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(byte_costs, "LONG_SECONDS_PER_BYTE", 0.0)
    client = await TlsClient.connected(port.number)
    message = bytes(range(256)) * (LARGE_BYTES // 256)
    await until(lambda: port.served.calls == ["made"])
    transport = port.served.transport
    assert transport is not None

    # When: whom it is for pauses, and goes on, as it likes
    async with asyncio.TaskGroup() as tasks:
        sending = tasks.create_task(client.send(message))
        while not sending.done():
            transport.pause_reading()
            await asyncio.sleep(0.001)
            transport.resume_reading()
            await asyncio.sleep(0)
            assert len(port.accepted[0]._came) <= paced_protocol._READ_BYTES

    # Then
    await until(lambda: len(port.served.received) == len(message))
    assert port.served.received == message
    client.close()


async def test_answers_to_key_updates_that_nobody_reads_do_not_pile_up(port: Port, tmp_path: Path) -> None:
    # Given
    port.served_by = SlowlyServed
    client, forged = await forging(port, tmp_path, receives_bytes=4096)
    transport = port.served.transport
    assert transport is not None
    own_end = transport.get_extra_info("socket")
    own_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    transport._tcp.set_write_buffer_limits(high=4096)

    # When
    await client.send_raw(forged.key_updates(6_000, are_answered=True) + forged.data(b"behind"))
    unread_bytes = await settled(transport.get_write_buffer_size)

    # Then
    assert unread_bytes < 16 * 1024
    assert transport._outgoing.pending < 16 * 1024
    assert not port.served.received
    client.drop_what_comes()
    await until(lambda: port.served.received == b"behind")
    client.close()


async def forging(
    port: Port, directory: Path, *, receives_bytes: int | None = None
) -> tuple[TlsClient, ForgedRecords]:
    """Return a client whose handshake is done, and what makes its records from now on."""
    tls, key_log = dialling(), directory / "keys"
    tls.context.keylog_filename = str(key_log)
    client = await TlsClient.connected(port.number, tls, receives_bytes=receives_bytes)
    await until(lambda: port.served.calls == ["made"])
    return client, ForgedRecords.of(key_log)
