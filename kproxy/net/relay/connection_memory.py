"""What one connection holds for peers that have not taken it yet, as the budget of all connections is told."""

import asyncio
from collections.abc import Callable
from itertools import takewhile

from kproxy.interception.calls import AnyCall
from kproxy.interception.client_session import ClientSession
from kproxy.net.relay.back_pressure import is_large_request_wanted
from kproxy.net.relay.memory.answer_budget import AnswerBudget
from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.relay import WRITE_HIGH_WATER_BYTES
from kproxy.net.relay.upstream_twin import UpstreamTwin
from kproxy.wording import counted


class ConnectionMemory:
    """Makes room for the frame that is being held, and counts what came of it and what waits for slow peers.

    Args:
        budget: that of all connections.
        session: what holds frames, requests behind an answer, or about to have one, and answers that wait.
        on_granted: called when a frame that waited for room may be read on, after which it is told anew.
    """

    __slots__ = (
        "_account",
        "_budget",
        "_held",
        "_high_water_bytes",
        "_marked_twin",
        "_on_granted",
        "_session",
        "_surplus_bytes",
        "_surpluses",
        "_written_bytes",
        "host",
        "is_to_be_told_again",
    )

    def __init__(
        self, budget: BufferBudget, session: ClientSession, *, on_granted: Callable[[], None]
    ) -> None:
        self._account = BudgetAccount(budget)
        self._budget = budget
        self.host = ""
        """Where the client is: who is there, and is the same principal, waits for room as one."""
        self._held = session.held_frames
        self._session = session
        self._on_granted = on_granted
        self._high_water_bytes = WRITE_HIGH_WATER_BYTES
        self._marked_twin: UpstreamTwin | None = None
        self._written_bytes = 0
        self.is_to_be_told_again = False
        """Whether a large frame has just ended, which counts as if nothing of it could leave at once."""
        self._surplus_bytes = 0
        self._surpluses: list[tuple[int, int]] = []

    @property
    def awaits_grant(self) -> bool:
        """Whether a frame waits for room."""
        return self._account.awaits_grant

    @property
    def frame_bytes(self) -> int:
        """The size of the frame that is being held, or waits for room; 0 for a small one."""
        return self._account.frame_bytes

    @property
    def readable_bytes(self) -> int:
        """The size of the frame that is being held and for which there is room; 0 for a small one."""
        return 0 if self._account.awaits_grant else self._account.frame_bytes

    def answer(self, call: AnyCall) -> AnswerBudget:
        """Count a request, which counted as waiting until now, as being answered; return what its answer may hold."""
        answer = AnswerBudget(self._budget, call.memory_bytes, self._account)
        self._account.note_waiting(max(self._account.waiting_bytes - call.waiting_bytes, 0))
        return answer

    def unwritten_bytes(self, client: asyncio.Transport | None, twin: UpstreamTwin | None) -> int:
        """Return how many bytes wait for either peer, with what they keep in memory beside themselves."""
        for_client = client.get_write_buffer_size() if client is not None else 0
        for_broker = twin.buffered_bytes if twin is not None else 0
        return for_client + (self._surplus_bytes if for_client else 0) + for_broker

    def note_written(self, written_bytes: int) -> int:
        """Note that so much was written for the client, and return that.

        What is streamed to it need not be noted: it only counts as taken a little later than it is.
        """
        self._written_bytes += written_bytes
        return written_bytes

    def note_surplus(self, surplus_bytes: int) -> None:
        """Count what an answer that was just written keeps beside its own bytes, until the client has taken it."""
        if surplus_bytes:
            self._surpluses.append((self._written_bytes, surplus_bytes))
            self._surplus_bytes += surplus_bytes

    def tell(self, client: asyncio.Transport | None, twin: UpstreamTwin | None) -> bool:
        """Tell the budget how it is now; whether the time of a held frame begins anew: it is another, or has room now.

        Or it is a request that is not read meanwhile, for a broker owes the answer before it.

        When too much is held everywhere, and this connection has its share in that, its peers have to take all that
        waits for them before more is read.
        """
        if self._surpluses and client is not None:
            self._forget_taken(self._written_bytes - client.get_write_buffer_size())
        account, is_anew = self._account, False
        ended_bytes = self._session.responses.unwritten_bytes if account.frame_bytes else 0
        unwritten_bytes = self.unwritten_bytes(client, twin) + ended_bytes
        waiting_bytes = unwritten_bytes + self._kept_bytes(has_twin=twin is not None)
        was_large = account.frame_bytes > 0
        # What moves between the two counts twice for a moment, and not at all in none, in which others would be let in.
        if waiting_bytes > account.waiting_bytes:
            account.note_waiting(waiting_bytes)
            is_anew = self._tell_frames(client)
        else:
            is_anew = self._tell_frames(client)
            account.note_waiting(waiting_bytes)
        request, response = self._held
        came_bytes = len(request.came) + len(response.came)
        account.note_for_peers(came_bytes + unwritten_bytes)
        self.is_to_be_told_again = was_large and account.frame_bytes == 0
        self._set_high_water(0 if account.has_too_much else WRITE_HIGH_WATER_BYTES, client, twin)
        return is_anew

    def let_end(self, on_overstayed: Callable[[], None]) -> BudgetAccount:
        """Have `on_overstayed` called when others have waited for too long for what is held for these peers.

        Returns whose these are, for the budget.
        """
        self._account.on_overstayed = on_overstayed
        return self._account

    def what_is_slow(self, held_bytes: int) -> tuple[str, str, str]:
        """Return which side others wait for, and the reason that its connection ends for (`connection_errors`).

        And that in words, with `held_bytes`, what is held for both sides.
        """
        detail = f"others wait for room, and it was too slow with {counted(held_bytes, 'byte')}"
        if not self.frame_bytes:
            return "client", "stands_still", detail
        side = "client" if self._session.requests.is_mid_frame else "broker"
        return side, "frame_stalled", detail

    def forget_frames(self, *, of_broker: bool) -> None:
        """Hold no frame of the client any more, nor one of the broker: they will never be whole."""
        request, response = self._held
        request.take()
        if of_broker:
            response.take()

    def give_back(self) -> None:
        """Hold nothing any more, for good. What came is let go of at once: the connection itself may stay for long."""
        self._account.close()
        session = self._session
        session.requests.forget()
        session.responses.forget()
        session.slots.forget()
        session.call = None

    def _kept_bytes(self, *, has_twin: bool) -> int:
        """Return what waits, but for no peer to take it: for an answer of kproxy's or a broker's, or for a turn."""
        session = self._session
        kept_bytes = session.waiting_bytes + session.slots.kept_bytes + session.responses.stuck_bytes
        if not has_twin:
            kept_bytes += session.unsent_bytes
        if session.call is not None:
            kept_bytes += session.call.waiting_bytes
        return kept_bytes

    def _tell_frames(self, client: asyncio.Transport | None) -> bool:
        request, response = self._held
        came_bytes = len(request.came) + len(response.came)
        if not came_bytes and self._account.holds_nothing:
            return False
        missing_bytes, is_put_by = request.missing_bytes, False
        is_closing = client is not None and client.is_closing()
        if missing_bytes and (is_closing or not is_large_request_wanted(self._session)):
            missing_bytes = 0
            if not response.frame_bytes:
                self._account.leave_place()
                # Nothing of it is read, and its client may be innocent of that.
                is_put_by = not self._session.responses.is_client_full
        self._account.client = self.host, self._session.principal
        is_anew = self._account.hold(
            came_bytes,
            missing_bytes + response.missing_bytes,
            request.begun_count + response.begun_count,
            self._on_granted,
            is_answer=response.frame_bytes > 0,
        )
        return is_anew or is_put_by

    def _forget_taken(self, taken_bytes: int) -> None:
        """Count no more what answers kept that end within the first `taken_bytes` of all that was written."""
        taken = list(takewhile(lambda surplus: surplus[0] <= taken_bytes, self._surpluses))
        del self._surpluses[: len(taken)]
        self._surplus_bytes -= sum(surplus_bytes for _, surplus_bytes in taken)

    def _set_high_water(
        self, high_bytes: int, client: asyncio.Transport | None, twin: UpstreamTwin | None
    ) -> None:
        # uvloop raises when the transport is closed.
        is_set = high_bytes == self._high_water_bytes and twin is self._marked_twin
        if is_set or client is None or client.is_closing():
            return
        self._high_water_bytes, self._marked_twin = high_bytes, twin
        client.set_write_buffer_limits(high=high_bytes)
        # A client that is found full by that is told of, and all may have been set anew.
        if twin is not None and (self._high_water_bytes, self._marked_twin) == (high_bytes, twin):
            twin.set_high_water(high_bytes)
