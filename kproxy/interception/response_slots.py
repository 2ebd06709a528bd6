"""Places in the queue of owed responses. A response leaves only when its slot is at the head."""

from collections.abc import Callable
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
    """

    __slots__ = ("api_key", "api_version", "buffers", "correlation_id", "is_long", "kind", "rewrite")

    def __init__(self, kind: SlotKind, api_key: int, api_version: int, correlation_id: int) -> None:
        self.kind = kind
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.buffers: Buffers | None = None
        self.is_long = False
        self.rewrite: Rewrite | None = None
