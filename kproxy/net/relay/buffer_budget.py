"""How much all relayed connections may hold together, enforced by reading no further.

Two kinds of bytes count. *Reserved*: a frame that must be held whole reserves its full size before the rest of it is
read, so that every frame that was begun can also be ended, whatever the others do. *Waiting*: what a peer has not taken
yet from a write buffer; it is bounded per connection anyway, and leaves without anything being read.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Final

SMALL_FRAME_BYTES: Final = 64 * 1024
"""A held frame up to this size needs no reservation: it came in one or two chunks."""


class BufferBudget:
    """Keeps the sum of what connections hold at or below `limit_bytes`.

    One frame larger than the limit is let in when nothing else is reserved: its size was checked against
    `socket.request.max.bytes` already.
    """

    __slots__ = ("_limit_bytes", "_queue", "_reserved", "_reserved_bytes", "_waiting", "_waiting_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._reserved: dict[Hashable, int] = {}
        self._reserved_bytes = 0
        self._waiting: dict[Hashable, int] = {}
        self._waiting_bytes = 0
        self._queue: deque[tuple[Hashable, int, Callable[[], None]]] = deque()

    @property
    def is_exceeded(self) -> bool:
        """Whether those whose peers are slow should read no further."""
        return self._reserved_bytes + self._waiting_bytes > self._limit_bytes

    def exceeds_share(self, amount: int) -> bool:
        """Whether one who has `amount` bytes waiting should read no further: too much is held, and that is why.

        Only those who have at least as much waiting as the average of all who wait. So those whose peers are fast go
        on, whatever the slow ones hold.
        """
        return self.is_exceeded and amount > 0 and amount * len(self._waiting) >= self._waiting_bytes

    @property
    def held_bytes(self) -> int:
        """What is reserved and what waits, together."""
        return self._reserved_bytes + self._waiting_bytes

    @property
    def left_bytes(self) -> int:
        """What may still be held; 0 when the limit is reached."""
        return max(self._limit_bytes - self.held_bytes, 0)

    def take(self, owner: Hashable, amount: int) -> None:
        """Reserve `amount` bytes for `owner`, which has no other reservation, whether there is room or not."""
        if amount:
            self._grant(owner, amount)

    def reserve(self, owner: Hashable, amount: int, on_granted: Callable[[], None]) -> bool:
        """Reserve `amount` bytes for a frame of `owner`, which has no other reservation.

        Returns False when there is no room: then `on_granted` is called once there is. First come, first served.
        """
        if not self._queue and self._fits(amount):
            self._grant(owner, amount)
            return True
        self._queue.append((owner, amount, on_granted))
        return False

    def release(self, owner: Hashable) -> None:
        """Give back what `owner` reserved, or its place in the queue."""
        self._reserved_bytes -= self._reserved.pop(owner, 0)
        self._queue = deque(entry for entry in self._queue if entry[0] is not owner)
        while self._queue and self._fits(self._queue[0][1]):
            successor, amount, on_granted = self._queue.popleft()
            self._grant(successor, amount)
            on_granted()

    def note_waiting(self, owner: Hashable, amount: int) -> None:
        """Remember how much of `owner` waits in write buffers now."""
        before = self._waiting.pop(owner, 0)
        self._waiting_bytes += amount - before
        if amount:
            self._waiting[owner] = amount

    def _fits(self, amount: int) -> bool:
        return not self._reserved or self._reserved_bytes + self._waiting_bytes + amount <= self._limit_bytes

    def _grant(self, owner: Hashable, amount: int) -> None:
        self._reserved[owner] = amount
        self._reserved_bytes += amount
