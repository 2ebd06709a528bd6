"""Whole conversations on a `ClientSession`, written down as they happen.

    play(
        CLIENT >> request,   # these bytes arrived from the client
        BROKER << request,   # and these left for the broker
        BROKER >> response,
        CLIENT << response,
    )

Whatever leaves has to stand in the transcript, in its place and byte for byte, and nothing else may leave.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kproxy.errors import PeerViolation
from kproxy.interception.broker_addresses import AdvertisedAddress
from kproxy.interception.calls import AnyCall, PeerCall
from kproxy.interception.response_slots import Buffers, ResponseSlot, SlotKind
from tests.worlds.conversing import Conversation, joined

WHOLE: Final = 1 << 30
"""A chunk size: everything that arrives arrives at once."""

CHUNK_SIZES: Final = [1, 7, WHOLE]


@dataclass(frozen=True, slots=True)
class Arrives:
    """Bytes came from a peer."""

    peer: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Leaves:
    """Bytes went to a peer."""

    peer: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Peer:
    """One end of the conversation."""

    name: str

    def __rshift__(self, data: bytes) -> Arrives:
        return Arrives(self.name, data)

    def __lshift__(self, data: bytes) -> Leaves:
        return Leaves(self.name, data)


CLIENT: Final = Peer("client")
BROKER: Final = Peer("broker")


@dataclass(frozen=True, slots=True)
class Refuses:
    """What arrived last was a violation, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Anything:
    """Whatever went to a peer, or nothing: of a frame that turned out to be none, part may have streamed on."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class Answers:
    """kproxy answers the request that it has to answer itself."""

    data: bytes


@dataclass(frozen=True, slots=True)
class PassesOn:
    """kproxy sends this to the broker for the request that it has to answer, and brackets what comes back."""

    data: bytes


@dataclass(frozen=True, slots=True)
class AnswersNothingYet:
    """No request waits for an answer of kproxy's own at this point."""


@dataclass(frozen=True, slots=True)
class Binds:
    """The port of a broker is bound, and clients may be told of it."""

    node_id: int
    address: AdvertisedAddress


@dataclass(frozen=True, slots=True)
class KeepsAlive:
    """The broker's side was silent for long."""


@dataclass(frozen=True, slots=True)
class Asks:
    """kproxy has a question of its own for the broker; what comes back is collected in `heard`, where that is given."""

    data: bytes
    correlation_id: int
    heard: list[bytes] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MayNotAsk:
    """kproxy has a question of its own, and this is no moment to ask it."""


@dataclass(frozen=True, slots=True)
class Serves:
    """From now on kproxy serves these versions of the share APIs."""

    ranges: Mapping[int, tuple[int, int]]


Step: TypeAlias = (
    Arrives
    | Leaves
    | Anything
    | Refuses
    | Answers
    | PassesOn
    | AnswersNothingYet
    | Binds
    | KeepsAlive
    | Asks
    | MayNotAsk
    | Serves
)


def play(*steps: Step, conversation: Conversation | None = None, chunk_bytes: int = WHOLE) -> Conversation:
    """Play a transcript, `chunk_bytes` at a time, and fail where what happens is something else."""
    stage = _Stage(conversation or Conversation(), chunk_bytes)
    for step in steps:
        stage.perform(step)
    stage.expect_silence("at the end")
    return stage.conversation


def own_slot(correlation_id: int, heard: list[bytes]) -> ResponseSlot:
    """Return the place of an answer that is for kproxy alone, which puts it into `heard`."""

    def hear(frame: memoryview) -> Buffers:
        heard.append(bytes(frame))
        return []

    slot = ResponseSlot(SlotKind.SWALLOW, 3, 8, correlation_id)
    slot.rewrite = hear
    return slot


class _Stage:
    def __init__(self, conversation: Conversation, chunk_bytes: int) -> None:
        self.conversation = conversation
        self._session = conversation.session
        self._chunk_bytes = chunk_bytes
        self._left = {"client": b"", "broker": b""}
        self._violation: PeerViolation | None = None
        self._call: AnyCall | None = None

    def perform(self, step: Step) -> None:
        match step:
            case Leaves(peer, data):
                self._expect(peer, data)
            case Anything(peer):
                self._left[peer.name] = b""
            case Refuses(reason):
                assert self._violation is not None, f"expected a refusal: {reason}"
                assert self._violation.reason == reason, self._violation
                self._violation = None
            case _:
                self.expect_silence(f"before {step}")
                self._attempt(step)
                self._collect()

    def expect_silence(self, when: str) -> None:
        assert self._violation is None, f"{self._violation}, {when}"
        assert self._left == {"client": b"", "broker": b""}, f"more left than was written down, {when}"

    def _attempt(self, step: Step) -> None:
        try:
            self._act(step)
        except PeerViolation as violation:
            self._violation = violation

    def _act(self, step: Step) -> None:
        match step:
            case Arrives(peer, data):
                self._receive(peer, data)
            case Answers(data):
                self._session.answer(self._take_call().slot, [data])
                self._call = None
            case PassesOn(data):
                self._session.pass_on(self._take_call().slot, [data], lambda frame: [b"[", frame, b"]"])
                self._call = None
            case AnswersNothingYet():
                assert self._call is None, "a request waits to be answered"
            case Binds(node_id, address):
                assert node_id in {broker.node_id for broker in self._session.take_new_brokers()}
                self.conversation.addresses.advertise(node_id, address)
                self._session.brokers_are_bound()
            case KeepsAlive() | Asks() | MayNotAsk():
                self._ask(step)
            case Serves(ranges):
                self.conversation.routes.serve(ranges)
            case _:
                raise AssertionError(step)

    def _ask(self, step: KeepsAlive | Asks | MayNotAsk) -> None:
        match step:
            case KeepsAlive():
                assert self._session.inject_keepalive(), "no keepalive was sent"
            case Asks(data, correlation_id, heard):
                assert self._session.ask_broker(own_slot(correlation_id, heard), [data]), "nothing was asked"
            case MayNotAsk():
                assert not self._session.ask_broker(own_slot(0, []), [b"?"]), "something was asked"

    def _receive(self, peer: str, data: bytes) -> None:
        receive = self._session.receive_from_client if peer == "client" else self._session.receive_from_broker
        for start in range(0, len(data), self._chunk_bytes):
            receive(data[start : start + self._chunk_bytes])
            self._collect()
        while self._session.is_paused or self._session.responses.awaits_turn:
            self._session.go_on()
            self._collect()

    def _collect(self) -> None:
        self._left["broker"] += joined(self._session.take_for_broker())
        self._left["client"] += joined(self._session.take_for_client())
        self._call = self._call or self._session.take_call()

    def _expect(self, peer: str, data: bytes) -> None:
        left = self._left[peer]
        assert left[: len(data)] == data, f"for the {peer}"
        self._left[peer] = left[len(data) :]

    def _take_call(self) -> AnyCall:
        assert self._call is not None, "no request waits to be answered"
        assert not isinstance(self._call, PeerCall)
        return self._call
