"""Places in the queue of owed responses. A response leaves only when its slot is at the head."""

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

Buffers: TypeAlias = list[bytes | memoryview]
"""What is to be written, in order."""

Rewrite: TypeAlias = Callable[[memoryview], Buffers]
"""Takes a broker's frame, without its length, and returns what its client gets."""


class SlotKind(Enum):
    """Where the response of a slot comes from, and what is done to it."""

    FORWARD = "streams through from the broker"
    NEUTRALISE = "streams through from the broker, and one tag in it is renamed"
    REWRITE = "comes from the broker, is held whole and changed"
    LOCAL = "is made by kproxy"
    SWALLOW = "comes from the broker and is for kproxy itself"


class ResponseSlot:
    """One owed response.

    `buffers` is what to send, once a LOCAL slot is filled. `rewrite` takes the broker's frame (without its length)
    and returns what to send instead; it is set for REWRITE. `is_long`: that takes long however short the frame is.
    `kept_bytes`: what `buffers` or `rewrite` take until it leaves, where that may be much.
    """

    __slots__ = (
        "api_key",
        "api_version",
        "buffers",
        "correlation_id",
        "is_long",
        "kept_bytes",
        "kind",
        "rewrite",
    )

    def __init__(self, kind: SlotKind, api_key: int, api_version: int, correlation_id: int) -> None:
        self.kind = kind
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.buffers: Buffers | None = None
        self.is_long = False
        self.kept_bytes = 0
        self.rewrite: Rewrite | None = None


class OwedResponses(deque[ResponseSlot]):
    """Those of one connection, oldest first. One that keeps something is taken off with `drop_first`."""

    __slots__ = ("kept_bytes",)

    def __init__(self) -> None:
        super().__init__()
        self.kept_bytes = 0
        """Of answers of kproxy's own, and of what a broker's is merged with, while they wait for a broker."""

    def keep(self, slot: ResponseSlot, kept_bytes: int) -> None:
        """Count what `slot` keeps, which is one of these, or will be, until it is taken off."""
        slot.kept_bytes = kept_bytes
        self.kept_bytes += kept_bytes

    def owe_answered(self, slot: ResponseSlot, buffers: Buffers) -> None:
        """Append `slot`, whose answer is there."""
        slot.buffers = buffers
        self.keep(slot, sum(map(len, buffers)))
        self.append(slot)

    def owe_together(self, slots: Sequence[ResponseSlot], kept_bytes: int) -> None:
        """Append `slots`, of which there is at least one, and which keep so much up to the last one's end."""
        self.keep(slots[-1], kept_bytes)
        self.extend(slots)

    def forget(self) -> None:
        """Owe nothing any more."""
        self.clear()
        self.kept_bytes = 0

    def drop_first(self) -> ResponseSlot:
        """Take the oldest off, and return it."""
        slot = self.popleft()
        self.kept_bytes -= slot.kept_bytes
        return slot
