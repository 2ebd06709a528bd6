"""When something last happened on a relayed connection, and what has taken too long. Decides, and does nothing."""

from typing import Final

from kproxy.net.relay.relay import RelayLimits
from kproxy.wording import counted

HELD_FRAME_DEADLINES: Final = 10
"""How many frame deadlines a frame may take in all, however it drips, while it holds memory others wait for."""


class ConnectionTimes:
    """The moments of one connection, in milliseconds of the event loop's clock, read against its limits."""

    __slots__ = (
        "_changed_ms",
        "_limits",
        "_moved_ms",
        "_unwritten_bytes",
        "client_ms",
        "has_broker_streamed",
        "has_client_streamed",
        "reserved_ms",
        "resumed_ms",
        "twin_ms",
    )

    def __init__(self, limits: RelayLimits, now_ms: int) -> None:
        self._limits = limits
        self.client_ms = now_ms
        """When the client was last heard, or could last be heard again."""
        self.twin_ms = now_ms
        """When anything last passed between kproxy and the broker."""
        self.reserved_ms = now_ms
        """When the frame that is being held began, or had room again after it had waited for some."""
        self.resumed_ms = now_ms
        """When the broker could last be read again, or an answer of kproxy's own was done. A sign of life of nobody."""
        self.has_client_streamed = False
        """Set when the client's bytes passed to the broker at a moment that nobody noted."""
        self.has_broker_streamed = False
        """Set when the broker's bytes did the other way."""
        self._moved_ms = self._changed_ms = now_ms
        self._unwritten_bytes = 0

    @property
    def idle_limit_ms(self) -> int:
        """How long a connection may be idle, or stand still."""
        return self._limits.client_idle_ms

    def note_streaming(self, now_ms: int) -> None:
        """Take what streamed since the last call for having come now. To be called before the moments are read."""
        if self.has_client_streamed:
            self.client_ms = now_ms
        if self.has_client_streamed or self.has_broker_streamed:
            self.twin_ms = now_ms
        self.has_client_streamed = self.has_broker_streamed = False

    def stalled_frame(self, now_ms: int, held_bytes: int, *, is_client_awaited: bool) -> str:
        """Return which frame has been waited for too long, empty if none.

        Args:
            now_ms: the moment.
            held_bytes: of the frame that is held, of either side, while there is room for it; else 0.
            is_client_awaited: whether the client is in the middle of a frame and may go on with it.
        """
        deadline_ms = self._limits.frame_deadline_ms
        if is_client_awaited and now_ms - self.client_ms > deadline_ms:
            return f"nothing came for {deadline_ms} ms in the middle of a frame"
        held_ms = now_ms - self.reserved_ms
        if held_bytes and held_ms > HELD_FRAME_DEADLINES * deadline_ms:
            return f"a frame of {counted(held_bytes, 'byte')} is not whole after {held_ms} ms"
        return ""

    def stands_still(self, now_ms: int, unwritten_bytes: int) -> bool:
        """Tell whether bytes have waited for a peer as long as brokers bear it, and none of them was taken.

        Called again and again with how many bytes wait in both directions.
        """
        if unwritten_bytes != self._unwritten_bytes:
            self._unwritten_bytes, self._changed_ms = unwritten_bytes, now_ms
        if unwritten_bytes == 0 or self._changed_ms == now_ms:
            self._moved_ms = now_ms
        return now_ms - self._moved_ms > self._limits.client_idle_ms

    def is_client_gone(self, now_ms: int) -> bool:
        """Tell whether the client was silent for so long that a broker would have closed its connection."""
        return now_ms - self.client_ms > self._limits.client_idle_ms

    def is_idle(self, now_ms: int) -> bool:
        """Tell whether nothing came from either side, nor was taken, for as long as a connection may be idle.

        Nor was an answer of kproxy's own done, nor room made for the broker's; whether one is under way, or there is no
        room now, is for who asks. `stands_still` is called before, with what waits now.
        """
        last_ms = max(self.client_ms, self.twin_ms, self.resumed_ms, self._changed_ms)
        return now_ms - last_ms > self._limits.client_idle_ms

    def is_twin_silent(self, now_ms: int) -> bool:
        """Tell whether the broker is about to find the connection idle."""
        return now_ms - self.twin_ms > self._limits.keepalive_ms
