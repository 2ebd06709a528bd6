"""`BudgetAccount`: what one connection has of the budget of all."""

from collections.abc import Callable, Hashable
from functools import partial

from kproxy.net.relay.memory.buffer_budget import (
    FIRST_STEP_BYTES,
    LARGEST_STEP_BYTES,
    SMALL_FRAME_BYTES,
    BufferBudget,
)
from kproxy.net.relay.memory.holder import Holder


def _tell_nobody() -> None:
    """Not a lambda: idle connections have it, and each would have its own."""


class BudgetAccount(Holder):
    """Keeps the budget told of one connection, and troubles it only with what has changed; closed, it holds nothing."""

    __slots__ = (
        "_begun_count",
        "_budget",
        "_is_closed",
        "_is_granted_anew",
        "_taken_bytes",
        "_told",
        "awaits_grant",
        "client",
        "for_peers_bytes",
        "frame_bytes",
        "moved_bytes",
        "on_overstayed",
        "waiting_bytes",
    )

    def __init__(self, budget: BufferBudget) -> None:
        self._budget = budget
        self.client: Hashable = None
        """Whose it is, see `Holder`."""
        self.on_overstayed: Callable[[], None] = _tell_nobody
        """Called when others have waited for too long for what the connection holds for its peers."""
        self._is_closed = False
        self._taken_bytes = 0
        self.waiting_bytes = 0
        """How much waits for slow peers, as it was last noted."""
        self.for_peers_bytes: int = 0
        self.moved_bytes: int = 0
        """See `Holder`, both."""
        self._begun_count = 0
        self._told = (0, 0)
        self._is_granted_anew = False
        self.frame_bytes = 0
        """The size of the frame that is held, if that is no small one."""
        self.awaits_grant = False
        """Whether there has yet to be room for what comes next of it."""

    @property
    def holds_nothing(self) -> bool:
        """Whether no part of a frame counts."""
        return self._told == (0, 0)

    def hold(
        self,
        came_bytes: int,
        missing_bytes: int,
        begun_count: int,
        on_granted: Callable[[], None],
        *,
        is_answer: bool = False,
    ) -> bool:
        """Note what came of a frame that is held and what is missing; whether time begins anew for it.

        That is when it is another one, by `begun_count`, or when it has waited for room. While there is none
        `awaits_grant` is True, until `on_granted` is called. A small frame waits for none. `is_answer`: of a broker.
        """
        is_another = begun_count != self._begun_count
        is_anew = is_another or self._is_granted_anew
        self._begun_count, self._is_granted_anew = begun_count, False
        if is_another and not self.holds_nothing:
            self._budget.release(self)  # to be let in anew: it was the turn of one frame
            self._told, self.frame_bytes, self.awaits_grant = (0, 0), 0, False
        if self._is_closed or self._told == (came_bytes, missing_bytes):
            return is_anew
        self._told = came_bytes, missing_bytes
        is_small = came_bytes + missing_bytes <= SMALL_FRAME_BYTES
        self.frame_bytes = 0 if is_small else came_bytes + missing_bytes
        if came_bytes:
            step_bytes = min(missing_bytes, max(FIRST_STEP_BYTES, min(came_bytes, LARGEST_STEP_BYTES)))
            self.awaits_grant = not self._budget.hold(
                self,
                came_bytes,
                0 if is_small else step_bytes,
                partial(self._granted, on_granted),
                is_answer=is_answer,
                frame_bytes=came_bytes + missing_bytes,
            )
        else:
            self.awaits_grant = False
            self._budget.release(self)
        return is_anew

    def leave_place(self) -> None:
        """Be no more the one that is let in beyond the limit: nothing of its frame is read for now."""
        self._budget.leave_place(self)

    def note_waiting(self, waiting_bytes: int) -> None:
        """Note how many bytes wait for slow peers."""
        if not self._is_closed and waiting_bytes != self.waiting_bytes:
            self.waiting_bytes = waiting_bytes
            self._budget.note_waiting(self, waiting_bytes)

    def note_for_peers(self, for_peers_bytes: int) -> None:
        """Note how much peers have to move. To be called at each change: any counts as moved, come or gone."""
        self.moved_bytes += abs(for_peers_bytes - self.for_peers_bytes)
        self.for_peers_bytes = for_peers_bytes

    @property
    def has_too_much(self) -> bool:
        """Whether too many bytes wait for slow peers, see `BufferBudget.exceeds_share`; any are beyond the limit."""
        if self.waiting_bytes == 0:
            return False
        return self._budget.exceeds_share(self.waiting_bytes) or self._budget.has_place(self)

    def take(self, more_bytes: int) -> None:
        """Count so many bytes more of requests that are being answered, or fewer; also when it is closed."""
        self._taken_bytes += more_bytes
        self._budget.take(self, self._taken_bytes)

    def close(self) -> None:
        """Give everything back, for good: answers that end later find nothing to reserve for."""
        self._is_closed = True
        self.awaits_grant = False
        self.waiting_bytes = self.frame_bytes = self.for_peers_bytes = 0
        self._told = (0, 0)
        self._budget.release(self)
        self._budget.note_waiting(self, 0)
        self._budget.leave_place(self)

    @property
    def may_be_ended(self) -> bool:
        """Whether anybody has said how."""
        return self.on_overstayed is not _tell_nobody and not self._is_closed

    @property
    def is_awaited(self) -> bool:
        """Whether there is something of a frame that has yet to come, and not to be answered."""
        return self._told[1] > 0

    def overstay(self) -> None:
        """End the connection, if its frame is not whole: of all else its peers may be innocent."""
        if self.frame_bytes:
            self.on_overstayed()

    def stand_still(self) -> None:
        """End the connection: it holds much, and moves little."""
        self.on_overstayed()

    def _granted(self, on_granted: Callable[[], None]) -> None:
        self.awaits_grant, self._is_granted_anew = False, True
        on_granted()
