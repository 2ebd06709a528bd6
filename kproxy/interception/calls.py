"""Requests that are answered here, or by another kproxy process that serves their group."""

from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.interception.request_backlog import cut_free
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

    @property
    def memory_bytes(self) -> int:
        """What it takes at most while it is being answered."""
        decoded = decoded_bytes(self.frame_bytes)
        # An answer that is there already has a part for each element, too.
        return self.frame_bytes + (decoded if self.answer is None else 2 * decoded)


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

    def decoded(self) -> DecodedRequest:
        """Return the request, for an answer that is made here after all. Raises PeerViolation when it is malformed."""
        try:
            return codecs.decode_request(self.frame)
        except MalformedMessage as malformed:
            slot = self.slot
            detail = f"API key {slot.api_key} version {slot.api_version}: {malformed}"
            raise PeerViolation("malformed_request", detail) from malformed


AnyCall: TypeAlias = Call | PeerCall


def peer_call(head: RequestHead, frame: memoryview, routes: RoutingTable) -> PeerCall | None:
    """Return the call that a held request becomes whose group another process serves; None for every other request."""
    is_elsewhere, api_key = routes.is_elsewhere, head.api_key
    if is_elsewhere is None or api_key not in group_ids.MEMBER_API_KEYS or api_key not in routes.served:
        return None
    group_id = group_ids.group_id_of_member(frame)
    if not group_id or not is_elsewhere(group_id):
        return None
    return PeerCall(ResponseSlot(SlotKind.LOCAL, *head), group_id, memoryview(cut_free(frame)))
