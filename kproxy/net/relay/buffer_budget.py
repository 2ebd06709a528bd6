"""How much all relayed connections may hold together, enforced by reading no further.

Four kinds of bytes count. *Held*: what came of frames that must be held whole, and room for what comes next of each,
before that is read: a frame that is only announced takes next to none. *Taken*: what kproxy's own answers may hold;
they wait for nobody, and take little while a frame waits. *Waiting*: what a peer has not taken yet from a write buffer;
it is bounded per connection anyway, and leaves without anything being read. *Read*: what came of sockets in this turn
of the event loop, none of which has had a chance to leave.

Frames of which all have begun and none can end would hold up each other for ever. So one of those that wait is read on
whatever is held: it has the *place beyond the limit*. An answer of a broker has it until it is whole: nobody else
waits for its client, who may be slow. A request has it until it is answered, too, and what became of it has left. Then
the next one: answers and requests take turns at it, each in the order in which they came. Whoever has it has so much
time as `most_ms_at_place` says, while others wait for it; whose frame is not whole by then drips, and is ended.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

SMALL_FRAME_BYTES: Final = 64 * 1024
"""A held frame up to this size waits for no room: it came in one or two chunks. What came of it counts all the same."""

FIRST_STEP_BYTES: Final = 16 * 1024
"""Room for the rest of a larger frame of which little has come."""

LARGEST_STEP_BYTES: Final = 256 * 1024
"""Room that is made at once for the rest of a frame, as much as came already up to this: one read of a socket."""

MOST_LOOKED_AT: Final = 32
"""Of either kind of those who wait, how many are looked at for one that there is room for, each time that something is
given back."""

LEAST_BYTES_A_SECOND: Final = 1024 * 1024
"""How fast a frame that others wait for has to come, or to be taken, beside a tenth of a frame deadline for each."""


def most_ms_at_place(frame_bytes: int, frame_deadline_ms: int) -> int:
    """Return how long a frame of so many bytes may have the place beyond the limit while others wait for it."""
    return min(frame_deadline_ms, frame_deadline_ms // 10 + frame_bytes * 1000 // LEAST_BYTES_A_SECOND)


def _tell_nobody() -> None:
    """Not a lambda: idle connections have it, and each would have its own."""


@dataclass(frozen=True, slots=True)
class _Wish:
    """Room that somebody waits for."""

    step_bytes: int
    on_granted: Callable[[], None]
    on_overstayed: Callable[[], None]
    is_answer: bool


class BufferBudget:
    """Keeps the sum of what connections hold at or below `limit_bytes`, as far as frames wait for room.

    Beyond it is what has the place beyond the limit: one frame, and the same decoded while it is answered. Besides,
    what waits for no room, each bounded by itself: a read of each socket; frames up to `SMALL_FRAME_BYTES`; for each
    connection what its peers have yet to take, one answer of a broker or 256 KiB; the decoded forms of requests
    that had room when they came, of which those that take much wait for nothing then (`AnswerBudget.may_wait`).

    Frames of any size end: each was checked against `socket.request.max.bytes`, or the like, already. Who waits for
    slow peers, and answers one after the other, must not keep them out.
    """

    __slots__ = (
        "_first",
        "_first_bytes",
        "_first_since_ms",
        "_held",
        "_held_bytes",
        "_is_letting_in",
        "_limit_bytes",
        "_on_overstayed",
        "_queues",
        "_read_bytes",
        "_taken",
        "_taken_bytes",
        "_waiting",
        "_waiting_bytes",
        "_was_answer_first",
    )

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._held: dict[Hashable, int] = {}
        self._held_bytes = 0
        self._first: Hashable | None = None
        self._first_bytes = 0
        self._first_since_ms: int | None = None
        self._on_overstayed: Callable[[], None] = _tell_nobody
        self._was_answer_first = False
        self._is_letting_in = False
        self._taken: dict[Hashable, int] = {}
        self._taken_bytes = 0
        self._waiting: dict[Hashable, int] = {}
        self._waiting_bytes = 0
        self._read_bytes = 0
        self._queues: tuple[dict[Hashable, _Wish], dict[Hashable, _Wish]] = {}, {}  # requests, answers

    @property
    def is_exceeded(self) -> bool:
        """Whether those whose peers are slow should read no further."""
        return self.held_bytes > self._limit_bytes

    def exceeds_share(self, amount: int) -> bool:
        """Whether one who has `amount` bytes waiting should read no further: too much is held, and that is why.

        Only those who have at least as much waiting as the average of all who wait, or their part of the limit. So
        those whose peers are fast go on, whatever the slow ones hold.
        """
        share_of_all = min(self._waiting_bytes, self._limit_bytes)
        return self.is_exceeded and amount > 0 and amount * len(self._waiting) >= share_of_all

    @property
    def held_bytes(self) -> int:
        """What is held, taken, what waits, and what was just read, together."""
        return self._held_bytes + self._taken_bytes + self._waiting_bytes + self._read_bytes

    @property
    def left_bytes(self) -> int:
        """What may still be taken; 0 when the limit is reached, and while a frame waits for its turn."""
        return 0 if self._is_anybody_waiting else max(self._limit_bytes - self.held_bytes, 0)

    def take(self, owner: Hashable, amount: int) -> None:
        """Count `amount` bytes for `owner`, instead of what it took before, whether there is room or not."""
        before = self._taken.pop(owner, 0)
        self._taken_bytes += amount - before
        if amount:
            self._taken[owner] = amount
        if amount < before:
            self._let_in()

    def note_read(self, amount: int) -> None:
        """Count `amount` bytes that were just read, until `forget_read`: who they wait for shows only later."""
        self._read_bytes += amount

    def forget_read(self) -> None:
        """Count what was read no more: by now it has left, or its connection has said that it waits."""
        self._read_bytes = 0
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

    def hold(
        self,
        owner: Hashable,
        came_bytes: int,
        step_bytes: int,
        on_granted: Callable[[], None],
        *,
        on_overstayed: Callable[[], None] = _tell_nobody,
        is_answer: bool = False,
    ) -> bool:
        """Count `came_bytes` of a frame of `owner` instead of what it had, and make room for `step_bytes` more.

        Returns False when there is no room for these: then `on_granted` is called once there is. Who wants less may be
        let in before who wants more, but one of all who wait is let in whatever it wants, and again until it has left
        its place; an answer of a broker, where `is_answer`, before the requests of clients, if it was no answer the
        last time. `on_overstayed` is called when it has lost that place, see `look_at_place`.
        """
        is_let_in = not step_bytes or owner is self._first
        self._count(owner, came_bytes)
        if not is_let_in and not self._fits(step_bytes):
            wish = _Wish(step_bytes, on_granted, on_overstayed, is_answer)
            if self._first is not None:
                self._forget_wish(owner)
                self._queues[is_answer][owner] = wish
                return False
            self._give_place(owner, wish)
        self._forget_wish(owner)
        self._count(owner, came_bytes + step_bytes)
        return True

    def release(self, owner: Hashable) -> None:
        """Give back what `owner` holds of a frame, or its place among those who wait."""
        self._forget_wish(owner)
        self._count(owner, 0)
        self._let_in()

    def note_waiting(self, owner: Hashable, amount: int) -> None:
        """Remember how much of `owner` waits in write buffers now."""
        before = self._waiting.pop(owner, 0)
        self._waiting_bytes += amount - before
        if amount:
            self._waiting[owner] = amount
        if amount < before:
            self._let_in()

    def look_at_place(self, now_ms: int, frame_deadline_ms: int) -> None:
        """Give the place beyond the limit to the next one when who has it has had all the time that it may have.

        To be called again and again; the time begins with the first look at which others wait.
        """
        if self._first is None or not self._is_anybody_waiting:
            self._first_since_ms = None
            return
        if self._first_since_ms is None:
            self._first_since_ms, self._first_bytes = now_ms, 0
        self._first_bytes = max(self._first_bytes, self._bytes_of(self._first))
        if now_ms - self._first_since_ms > most_ms_at_place(self._first_bytes, frame_deadline_ms):
            on_overstayed = self._on_overstayed
            self.leave_place(self._first)
            on_overstayed()

    def leave_place(self, owner: Hashable) -> None:
        """Take the place beyond the limit from `owner`, if it has it, whatever it holds still."""
        if owner is self._first:
            self._first = self._first_since_ms = None
            self._let_in()

    def has_place(self, owner: Hashable) -> bool:
        """Tell whether more than the limit is held, and `owner` is the one that was let in all the same."""
        return owner is self._first and self.is_exceeded

    @property
    def _is_anybody_waiting(self) -> bool:
        requests, answers = self._queues
        return bool(requests or answers)

    def _forget_wish(self, owner: Hashable) -> None:
        for queue in self._queues:
            queue.pop(owner, None)

    def _give_place(self, owner: Hashable, wish: _Wish) -> None:
        self._first, self._first_since_ms = owner, None
        self._on_overstayed, self._was_answer_first = wish.on_overstayed, wish.is_answer

    def _bytes_of(self, owner: Hashable) -> int:
        return self._held.get(owner, 0) + self._waiting.get(owner, 0) + self._taken.get(owner, 0)

    def _let_in(self) -> None:
        """Let those go on for whom there is room now, and one in any case."""
        first = self._first
        if first is not None and first not in self._held:
            # As much waits for the peers of any connection.
            is_small = self._bytes_of(first) <= SMALL_FRAME_BYTES
            self._first = None if self._was_answer_first or is_small or not self.is_exceeded else first
        if not self._is_anybody_waiting or self._is_letting_in:
            return
        self._is_letting_in = True
        try:
            while self._is_anybody_waiting:
                queues = self._queues if self._was_answer_first else self._queues[::-1]
                for owner in [each for queue in queues for each in islice(queue, MOST_LOOKED_AT)]:
                    self._let_one_in(owner)
                if self._first is not None:
                    return
        finally:
            self._is_letting_in = False

    def _let_one_in(self, owner: Hashable) -> None:
        requests, answers = self._queues
        wish = requests.get(owner) or answers.get(owner)
        if wish is None:
            return  # it has given up while another one was let in
        if not self._fits(wish.step_bytes):
            if self._first is not None:
                return
            self._give_place(owner, wish)
        self._forget_wish(owner)
        self._count(owner, self._held.get(owner, 0) + wish.step_bytes)
        wish.on_granted()

    def _fits(self, amount: int) -> bool:
        return self.held_bytes + amount <= self._limit_bytes

    def _count(self, owner: Hashable, amount: int) -> None:
        self._held_bytes += amount - self._held.pop(owner, 0)
        if amount:
            self._held[owner] = amount


class BudgetAccount:
    """Keeps the budget told of one connection, and troubles it only with what has changed; closed, it holds nothing."""

    __slots__ = (
        "_begun_count",
        "_budget",
        "_is_closed",
        "_is_granted_anew",
        "_taken_bytes",
        "_told",
        "awaits_grant",
        "frame_bytes",
        "on_overstayed",
        "waiting_bytes",
    )

    def __init__(self, budget: BufferBudget) -> None:
        self._budget = budget
        self.on_overstayed: Callable[[], None] = _tell_nobody
        """Called when others have waited for too long for what the connection holds for its peers."""
        self._is_closed = False
        self._taken_bytes = 0
        self.waiting_bytes = 0
        """How much waits for slow peers, as it was last noted."""
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
            self._told = 0, 0
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
                on_overstayed=self._overstayed,
                is_answer=is_answer,
            )
        else:
            self.awaits_grant = False
            self._budget.release(self)
        return is_anew

    def note_waiting(self, waiting_bytes: int) -> None:
        """Note how many bytes wait for slow peers."""
        if not self._is_closed and waiting_bytes != self.waiting_bytes:
            self.waiting_bytes = waiting_bytes
            self._budget.note_waiting(self, waiting_bytes)

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
        self.waiting_bytes = self.frame_bytes = 0
        self._told = (0, 0)
        self._budget.release(self)
        self._budget.note_waiting(self, 0)
        self._budget.leave_place(self)

    def _overstayed(self) -> None:
        if self.frame_bytes:  # it drips; of all else its peers may be innocent
            self.on_overstayed()

    def _granted(self, on_granted: Callable[[], None]) -> None:
        self.awaits_grant, self._is_granted_anew = False, True
        on_granted()
