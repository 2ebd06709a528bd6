"""The broker's half of a `ClientSession`: bytes from the backing broker become bytes for the client.

Responses come in the order of the requests, so each belongs to the first slot that the broker owes. A response that
is only forwarded streams on as it comes; one that is rewritten is held until it is whole. A large one to a Produce
loses its hints where leaders are, and streams.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from kproxy.errors import PeerViolation
from kproxy.interception.held_frame import HeldFrame
from kproxy.interception.request_backlog import cut_free
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.turns.turn_share import TurnShare, work_of_frame
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.endpoints_walk import EndpointsWalk
from kproxy.wire.frames import (
    LENGTH_BYTES,
    MIN_RESPONSE_BYTES,
    RESPONSE_HEAD_BYTES,
    refuse_response_length,
    unpack_response_head,
)
from kproxy.wording import counted

LARGEST_HELD_PRODUCE_BYTES: Final = 256 * 1024
"""Of a response to a Produce, which is about some 6,000 partitions then. To decode and encode it takes 30 ms."""


LARGE_ANSWER_BYTES: Final = 64 * 1024
"""A response that is held to be changed, and longer, is changed in a long turn: that may take as much as 45 ms."""


_MOST_STEPS: Final = 500
_STEPS_OF_WORK: Final = 3
"""How far a response is walked through before it is asked whether the turn has anything left, and how much of that is
a unit of it (`TurnShare`)."""

_LITTLE_IS_READ: Final = frozenset({ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.PRODUCE})
_MOST_READ_BYTES: Final = 1024


def takes_long(slot: ResponseSlot, frame: memoryview) -> bool:
    """Tell whether a response that is held is to be changed in a long turn. Of Metadata the brokers alone are read."""
    is_read_whole = slot.api_key != ApiKey.METADATA or slot.rewrite is not None
    return slot.is_long or (len(frame) > LARGE_ANSWER_BYTES and is_read_whole)


class ResponseStream:
    """Cuts the broker's bytes into responses and streams or holds each.

    A response that is changed in a long turn, see `takes_long`, waits for one; any other, and one that is walked
    through at length, for a turn with something left. Those behind it wait, too.

    Args:
        slots: the owed responses, shared with the session; a response that has passed takes its slot off.
        max_held_bytes: the largest response that may be held.
        on_whole: called with the slot at the head and its whole frame (without its length); it returns True when the
            frame was dealt with, and False when the responses behind it have to wait (`release` then goes on).
        on_passed: called after a forwarded response has passed and its slot is gone, when the slot behind it is LOCAL.
        share: what a turn has left.
    """

    __slots__ = (
        "_body_left",
        "_is_long_turn",
        "_max_held_bytes",
        "_on_passed",
        "_on_whole",
        "_share",
        "_slots",
        "_stuck",
        "_walk",
        "awaits_turn",
        "for_client",
        "has_long_answer",
        "held",
        "is_client_full",
        "is_put_by",
    )

    def __init__(
        self,
        slots: deque[ResponseSlot],
        max_held_bytes: int,
        on_whole: Callable[[ResponseSlot, memoryview], bool],
        on_passed: Callable[[], None],
        share: TurnShare,
    ) -> None:
        self._slots = slots
        self._max_held_bytes = max_held_bytes
        self._on_whole = on_whole
        self._on_passed = on_passed
        self._share = share
        self._body_left = 0
        self.held = HeldFrame()
        """What is held of a frame."""
        self._stuck: list[bytes | memoryview] | None = None
        self._walk: EndpointsWalk | None = None
        self.for_client: list[bytes | memoryview] = []
        self.is_client_full = False
        """Set by the shell while the client takes nothing: what comes behind the response that is under way waits."""
        self.has_long_answer = self._is_long_turn = self.awaits_turn = False
        """Whether a response waits for a turn, with `release`: the first says that it has to be a long one."""
        self.is_put_by = False
        """Whether what came waits for nothing but the client, until `release`."""

    @property
    def is_mid_frame(self) -> bool:
        """Whether the rest of a response that began has yet to come."""
        return self._body_left > 0 or bool(self.held.came) or self._walk is not None

    @property
    def is_stuck(self) -> bool:
        """Whether a whole response waits to be changed, or what came behind one for the client."""
        return self._stuck is not None

    @property
    def stuck_bytes(self) -> int:
        """Bytes of that, and of all that came behind it."""
        return sum(map(len, self._stuck)) if self._stuck is not None else 0

    @property
    def held_bytes(self) -> int:
        """Bytes of a response that is held, whole or not, and of what waits behind it."""
        return len(self.held.came) + self.stuck_bytes

    @property
    def unwritten_bytes(self) -> int:
        """Bytes for the client that nobody has taken yet."""
        return sum(map(len, self.for_client))

    @property
    def has_caught_up(self) -> bool:
        """Whether no response is owed, nor waits for the client: one that is made now would leave at once."""
        return not (self._slots or self.for_client or self.is_client_full)

    def receive(self, data: bytes | memoryview) -> None:
        """Take what the broker sent. Raises PeerViolation when it is no answer to what it was asked."""
        rest: bytes | memoryview | None = data
        while rest is not None:
            if self._stuck is not None or (self.is_client_full and not self.is_mid_frame):
                self._put_by(rest)
                return
            rest = self._advance(rest)

    def passes(self, size: int) -> bool:
        """Tell whether the next `size` bytes only have to be sent on, by the caller; if so, they count as received.

        The last bytes of a response never do: something may have waited for them.
        """
        if self.for_client or self._stuck is not None:
            return False
        if self._walk is not None:
            return self._walk.passes(size)
        if size >= self._body_left:
            return False
        self._body_left -= size
        return True

    def forget(self) -> None:
        """Keep nothing of what came."""
        self.held.take()
        self._stuck, self.for_client = None, []

    def release(self, *, in_long_turn: bool = False) -> None:
        """Try the held response again, and go on with what came behind it. One is changed `in_long_turn` anyway.

        Raises PeerViolation, as `receive` does.
        """
        stuck, self._stuck = self._stuck or [], None
        self._is_long_turn = in_long_turn
        self.has_long_answer = self.awaits_turn = self.is_put_by = False
        for data in stuck:
            self.receive(data)
        self._is_long_turn = False

    def resume(self) -> None:
        """Go on with what waits for the client, which takes more now. Raises PeerViolation."""
        self.is_client_full = False
        if self.is_put_by:
            self.release()

    def _advance(self, data: bytes | memoryview) -> bytes | memoryview | None:
        if self._body_left > len(data):
            self._body_left -= len(data)
            self.for_client.append(data)
            return None
        if self._walk is not None:
            return self._walk_on(self._walk, memoryview(data))
        if self.held.frame_bytes:
            return self._fill_held(data)
        if self.held.came:
            data = self.held.take() + data
        return self._cut(data)

    def _fill_held(self, data: bytes | memoryview) -> bytes | memoryview | None:
        missing = self.held.missing_bytes
        frame = self.held.go_on(data[:missing])
        if frame is None:
            return None
        self._finish(self._slots[0], frame)
        return memoryview(data)[missing:] if len(data) > missing else None

    def _cut(self, data: bytes | memoryview) -> bytes | memoryview | None:
        """Walk over the responses in `data`, which begins with a frame or with the rest of a forwarded one."""
        if self._body_left:
            return self._end_body(data)
        size, position = len(data), 0
        while size - position >= RESPONSE_HEAD_BYTES:
            try:
                slot, end = self._match(data, position)
            except PeerViolation:
                self._forward(data, position)
                raise
            if slot.kind is SlotKind.NEUTRALISE or _is_large_produce(slot, end - position):
                body = position + LENGTH_BYTES
                self._forward(data, body)
                self._walk = EndpointsWalk(end - body, slot.api_key, slot.api_version)
                return memoryview(data)[body:]
            if slot.kind is not SlotKind.FORWARD:
                self._forward(data, position)
                return self._hold(slot, memoryview(data), position, end)
            position = end
            if end > size:
                break
            if self._pass_slot():
                self._forward(data, end)
                self._on_passed()
                return memoryview(data)[end:] if end < size else None
        self._forward(data, min(position, size))
        self._refuse_early(data, position)
        self.held.begin(data[position:])
        self._body_left = max(position - size, 0)
        return None

    def _end_body(self, data: bytes | memoryview) -> memoryview | None:
        end, self._body_left = self._body_left, 0
        self._forward(data, end)
        if self._pass_slot():
            self._on_passed()
        return memoryview(data)[end:] if end < len(data) else None

    def _walk_on(self, walk: EndpointsWalk, view: memoryview) -> memoryview | None:
        rest, body = view[walk.bytes_left :], view[: walk.bytes_left]
        while body:
            parts, body = walk.take(body, _MOST_STEPS)
            self.for_client.extend(parts)
            self._share.spend(walk.step_count // _STEPS_OF_WORK)
            if body and self._share.is_used_up:
                self._wait(view[-len(body) - len(rest) :])
                return None
        if walk.bytes_left == 0:
            self._walk = None
            if self._pass_slot():
                self._on_passed()
        return rest or None

    def _wait(self, data: memoryview) -> None:
        self.awaits_turn = True
        self._stuck = [cut_free(data)]

    def _match(self, data: bytes | memoryview, position: int) -> tuple[ResponseSlot, int]:
        """Return the slot that the response at `position` fills, and where the response ends."""
        length, correlation_id = unpack_response_head(data, position)
        slot = self._slots[0] if self._slots else None
        if slot is None or correlation_id != slot.correlation_id or slot.kind is SlotKind.LOCAL:
            # Only here is another protocol looked for: it would not have the number that is expected.
            refuse_response_length(data[position : position + LENGTH_BYTES], length)
            raise _unexpected(correlation_id, slot)
        if length < MIN_RESPONSE_BYTES:
            refuse_response_length(data[position : position + LENGTH_BYTES], length)
        return slot, position + LENGTH_BYTES + length

    def _pass_slot(self) -> bool:
        """Take the head slot off; whether the next one is kproxy's own to fill."""
        self._slots.popleft()
        return bool(self._slots) and self._slots[0].kind is SlotKind.LOCAL

    def _hold(
        self, slot: ResponseSlot, view: memoryview, position: int, end: int
    ) -> bytes | memoryview | None:
        if end - position > self._max_held_bytes:
            detail = (
                f"a response of {counted(end - position, 'byte')} to API key {slot.api_key} version {slot.api_version} "
                "is too large to be rewritten"
            )
            raise PeerViolation("frame_too_large", detail)
        if end > len(view):
            self.held.begin(view[position:], end - position)
            return None
        self._finish(slot, view[position:end])
        return view[end:] if end < len(view) else None

    def _finish(self, slot: ResponseSlot, frame: memoryview) -> None:
        if not self._is_long_turn:
            self.has_long_answer = takes_long(slot, frame[LENGTH_BYTES:])
            if self.has_long_answer or self._share.is_used_up:
                self._wait(frame)
                return
        self._is_long_turn = False
        self._share.spend(_work_of(slot, frame))
        if not self._on_whole(slot, frame[LENGTH_BYTES:]):
            self._stuck = [cut_free(frame)]

    def _put_by(self, data: bytes | memoryview) -> None:
        if self._stuck is None:
            self._stuck, self.is_put_by = [], True
        self._stuck.append(cut_free(data))

    def _refuse_early(self, data: bytes | memoryview, position: int) -> None:
        first = bytes(data[position : position + LENGTH_BYTES])
        if len(first) == LENGTH_BYTES:
            refuse_response_length(first, int.from_bytes(first, "big", signed=True))

    def _forward(self, data: bytes | memoryview, end: int) -> None:
        if end == len(data):
            self.for_client.append(data)
        elif end > 0:
            self.for_client.append(memoryview(data)[:end])


def _is_large_produce(slot: ResponseSlot, frame_bytes: int) -> bool:
    is_rewritten = slot.kind is SlotKind.REWRITE and slot.api_key == ApiKey.PRODUCE
    return is_rewritten and frame_bytes > LARGEST_HELD_PRODUCE_BYTES


def _work_of(slot: ResponseSlot, frame: memoryview) -> int:
    """Return what it takes to change a response; of some only the first part is read, as a rule."""
    if slot.api_key in _LITTLE_IS_READ and slot.rewrite is None:
        return work_of_frame(min(len(frame), _MOST_READ_BYTES))
    return work_of_frame(len(frame))


def _unexpected(correlation_id: int, slot: ResponseSlot | None) -> PeerViolation:
    if slot is None or slot.kind is SlotKind.LOCAL:
        detail = f"the broker sent correlation id {correlation_id}, and no response was owed"
        return PeerViolation("unsolicited_response", detail)
    detail = (
        f"the broker sent correlation id {correlation_id}, expected {slot.correlation_id}, "
        f"which answers API key {slot.api_key} version {slot.api_version}"
    )
    return PeerViolation("correlation_id_mismatch", detail)
