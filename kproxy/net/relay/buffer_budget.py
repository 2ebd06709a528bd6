"""How much all relayed connections may hold together, enforced by reading no further.

Three kinds of bytes count. *Reserved*: a frame that must be held whole reserves its full size before the rest of it is
read, so that every frame that was begun can also be ended, whatever the others do. *Taken*: what kproxy's own answers
may hold; they wait for nobody, and take little while a frame waits. *Waiting*: what a peer has not taken yet from a
write buffer; it is bounded per connection anyway, and leaves without anything being read.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Final

SMALL_FRAME_BYTES: Final = 64 * 1024
"""A held frame up to this size needs no reservation: it came in one or two chunks."""


class BufferBudget:
    """Keeps the sum of what connections hold at or below `limit_bytes`.

    One frame is let in, whatever its size, when no other frame is reserved: it was checked against
    `socket.request.max.bytes` already. Who waits for slow peers, and answers one after the other, must not keep it out.
    """

    __slots__ = (
        "_limit_bytes",
        "_queue",
        "_reserved",
        "_reserved_bytes",
        "_taken",
        "_taken_bytes",
        "_waiting",
        "_waiting_bytes",
    )

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._reserved: dict[Hashable, int] = {}
        self._reserved_bytes = 0
        self._taken: dict[Hashable, int] = {}
        self._taken_bytes = 0
        self._waiting: dict[Hashable, int] = {}
        self._waiting_bytes = 0
        self._queue: dict[Hashable, tuple[int, Callable[[], None]]] = {}

    @property
    def is_exceeded(self) -> bool:
        """Whether those whose peers are slow should read no further."""
        return self.held_bytes > self._limit_bytes

    def exceeds_share(self, amount: int) -> bool:
        """Whether one who has `amount` bytes waiting should read no further: too much is held, and that is why.

        Only those who have at least as much waiting as the average of all who wait. So those whose peers are fast go
        on, whatever the slow ones hold.
        """
        return self.is_exceeded and amount > 0 and amount * len(self._waiting) >= self._waiting_bytes

    @property
    def held_bytes(self) -> int:
        """What is reserved, taken, and what waits, together."""
        return self._reserved_bytes + self._taken_bytes + self._waiting_bytes

    @property
    def left_bytes(self) -> int:
        """What may still be taken; 0 when the limit is reached, and while a frame waits for its turn."""
        return 0 if self._queue else max(self._limit_bytes - self.held_bytes, 0)

    def take(self, owner: Hashable, amount: int) -> None:
        """Count `amount` bytes for `owner`, instead of what it took before, whether there is room or not."""
        before = self._taken.pop(owner, 0)
        self._taken_bytes += amount - before
        if amount:
            self._taken[owner] = amount
        if amount < before:
            self._let_in()

    def take_whole(self, owner: Hashable, amount: int) -> bool:
        """Count an answer of `amount` bytes that must be held whole, if there is room; whether there was.

        A small one is let in whatever is held, and any while nobody else has taken anything. Nobody waits for room: who
        holds one answer may be waiting for the next one.
        """
        if self._taken and amount > max(self.left_bytes, SMALL_FRAME_BYTES):
            return False
        self.take(owner, amount)
        return True

    def reserve(self, owner: Hashable, amount: int, on_granted: Callable[[], None]) -> bool:
        """Reserve `amount` bytes for a frame of `owner`, which has no other reservation.

        Returns False when there is no room: then `on_granted` is called once there is. First come, first served.
        """
        if not self._queue and self._fits(amount):
            self._grant(owner, amount)
            return True
        self._queue[owner] = amount, on_granted
        return False

    def release(self, owner: Hashable) -> None:
        """Give back what `owner` reserved, or its place in the queue."""
        self._reserved_bytes -= self._reserved.pop(owner, 0)
        self._queue.pop(owner, None)
        self._let_in()

    def note_waiting(self, owner: Hashable, amount: int) -> None:
        """Remember how much of `owner` waits in write buffers now."""
        before = self._waiting.pop(owner, 0)
        self._waiting_bytes += amount - before
        if amount:
            self._waiting[owner] = amount

    def _let_in(self) -> None:
        """Grant those at the head of the queue what fits now."""
        while self._queue:
            owner, (amount, on_granted) = next(iter(self._queue.items()))
            if not self._fits(amount):
                return
            del self._queue[owner]
            self._grant(owner, amount)
            on_granted()

    def _fits(self, amount: int) -> bool:
        return not self._reserved or self.held_bytes + amount <= self._limit_bytes

    def _grant(self, owner: Hashable, amount: int) -> None:
        self._reserved[owner] = amount
        self._reserved_bytes += amount


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
