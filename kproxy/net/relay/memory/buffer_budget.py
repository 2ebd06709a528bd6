"""How much all relayed connections may hold together, enforced by reading no further.

Four kinds of bytes count. *Held*: what came of frames that must be held whole, and room for what comes next of each,
before that is read: a frame that is only announced takes next to none. *Taken*: what kproxy's own answers may hold;
they wait for nobody, and take little while a frame waits. *Waiting*: what a peer has not taken yet from a write buffer;
it is bounded per connection anyway, and leaves without anything being read. *Read*: what came of sockets in this turn
of the event loop, none of which has had a chance to leave.

Frames of which all have begun and none can end would hold up each other for ever. So one of those that wait is read on
whatever is held: it has the *place beyond the limit*. An answer of a broker has it until it is whole: nobody else
waits for its client, who may be slow. A request has it until it is answered, too, and what became of it has left. Then
the next one, see `PlaceBeyondLimit`: answers, which are quick as brokers are, and now and then a request, the oldest
of each client in its turn and small ones before. While others wait, who has the place and brings nothing has it no
longer, as far as such frames are few (`PassedOn`), and goes on in its next turn; whose frame is not whole in time
drips, and is ended.

Nor may others wait for room because of those who hold it and move little: they are ended, see `look`.
"""

from collections.abc import Callable, Hashable
from typing import Final

from kproxy.net.relay.memory.holder import Holder
from kproxy.net.relay.memory.passed_on import PassedOn
from kproxy.net.relay.memory.place_beyond_limit import PlaceBeyondLimit, Verdict
from kproxy.net.relay.memory.stalled_holders import StalledHolders
from kproxy.net.relay.memory.waiting_line import WaitingLine, Wish

SMALL_FRAME_BYTES: Final = 64 * 1024
"""A held frame up to this size waits for no room: it came in one or two chunks. What came of it counts all the same."""

FIRST_STEP_BYTES: Final = 16 * 1024
"""Room for the rest of a larger frame of which little has come."""

LARGEST_STEP_BYTES: Final = 256 * 1024
"""Room that is made at once for the rest of a frame, as much as came already up to this: one read of a socket."""

MOST_LOOKED_AT: Final = 32
"""Of either kind of those who wait, how many are looked at for one that there is room for, each time that something is
given back."""

_PATIENCE: Final = 10
"""The part of a frame deadline for which others wait before anybody is ended for them."""


