"""What other processes say: the preamble on the internal port, what stands behind it, and the fleet's data."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from kproxy.errors import PeerRefused, UnreadableFleetData
from kproxy.fleet.data_format import encode_data
from kproxy.fleet.fleet_map import decode_map
from kproxy.fleet.member_metadata import decode_member
from kproxy.fleet.peer_handshake import Credentials, DiallerHandshake, ListenerHandshake
from kproxy.fleet.peer_hello import NONCE_BYTES, Hello, Purpose
from kproxy.fleet.peer_preamble import Kind, frame_of, refusal_frame
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.peer_twin import PeerTraffic, PeerTwin
from kproxy.net.peers.reception import Reception
from kproxy.net.peers.whole_answer import WholeAnswer
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.read_buffer import ReadBuffer
from kproxy.wire.messages.fleet_map_message import FleetMapMessage
from kproxy.wire.messages.fleet_member_metadata import FleetMemberMetadata
from tests.fuzz.execution import Seed, Target
from tests.fuzz.filled_messages import filled
from tests.fuzz.parts import in_chunks
from tests.fuzz.sockets import lasting_loop, said_to
from tests.unit.net.peering import IDENTITY, IDENTITY_B, SECRET, OwnerUnderTest, heartbeat_of
from tests.worlds.conversing import opaque_response

NONCE: Final = bytes(range(NONCE_BYTES))
CHUNK_SIZES: Final = (0, 1, 5, 33)
MOST_ANSWERED_BYTES: Final = 4 * 8 * 1024

_HAS_SECRET, _DIALS = 4, 8


def _credentials(how: int) -> Credentials:
    identity = IDENTITY if how & _DIALS else IDENTITY_B
    return Credentials(identity, NONCE, SECRET if how & _HAS_SECRET else None)


def _handshake(how: int) -> ListenerHandshake | DiallerHandshake:
    own = _credentials(how)
    if how & _DIALS:
        return DiallerHandshake(own, Hello(Purpose.REQUESTS, own.identity, own.nonce))
    return ListenerHandshake(own)


def shake_hands(data: bytes) -> None:
    """A byte of which end, with a secret or without, in which chunks; and what the other end says."""
    if not data:
        return
    handshake, answered = _handshake(data[0]), b""
    with suppress(PeerRefused):
        for chunk in in_chunks(data[1:], CHUNK_SIZES[data[0] % 4]):
            answered += handshake.receive(chunk)
    assert len(answered) <= MOST_ANSWERED_BYTES


_OWNERS: Final[dict[bool, OwnerUnderTest]] = {}


def knock(data: bytes) -> None:
    """A byte that says whether there is a secret, and what comes on a connection to the internal port."""
    if data:
        lasting_loop().run(_knock(has_secret=bool(data[0] & _HAS_SECRET), sent=data[1:]))


async def _knock(*, has_secret: bool, sent: bytes) -> None:
    owner = _OWNERS.get(has_secret)
    if owner is None:
        owner = _OWNERS[has_secret] = OwnerUnderTest(secret=SECRET if has_secret else None)
        owner.apis.may_answer.set()
    await said_to(lambda: Reception(owner.listener), sent)
    owner.apis.requests.clear()
    owner.apis.contexts.clear()
    owner.apis.forsaken.clear()
    owner.apis.closed.clear()
    assert not owner.listener._unproved


class DeafTransport(asyncio.Transport):
    """Takes all that is written, and counts it."""

    def __init__(self) -> None:
        super().__init__()
        self.written_bytes = 0
        self._is_closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written_bytes += len(data)

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing waits here."""

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        self._is_closing = True


_READS: Final = ReadBuffer(BufferBudget(1 << 20))
"""As in a relay there is one for all, whatever is executed: it is no memory that an input takes."""


def answer_as_a_peer(data: bytes) -> None:
    """A byte of chunks, and what a peer answers to a heartbeat and a fetch."""
    if data:
        lasting_loop().run(_answer_as_a_peer(CHUNK_SIZES[data[0] % 4], data[1:]))


