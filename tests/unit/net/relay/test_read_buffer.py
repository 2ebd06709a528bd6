"""How much is read of a socket at once."""

import asyncio

import pytest

from kproxy.net.relay.listeners import SecuredPorts
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.read_buffer import (
    MOST_BYTES_A_TURN,
    MOST_READS_A_TURN,
    READ_BYTES,
    SPARING_READ_BYTES,
    ReadBuffer,
)
from kproxy.net.relay.relay import Relay
from kproxy.net.relay.secured_connection import SecuredConnection
from kproxy.net.relay.sparing_protocol import SparingProtocol
from kproxy.security.principal import ANONYMOUS
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.relaying import (
    BIND_HOST,
    RelayUnderTest,
    SecuredRelayUnderTest,
    request,
    settled,
    unreading_broker,
)
from tests.unit.net.tls_contexts import dialling, listening

LIMIT_BYTES = 100_000
MIB = 1 << 20


class Noting(SparingProtocol):
    def __init__(self, reads: ReadBuffer) -> None:
        super().__init__(reads)
        self.came: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self.came.append(data)


def relay_before(broker_port: int, *, is_secured: bool) -> RelayUnderTest:
    """Return a relay with a budget of 1 MiB."""
    if not is_secured:
        return RelayUnderTest(broker_port, budget_bytes=MIB)

    def connection(relay: Relay, node_id: int) -> SecuredConnection:
        return SecuredConnection(relay, node_id, lambda _: ANONYMOUS)

    return SecuredRelayUnderTest(broker_port, SecuredPorts(listening(), connection), budget_bytes=MIB)


async def test_there_is_little_room_where_the_budget_is_used_up_and_all_of_it_when_that_is_over() -> None:
    # Given
    budget = BufferBudget(LIMIT_BYTES)
    reads = ReadBuffer(budget)

    # When
    rooms = [len(reads.room())]
    budget.note_waiting("slow peer", LIMIT_BYTES + 1)
    rooms.append(len(reads.room()))
    budget.note_waiting("slow peer", 0)
    rooms.append(len(reads.room()))

    # Then
    assert rooms == [READ_BYTES, SPARING_READ_BYTES, READ_BYTES]


async def test_what_is_read_in_one_turn_of_the_loop_counts_until_the_next() -> None:
    # Given
    budget = BufferBudget(LIMIT_BYTES)
    reads = ReadBuffer(budget)

    # When
    rooms = []
    for _ in range(3):
        reads.taken(60_000)
        rooms.append(len(reads.room()))
    of_this_turn = budget.held_bytes
    await asyncio.sleep(0)

    # Then
    assert rooms == [READ_BYTES, SPARING_READ_BYTES, SPARING_READ_BYTES]
    assert (of_this_turn, budget.held_bytes) == (180_000, 0)


async def test_who_has_the_place_beyond_the_limit_is_read_whole_and_nobody_else() -> None:
    # Given
    budget = BufferBudget(LIMIT_BYTES)
    reads, nobody = ReadBuffer(budget), ReadBuffer(BufferBudget(0))
    budget.note_waiting("slow peer", LIMIT_BYTES + 1)
    nobody.budget.note_waiting("slow peer", 1)

    # When
    budget.hold("first", MIB, READ_BYTES, lambda: None)
    budget.hold("second", MIB, READ_BYTES, lambda: None)

    # Then
    assert [len(reads.room(holder)) for holder in ("first", "second", None)] == [
        READ_BYTES,
        SPARING_READ_BYTES,
        SPARING_READ_BYTES,
    ]
    assert len(nobody.room()) == SPARING_READ_BYTES


class Resting(Noting):
    """Notes whether it rests."""

    def _adjust_reading(self) -> None:
        self.came.append(b"rests" if self._is_resting else b"reads")


async def test_behind_very_many_reads_in_a_turn_each_socket_that_is_read_rests_until_the_next() -> None:
    # Given
    reads = ReadBuffer(BufferBudget(MIB))
    early, late = Resting(reads), Resting(reads)

    # When
    for protocol in [*[early] * MOST_READS_A_TURN, late, late]:
        protocol.get_buffer(-1)
        protocol.buffer_updated(1)
    in_turn = early.came[-1], late.came[1:]
    await asyncio.sleep(0)
    late.get_buffer(-1)
    late.buffer_updated(1)

    # Then
    assert in_turn == (b"\0", [b"rests", b"\0"])
    assert late.came[-2:] == [b"reads", b"\0"]


class Insatiable(SparingProtocol):
    """Its peer sends more than is ever read. Counts what is read in a turn."""

    def __init__(self, reads: ReadBuffer) -> None:
        super().__init__(reads)
        self.turn_bytes = 0

    def data_received(self, data: bytes) -> None:
        self.turn_bytes += len(data)

    def _adjust_reading(self) -> None: ...

    def be_read_in_turn(self) -> int:
        """As the loop does: again and again until it rests."""
        self.turn_bytes = 0
        while not self._is_resting:
            self.buffer_updated(len(self.get_buffer(-1)))
        return self.turn_bytes