class BufferBudget:
    """Keeps the sum of what connections hold at or below `limit_bytes`, as far as frames wait for room.

    Beyond it is what has the place beyond the limit: one frame, and the same decoded while it is answered. And one
    answer of another process that is held whole. Besides,
    what waits for no room, each bounded by itself: a read of each socket; frames up to `SMALL_FRAME_BYTES`; for each
    connection what its peers have yet to take, one answer of a broker or 256 KiB; the decoded forms of requests
    that are being answered, of which those that take much wait for nothing then (`AnswerBudget.may_wait`).

    Frames of any size end: each was checked against `socket.request.max.bytes`, or the like, already. Who waits for
    slow peers, and answers one after the other, must not keep them out.
    """

    __slots__ = (
        "_awake_ms",
        "_held",
        "_held_bytes",
        "_is_letting_in",
        "_limit_bytes",
        "_looked_ms",
        "_passed_on",
        "_place",
        "_queues",
        "_read_bytes",
        "_stalled",
        "_taken",
        "_taken_bytes",
        "_waited_since_ms",
        "_waiting",
        "_waiting_bytes",
        "_whole",
    )

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._held: dict[Hashable, int] = {}
        self._held_bytes = 0
        self._place = PlaceBeyondLimit()
        self._passed_on = PassedOn(limit_bytes)
        self._stalled = StalledHolders()
        self._looked_ms: int | None = None
        self._awake_ms = 0
        """How long kproxy was awake by the last look: where one comes late, nobody had the time until then."""
        self._waited_since_ms: dict[Hashable, int] = {}
        self._is_letting_in = False
        self._taken: dict[Hashable, int] = {}
        self._taken_bytes = 0
        self._whole: set[Hashable] = set()
        """Who took a whole answer that is not small."""
        self._waiting: dict[Hashable, int] = {}
        self._waiting_bytes = 0
        self._read_bytes = 0
        self._queues = WaitingLine(), WaitingLine()  # requests, answers

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
        return 0 if self.is_anybody_waiting else max(self._limit_bytes - self.held_bytes, 0)

    def take(self, owner: Hashable, amount: int) -> None:
        """Count `amount` bytes for `owner`, instead of what it took before, whether there is room or not."""
        before = self._taken.pop(owner, 0)
        self._taken_bytes += amount - before
        if amount:
            self._taken[owner] = amount
        else:
            self._whole.discard(owner)
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

        A small one is let in whatever is held, and so is one that is not, while no other is. Nobody waits for room: who
        holds one answer may be waiting for the next one. It is given back with `take`.
        """
        if amount > SMALL_FRAME_BYTES:
            if self._whole and amount > self.left_bytes:
                return False
            self._whole.add(owner)
        self.take(owner, amount)
        return True

    def hold(
        self,
        owner: Hashable,
        came_bytes: int,
        step_bytes: int,
        on_granted: Callable[[], None],
        *,
        is_answer: bool = False,
        frame_bytes: int = 0,
    ) -> bool:
        """Count `came_bytes` of a frame of `owner` instead of what it had, and make room for `step_bytes` more.

        Returns False when there is no room for these: then `on_granted` is called once there is. Who wants less may be
        let in before who wants more, but one of all who wait is let in whatever it wants, and again until it has left
        its place: answers of brokers, where `is_answer`, and requests, by `frame_bytes` (`PlaceBeyondLimit`). What
        came in as an answer is no place for a request of the same owner.
        """
        if owner is self._place.owner and is_answer is not self._place.is_for_answer:
            self._count(owner, came_bytes)
            self.leave_place(owner)
        is_let_in, before = not step_bytes or owner is self._place.owner, self._held.get(owner, 0)
        self._count(owner, came_bytes)
        if not is_let_in and not self._fits(step_bytes):
            if self._place.owner is not None:
                self._queues[not is_answer].discard(owner)
                self._queues[is_answer].add(owner, Wish(step_bytes, on_granted, is_answer, frame_bytes))
                return False
            self._place.give(owner, is_answer=is_answer, held_bytes=came_bytes)
        self._forget_wish(owner)
        self._grant(owner, came_bytes + step_bytes)
        if came_bytes + step_bytes < before:
            self._let_in()
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

    def look(self, now_ms: int, frame_deadline_ms: int) -> None:
        """Make way for those who have waited for room for a tenth of a frame deadline. To be called again and again.

        Who is too slow with much that it holds is ended, be it a frame that has room and does not come, or an answer
        that its client does not take (`StalledHolders`). Times begin with the first look at which others wait.
        """
        self.look_at_place(now_ms, frame_deadline_ms)
        now_ms, patience_ms = self._awake_ms, frame_deadline_ms // _PATIENCE
        if not self.is_anybody_waiting:
            self._waited_since_ms = {}
            self._stalled.forget()
            return
        since_ms = self._waited_since_ms
        self._waited_since_ms = {
            owner: since_ms.get(owner, now_ms) for queue in self._queues for owner in queue
        }
        stalled = self._stalled.look(now_ms, self._held_for_peers(), patience_ms=patience_ms)
        if any(now_ms - since >= patience_ms for since in self._waited_since_ms.values()):
            for holder in stalled:
                holder.stand_still()

    def look_at_place(self, now_ms: int, frame_deadline_ms: int) -> None:
        """Let the next one have the place beyond the limit, where others wait and who has it is slow.

        To be called some times a second: who brings nothing has it for `place_beyond_limit.MOST_LOOKS` of them.
        """
        patience_ms = frame_deadline_ms // _PATIENCE
        if self._looked_ms is not None:
            self._awake_ms += min(now_ms - self._looked_ms, max(patience_ms // 2, 1))
        self._looked_ms = now_ms
        first = self._place.owner
        if not self.is_anybody_waiting:
            self._place.forget_time()
        elif first is not None:
            held_bytes = self._held.get(first, 0)
            verdict = self._place.look(
                self._awake_ms, held_bytes, patience_ms=patience_ms, most_ms=frame_deadline_ms
            )
            self._act_on(first, verdict)

    def _act_on(self, first: Hashable, verdict: Verdict) -> None:
        if verdict is Verdict.OVERSTAYS:
            self.leave_place(first)
            if isinstance(first, Holder):
                first.overstay()
        elif verdict is Verdict.BRINGS_LITTLE and self._may_be_passed_on(first):
            self.leave_place(first)

    def _may_be_passed_on(self, first: Hashable) -> bool:
        is_awaited = isinstance(first, Holder) and first.is_awaited
        return is_awaited and self._passed_on.add(first, self._place.held_before, self._held)

    def _held_for_peers(self) -> dict[Holder, int]:
        """Return how much each holds that could move: not of those who wait for room themselves."""
        requests, answers = self._queues
        return {
            owner: owner.for_peers_bytes
            for owner in (*self._held, *self._waiting)
            if isinstance(owner, Holder)
            and owner.may_be_ended
            and owner not in requests
            and owner not in answers
        }

    def leave_place(self, owner: Hashable) -> None:
        """Take the place beyond the limit from `owner`, if it has it, whatever it holds still."""
        if owner is self._place.owner:
            self._place.leave()
            self._let_in()

    def has_place(self, owner: Hashable) -> bool:
        """Tell whether more than the limit is held, and `owner` is the one that was let in all the same."""
        return owner is not None and owner is self._place.owner and self.is_exceeded

    @property
    def is_anybody_waiting(self) -> bool:
        """Whether a frame waits for room."""
        requests, answers = self._queues
        return bool(requests or answers)

    def _forget_wish(self, owner: Hashable) -> None:
        for queue in self._queues:
            queue.discard(owner)

    def _bytes_of(self, owner: Hashable) -> int:
        return self._held.get(owner, 0) + self._waiting.get(owner, 0) + self._taken.get(owner, 0)

    def _let_in(self) -> None:
        """Let those go on for whom there is room now, and one in any case."""
        first = self._place.owner
        if first is not None and first not in self._held:
            # As much waits for the peers of any connection.
            is_small = self._bytes_of(first) <= SMALL_FRAME_BYTES
            if self._place.is_for_answer or is_small or not self.is_exceeded:
                self._place.leave()
        if not self.is_anybody_waiting or self._is_letting_in:
            return
        self._is_letting_in = True
        try:
            while self.is_anybody_waiting:
                if self._fits(1) and sum(map(self._let_one_in, self._some_who_wait())):
                    continue
                if self._place.owner is not None:
                    return
                self._let_one_in(self._place.next_of(*self._queues), whatever_is_held=True)
        finally:
            self._is_letting_in = False

    def _some_who_wait(self) -> list[Hashable]:
        return [owner for queue in self._queues for owner in queue.first(MOST_LOOKED_AT)]

    def _let_one_in(self, owner: Hashable, *, whatever_is_held: bool = False) -> bool:
        """Let `owner` go on, if there is room; whether there was, or it has given up while others were let in."""
        queue = self._queues[owner in self._queues[True]]
        wish = queue.get(owner)
        if wish is None:
            return True
        if not self._fits(wish.step_bytes):
            if not whatever_is_held:
                return False
            self._place.give(owner, is_answer=wish.is_answer, held_bytes=self._held.get(owner, 0))
        queue.serve(owner)
        self._grant(owner, self._held.get(owner, 0) + wish.step_bytes)
        wish.on_granted()
        return True

    def _fits(self, amount: int) -> bool:
        return self.held_bytes + amount <= self._limit_bytes

    def _grant(self, owner: Hashable, amount: int) -> None:
        if owner is not self._place.owner:
            self._passed_on.discard(owner)
        self._count(owner, amount)

    def _count(self, owner: Hashable, amount: int) -> None:
        self._held_bytes += amount - self._held.pop(owner, 0)
        if amount:
            self._held[owner] = amount
        else:
            self._passed_on.discard(owner)
