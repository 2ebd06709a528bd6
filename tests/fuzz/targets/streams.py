"""The frame splitters: what clients and brokers send on a client connection, and brokers on kproxy's own."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.interception.broker_addresses import AdvertisedAddress
from kproxy.interception.calls import PeerCall, UndecodedCall
from kproxy.net.cluster.read_buffers import ReadBuffers
from kproxy.net.cluster.response_frames import ResponseFrames
from kproxy.wire import codecs
from kproxy.wire.messages.by_api_key import RESPONSE_CLASSES
from tests.fuzz.execution import Seed, Target
from tests.fuzz.filled_messages import filled
from tests.fuzz.parts import in_chunks, of_parts, parts_of
from tests.fuzz.targets.codecs import request_seeds
from tests.worlds.conversing import Conversation, opaque_request, opaque_response

CLIENT, BROKER, ANSWER, KEEPALIVE = range(4)
CHUNK_SIZES: Final = (0, 1, 7, 64)
SERVED: Final = {76: (1, 1), 77: (1, 1), 78: (1, 2), 79: (1, 2), 90: (0, 1), 91: (0, 0), 92: (0, 0)}
LONGEST_FRAME_BYTES: Final = 64 * 1024


class _Connection:
    """A client connection, of which one end after the other sends something."""

    def __init__(self, *, has_owners: bool) -> None:
        self._conversation = Conversation(
            served=SERVED, max_request_bytes=LONGEST_FRAME_BYTES, share_group_ids=("workers", "text")
        )
        if has_owners:
            self._conversation.routes.is_elsewhere = "workers".__eq__
        self._session = self._conversation.session
        self.received_bytes = self.sent_count = 0

    def send(self, sender: int, data: bytes) -> None:
        """Let `sender` do what it does with `data`. Raises PeerViolation."""
        self.received_bytes += len(data)
        self.sent_count += 1
        if sender == CLIENT:
            self._conversation.client_sends(data)
        elif sender == BROKER:
            self._conversation.broker_sends(data)
            self._bind_brokers()
        elif sender == ANSWER:
            self._answer()
        else:
            self._session.inject_keepalive()
            self._session.take_for_broker()

    def require_bounded(self) -> None:
        """No more may be kept than came, but for a keepalive."""
        assert self._session.buffered_bytes <= self.received_bytes
        assert self._session.owed_responses <= self.received_bytes + self.sent_count
        held_frame_bytes = sum(len(each.came) + each.missing_bytes for each in self._session.held_frames)
        assert held_frame_bytes <= 2 * (LONGEST_FRAME_BYTES + 4) + (1 << 20)

    def _bind_brokers(self) -> None:
        while brokers := self._session.take_new_brokers():
            for broker in brokers:
                self._conversation.addresses.advertise(broker.node_id, AdvertisedAddress("kproxy", 19_102))
            self._session.brokers_are_bound()
        self._session.take_for_client()

    def _answer(self) -> None:
        call = self._session.take_call()
        if call is None:
            return
        if isinstance(call, PeerCall | UndecodedCall):
            call.decoded()
        self._session.answer(call.slot, [opaque_response(1)])
        while self._session.is_paused:
            self._session.go_on()


def converse(data: bytes) -> None:
    """A byte of how, and parts of who sends what."""
    if not data:
        return
    connection, chunk_bytes = _Connection(has_owners=bool(data[0] & 4)), CHUNK_SIZES[data[0] % 4]
    with suppress(PeerViolation):
        for number, part in parts_of(data[1:]):
            for chunk in in_chunks(part, chunk_bytes) or [b""]:
                connection.send(number % 4, chunk)
                connection.require_bounded()


def assemble_responses(data: bytes) -> None:
    """A byte of how much each read brings, one of API key, one of version, and what a broker sends to kproxy."""
    if len(data) < 3:
        return
    frames = ResponseFrames(LONGEST_FRAME_BYTES, ReadBuffers(call_later=lambda _s, _look: None))
    api_key, version, sent, count = data[1], data[2] % 20, data[3:], 0
    try:
        while sent:
            buffer = frames.buffer()
            size = min(data[0] % 64 + 1, len(buffer), len(sent))
            buffer[:size] = sent[:size]
            sent = sent[size:]
            for frame in frames.filled(size):
                count += 1
                _read(api_key, version, frame)
    except PeerViolation:
        return
    assert count <= len(data) // 8 + 1


def _read(api_key: int, version: int, frame: memoryview) -> None:
    try:
        codecs.decode_response(api_key, version, frame)
    except MalformedMessage:
        return


def _conversations() -> Iterator[Seed]:
    for how in range(8):
        yield Seed(
            f"a heartbeat passes, {how}",
            bytes([how]) + of_parts([(CLIENT, opaque_request(1)), (BROKER, opaque_response(1))]),
        )
    for number, seed in enumerate(request_seeds()):
        framed = len(seed.data).to_bytes(4) + seed.data
        api_key, version = int.from_bytes(seed.data[:2]), int.from_bytes(seed.data[2:4])
        answer = b"".join(
            codecs.encode_response(api_key, version, 7, filled(RESPONSE_CLASSES[api_key], version))
        )
        parts = [(CLIENT, framed + opaque_request(8)), (BROKER, answer + opaque_response(8)), (ANSWER, b"")]
        yield Seed(seed.name, bytes([number % 4 or 4]) + of_parts(parts))


def _answers() -> Iterator[Seed]:
    for api_key, message_class in RESPONSE_CLASSES.items():
        version = message_class.SCHEMA.valid_versions.last
        frame = b"".join(codecs.encode_response(api_key, version, 7, filled(message_class, version)))
        yield Seed(message_class.__name__, bytes([30, api_key, version]) + frame * 2)


TARGETS: Final = (
    Target("conversations", converse, _conversations, executions=6_000, allowance_bytes=192 * 1024),
    Target("broker-frames", assemble_responses, _answers, executions=3_000, allowance_bytes=256 * 1024),
)
