"""What one connection has of the budget that all of them share."""

from collections.abc import Callable
from functools import partial

from kproxy.net.relay.buffer_budget import SMALL_FRAME_BYTES, BufferBudget


class BudgetAccount:
    """Keeps the budget told of one connection, and troubles it only with what has changed; closed, it holds nothing."""

    __slots__ = ("_budget", "_is_closed", "_waiting_bytes", "awaits_grant", "reserved_bytes")

    def __init__(self, budget: BufferBudget) -> None:
        self._budget = budget
        self._is_closed = False
        self._waiting_bytes = 0
        self.reserved_bytes = 0
        """What is reserved, or asked for."""
        self.awaits_grant = False
        """Whether the reservation has yet to be granted."""

    def reserve(self, frame_bytes: int, on_granted: Callable[[], None]) -> bool:
        """Reserve room for a held frame of `frame_bytes` (0: none is held) instead of the one before; False: as it was.

        A small frame takes no reservation. When there is no room `awaits_grant` is True until `on_granted` is called.
        """
        needed_bytes = frame_bytes if frame_bytes > SMALL_FRAME_BYTES else 0
        if self._is_closed or needed_bytes == self.reserved_bytes:
            return False
        self._budget.release(self)
        self.reserved_bytes = needed_bytes
        granted = partial(self._granted, on_granted)
        self.awaits_grant = bool(needed_bytes) and not self._budget.reserve(self, needed_bytes, granted)
        return True

    def note_waiting(self, waiting_bytes: int) -> bool:
        """Note how many bytes wait for slow peers; whether that is too much, see `BufferBudget.exceeds_share`."""
        if self._is_closed or waiting_bytes == 0 == self._waiting_bytes:
            return False
        self._waiting_bytes = waiting_bytes
        self._budget.note_waiting(self, waiting_bytes)
        return self._budget.exceeds_share(waiting_bytes)

    def close(self) -> None:
        """Give everything back, for good: answers that end later find nothing to reserve for."""
        self._is_closed = True
        self.awaits_grant = False
        self._waiting_bytes = self.reserved_bytes = 0
        self._budget.release(self)
        self._budget.note_waiting(self, 0)

    def _granted(self, on_granted: Callable[[], None]) -> None:
        self.awaits_grant = False
        on_granted()
