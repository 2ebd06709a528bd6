"""Requests that are answered here, or by another kproxy process that serves their group."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.interception.request_backlog import cut_free
from kproxy.interception.request_decisions import AnsweredAtOnce, RequestDecision, Served, decode_held
from kproxy.interception.request_stream import is_large
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.wire import codecs, group_ids
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.frames import RequestHead

DECODED_TIMES: Final = 38
"""How many times its own bytes a request takes at most once it is decoded: measured with topics of six bytes each, one
tagged field that no schema knows among them."""

MOST_OF_ELEMENTS_BYTES: Final = 10 * 1024 * 1024
"""What the elements of a request take at most, but for what is in them: there are 50,000 (`wire.decode_emitter`)."""

CONTENT_TIMES: Final = 4
"""How many times its own bytes what is in them takes at most: PEP 393 gives a string with one character beyond U+FFFF
four bytes for each. Several numbers take what they take in the request (`wire.codec_runtime`)."""

MOST_DECODED_EARLY_BYTES: Final = 64 * 1024
"""What a request may take once it is decoded while it waits for a peer: a broker may owe the answer before it for long,
and clients send as many as they like."""


def decoded_bytes(frame_bytes: int) -> int:
    """Return what a request of so many bytes takes at most once it is decoded."""
    return min(DECODED_TIMES * frame_bytes, MOST_OF_ELEMENTS_BYTES + CONTENT_TIMES * frame_bytes)


@dataclass(frozen=True, slots=True)
class Call:
    """A request that kproxy has to answer: SERVE and GUARD whole, EXAMINE perhaps together with the broker."""

    slot: ResponseSlot
    request: DecodedRequest
    disposition: Disposition
    is_large: bool = False
    """Whether it takes a turn of the loop to decode, and another one to look through."""
    frame_bytes: int = 0
    answer: Message | None = None
    """What it is answered if its sender may ask for that; None where that has yet to be found out."""
    told: Callable[[], Message] | None = None
    """Decodes what the broker has answered its half, and may raise MalformedMessage; None where none was asked."""
    told_bytes: int = 0
    """The size of that."""

    @property
    def memory_bytes(self) -> int:
        """What it takes at most while it is being answered."""
        return _memory_bytes(self.frame_bytes, has_answer=self.answer is not None) + self.told_bytes

    @property
    def waiting_bytes(self) -> int:
        """What it takes while it waits for that."""
        return self.memory_bytes


@dataclass(frozen=True, slots=True)
class UndecodedCall:
    """A request that kproxy has to answer, and that is decoded only when its turn on its connection has come.

    `frame` is all of it, without its length; `decide` finds out again what becomes of it. `disposition` and
    `has_answer` are what it was found to be when it came.
    """

    slot: ResponseSlot
    head: RequestHead
    frame: memoryview
    decide: Callable[[memoryview], RequestDecision]
    disposition: Disposition
    has_answer: bool = False

    @property
    def is_large(self) -> bool:
        """Whether it takes a turn of the loop to decode."""
        return is_large(self.frame)

    @property
    def memory_bytes(self) -> int:
        """What it takes at most while it is being answered."""
        return _memory_bytes(len(self.frame), has_answer=self.has_answer)

    @property
    def waiting_bytes(self) -> int:
        """What it takes while it waits for that."""
        return len(self.frame)

    def decoded(self) -> Call:
        """Return the same to be answered now. Raises PeerViolation when it is malformed."""
        match self.decide(self.frame):
            case Served(request, disposition, answer):
                pass
            case AnsweredAtOnce(answer):
                request, disposition = decode_held(self.head, self.frame), self.disposition
            case _:  # what is served has changed since it came
                request, disposition, answer = decode_held(self.head, self.frame), self.disposition, None
        return Call(self.slot, request, disposition, self.is_large, len(self.frame), answer)


@dataclass(frozen=True, slots=True)
class PeerCall:
    """A request to be relayed as it came, and whose turn on its connection has come.

    `frame` is all of it, without its length; it was not decoded. `group_id` is the group that it is about.
    """

    slot: ResponseSlot
    group_id: str
    frame: memoryview
    disposition: ClassVar[Disposition] = Disposition.SERVE

    @property
    def memory_bytes(self) -> int:
        """What it takes while it is being answered."""
        return len(self.frame)

    @property
    def waiting_bytes(self) -> int:
        """What it takes while it waits for that."""
        return len(self.frame)

    def decoded(self) -> DecodedRequest:
        """Return the request, for an answer that is made here after all. Raises PeerViolation when it is malformed."""
        try:
            return codecs.decode_request(self.frame)
        except MalformedMessage as malformed:
            slot = self.slot
            detail = f"API key {slot.api_key} version {slot.api_version}: {malformed}"
            raise PeerViolation("malformed_request", detail) from malformed


AnyCall: TypeAlias = Call | UndecodedCall | PeerCall


def undecoded_call(
    head: RequestHead,
    frame: memoryview,
    routes: RoutingTable,
    decide: Callable[[memoryview], RequestDecision],
    *,
    is_next: bool,
) -> UndecodedCall | PeerCall | None:
    """Return the call that a held request becomes without being looked into; None for every other request.

    That is what another process answers, and what is surely answered here, but not next, and takes much once decoded.
    """
    if (call := peer_call(head, frame, routes)) is not None:
        return call
    disposition = routes.disposition(head.api_key, head.api_version)
    if disposition is not Disposition.SERVE or _may_be_decoded(frame, is_next=is_next):
        return None
    return _undecoded(head, frame, decide, disposition)


def served_call(
    served: Served,
    head: RequestHead,
    frame: memoryview,
    decide: Callable[[memoryview], RequestDecision],
    *,
    is_next: bool,
) -> Call | UndecodedCall:
    """Return the call that a held request becomes that kproxy answers: one that `is_next` stays as it is decoded."""
    if _may_be_decoded(frame, is_next=is_next):
        slot = ResponseSlot(SlotKind.LOCAL, *head)
        return Call(slot, served.request, served.disposition, is_large(frame), len(frame), served.answer)
    return _undecoded(head, frame, decide, served.disposition, has_answer=served.answer is not None)


def peer_call(head: RequestHead, frame: memoryview, routes: RoutingTable) -> PeerCall | None:
    """Return the call that a held request becomes whose group another process serves; None for every other request."""
    is_elsewhere, api_key = routes.is_elsewhere, head.api_key
    if is_elsewhere is None or api_key not in group_ids.MEMBER_API_KEYS or api_key not in routes.served:
        return None
    group_id = group_ids.group_id_of_member(frame)
    if not group_id or not is_elsewhere(group_id):
        return None
    return PeerCall(ResponseSlot(SlotKind.LOCAL, *head), group_id, memoryview(cut_free(frame)))


def _may_be_decoded(frame: memoryview, *, is_next: bool) -> bool:
    return is_next or decoded_bytes(len(frame)) <= MOST_DECODED_EARLY_BYTES


def _undecoded(
    head: RequestHead,
    frame: memoryview,
    decide: Callable[[memoryview], RequestDecision],
    disposition: Disposition,
    *,
    has_answer: bool = False,
) -> UndecodedCall:
    slot, frame = ResponseSlot(SlotKind.LOCAL, *head), memoryview(cut_free(frame))
    return UndecodedCall(slot, head, frame, decide, disposition, has_answer)


def _memory_bytes(frame_bytes: int, *, has_answer: bool) -> int:
    decoded = decoded_bytes(frame_bytes)
    # An answer that is there already has a part for each element, too.
    return frame_bytes + (2 * decoded if has_answer else decoded)