async def _answer_as_a_peer(chunk_bytes: int, sent: bytes) -> None:
    budget = _READS.budget
    twin = PeerTwin("b", PeerLimits(), PeerTraffic(), _READS)
    twin.connection_made(DeafTransport())
    answers = [WholeAnswer(1024, budget) for _ in range(2)]
    for number, answer in enumerate(answers):
        twin.ask([heartbeat_of("g", number)], answer, correlation_id=number)
    twin.say_more()
    for chunk in in_chunks(sent, chunk_bytes):
        twin.data_received(chunk)
    twin.connection_lost(None)
    for answer in answers:
        with suppress(PeerFailure), answer:
            assert len(await answer.frame()) <= len(sent)
    assert budget.held_bytes == 0


def read_fleet_data(data: bytes) -> None:
    """What members say of themselves, and the map that their leader made."""
    with suppress(UnreadableFleetData):
        decode_member(data)
    with suppress(UnreadableFleetData):
        found = decode_map(data)
        for slot in range(found.slot_count):
            found.owner_of(slot)
            found.next_owner_of(slot)
        for member in found.members:
            found.leaving(member.member_id)


def _both_sides(how: int, purpose: Purpose) -> tuple[bytes, bytes]:
    """Return what who dials and who listens say, until the welcome."""
    dials = DiallerHandshake(_credentials(how), Hello(purpose, IDENTITY, NONCE))
    listens = ListenerHandshake(_credentials(how & _HAS_SECRET))
    asked, answered, from_listener = dials.begin(), b"", b""
    said = asked
    while not dials.is_welcome:
        from_listener = listens.receive(asked)
        answered += from_listener
        asked = dials.receive(from_listener)
        said += asked
    return said, answered


def _preambles() -> Iterator[Seed]:
    for secret in (0, _HAS_SECRET):
        said, answered = _both_sides(_DIALS | secret, Purpose.REQUESTS)
        hello_again = frame_of(Kind.HELLO, Hello(Purpose.REACH, IDENTITY, NONCE).message())
        yield Seed(f"a hello too many, {secret}", bytes([secret]) + said + hello_again)
        for cuts in range(4):
            yield Seed(f"who dials, {secret + cuts}", bytes([secret + cuts]) + said)
            yield Seed(f"who listens, {secret + cuts}", bytes([_DIALS + secret + cuts]) + answered)
    refusal = refusal_frame(PeerRefused("cluster", "its cluster is another"))
    yield Seed("a refusal", bytes([_DIALS]) + refusal)


def _visits() -> Iterator[Seed]:
    for purpose in Purpose:
        said, _ = _both_sides(_DIALS, purpose)
        yield Seed(f"{purpose.name}", bytes([0]) + said + heartbeat_of("g", 7))
        yield Seed(
            f"{purpose.name}, a view", bytes([0]) + said + b"GET /api/v1/groups HTTP/1.1\r\nHost: b\r\n\r\n"
        )
    said, _ = _both_sides(_DIALS | _HAS_SECRET, Purpose.REQUESTS)
    yield Seed("with a secret", bytes([_HAS_SECRET]) + said)


def _peer_answers() -> Iterator[Seed]:
    for chunks in range(4):
        yield Seed(f"both, {chunks}", bytes([chunks]) + opaque_response(0) + opaque_response(1))


def _fleet_data() -> Iterator[Seed]:
    for message_class in (FleetMapMessage, FleetMemberMetadata):
        for count in (0, 1, 2):
            yield Seed(
                f"{message_class.__name__} {count}",
                encode_data(filled(message_class, 0, element_count=count)),
            )


TARGETS: Final = (
    Target("preamble", shake_hands, _preambles, executions=6_000),
    Target("internal-port", knock, _visits, executions=700, allowance_bytes=512 * 1024),
    Target("peer-answers", answer_as_a_peer, _peer_answers, executions=3_000),
    Target("fleet-data", read_fleet_data, _fleet_data, executions=3_000),
)