class InsatiableBroker(Insatiable):
    full_reads = 4


async def test_behind_very_many_bytes_in_a_turn_each_further_socket_is_read_once_and_little() -> None:
    # Given
    reads = ReadBuffer(BufferBudget(1024 * MIB))
    protocols = [InsatiableBroker(reads) for _ in range(400)]

    # When
    came = [protocol.be_read_in_turn() for protocol in protocols]

    # Then
    assert came[:16] == [4 * READ_BYTES] * 16
    assert came[17:] == [SPARING_READ_BYTES] * 383
    assert sum(came) <= MOST_BYTES_A_TURN + 4 * READ_BYTES + 383 * SPARING_READ_BYTES


@pytest.mark.parametrize("protocol_type", [Insatiable, InsatiableBroker])
async def test_sockets_that_bring_more_than_a_turn_has_are_soon_read_equally(
    protocol_type: type[Insatiable],
) -> None:
    # Given
    reads = ReadBuffer(BufferBudget(1024 * MIB))
    protocols = [protocol_type(reads) for _ in range(300)]

    # When
    came: list[int] = []
    for _ in range(30):
        came = [protocol.be_read_in_turn() for protocol in protocols]
        await asyncio.sleep(0)

    # Then
    assert set(came) == {MOST_BYTES_A_TURN // 300}


async def test_there_is_all_room_again_behind_a_turn_in_which_little_came() -> None:
    # Given
    reads = ReadBuffer(BufferBudget(1024 * MIB))
    for _ in range(30):
        for protocol in [Insatiable(reads) for _ in range(300)]:
            protocol.be_read_in_turn()
        await asyncio.sleep(0)

    # When
    protocol = Insatiable(reads)
    came = []
    for _ in range(2):
        came.append(protocol.be_read_in_turn())
        await asyncio.sleep(0)

    # Then
    assert came == [MOST_BYTES_A_TURN // 300, READ_BYTES]


async def test_sockets_that_bring_no_more_than_a_turn_has_are_read_whole_in_every_turn() -> None:
    # Given
    reads = ReadBuffer(BufferBudget(1024 * MIB))
    protocols = [Insatiable(reads) for _ in range(MOST_BYTES_A_TURN // READ_BYTES)]

    # When
    came = set()
    for _ in range(30):
        came |= {protocol.be_read_in_turn() for protocol in protocols}
        await asyncio.sleep(0)

    # Then
    assert came == {READ_BYTES}


async def test_what_many_send_with_tls_is_little_behind_very_many_bytes_in_a_turn() -> None:
    # Given
    reads = ReadBuffer(BufferBudget(1024 * MIB))
    decrypted = [Insatiable(reads) for _ in range(100)]

    # When
    came = []
    for protocol in decrypted:
        came.append(protocol.room_bytes())
        protocol.take_read(bytes(came[-1]))

    # Then
    assert set(came[:65]) == {READ_BYTES}
    assert set(came[66:]) == {SPARING_READ_BYTES}


async def test_who_has_the_place_beyond_the_limit_is_read_whole_however_much_came_in_the_turn() -> None:
    # Given
    budget = BufferBudget(LIMIT_BYTES)
    reads = ReadBuffer(budget)
    budget.note_waiting("slow peer", LIMIT_BYTES + 1)
    budget.hold("first", MIB, READ_BYTES, lambda: None)

    # When
    reads.note(2 * MOST_BYTES_A_TURN)

    # Then
    assert (len(reads.room("first")), len(reads.room("second"))) == (READ_BYTES, SPARING_READ_BYTES)


async def test_what_was_taken_stays_when_another_is_read() -> None:
    # Given
    reads = ReadBuffer(BufferBudget(LIMIT_BYTES))
    reads.room()[:5] = b"first"
    first = reads.taken(5)

    # When
    reads.room()[:6] = b"second"

    # Then
    assert (first, reads.taken(6)) == (b"first", b"second")


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
@pytest.mark.parametrize("is_secured", [False, True])
async def test_many_who_send_to_brokers_that_take_nothing_hold_little_more_than_the_budget(
    *, is_secured: bool
) -> None:
    async with unreading_broker() as port, relay_before(port, is_secured=is_secured) as under_test:
        # Given
        tls, name = (dialling().context, "localhost") if is_secured else (None, None)
        own_port = under_test.listeners.bound_ports[-1]
        clients = [
            await asyncio.open_connection(BIND_HOST, own_port, ssl=tls, server_hostname=name)
            for _ in range(40)
        ]
        await under_test.until_twins(len(clients))

        # When
        for _, writer in clients:
            writer.write(request(1, bytes(1_000_000)))
        held = await settled(under_test.relay.buffered_bytes)

        # Then
        for _, writer in clients:
            writer.transport.abort()
        assert MIB < held < 4 * MIB
