"""`StateSlot`: partition n of the state topic and partition n of the groups topic, owned, loaded and written together.

A slot is claimed before it is read: a higher producer epoch of its transactional id, then a claim record in both
partitions. From then on the leaders refuse whoever wrote before, and everything up to the claim records is all there
is. Reading up to there gives the durable state; what is written afterwards is known because this process writes it.

Whenever an append does not end as it had to, nothing is taken back: the slot forgets everything, claims again and
reads again, unless another process claimed it under a newer map (`allocation`). Then it waits to hear of that map.

The fleet gives a slot to this process (`take`), wants it for another one (`begin_to_leave`), or takes it away (`lose`).
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from kproxy.errors import (
    BrokerUnavailable,
    CoordinatorLoadInProgress,
    CorruptStateRecord,
    KproxyError,
    NotCoordinator,
    StateLogUnavailable,
    StateNotWritten,
)
from kproxy.handlers.ports import Clock
from kproxy.net.backoff import Backoff
from kproxy.net.state_log.allocation import LEASE_ENDED, ClaimLost, ClaimRight, SlotAllocation
from kproxy.net.state_log.claim import SlotClaims
from kproxy.net.state_log.every_step import take_every_step
from kproxy.net.state_log.load_turns import LoadTurns
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot
from kproxy.net.state_log.log_scan import LogTruncated
from kproxy.net.state_log.partition_writer import Doubt
from kproxy.net.state_log.reports import SlotReports
from kproxy.net.state_log.served_claim import ServedClaim, SlotListener
from kproxy.net.tasks import TaskKeeper
from kproxy.statelog.group_queue import GroupOperation
from kproxy.statelog.group_records import RecoveryPoint
from kproxy.statelog.operations import Operation
from kproxy.statelog.slot_status import TRANSITIONS, AppliedStates, SlotState, SlotStatus
from kproxy.statelog.state_log_fold import NO_OFFSET
from kproxy.statelog.tickets import Ticket
from kproxy.telemetry import logs

log = logs.logger("net.state_log.slot")

FIRST_RETRY_MS: Final = 50
LAST_RETRY_MS: Final = 2_000
FIRST_WRITES_AGAIN_SECONDS: Final = 60.0
"""After how long a slot is loaded again whose first writes were refused: rarely, for it ends every lock."""


class StateSlot:
    """One slot. `take` begins to serve it; everything else is for those who use it meanwhile.

    Args:
        number: which one.
        claims: claims and loads slots.
        clock: for the pauses between attempts.
        reports: hears what operators are to know.
        listener: holds in memory what is durable here.
        turns: how many slots are loaded at once; those that somebody waits for come first.
        allocation: says what this process may serve.
        tasks: runs the life of the slot, from when it is taken until it is left.
        on_ready: called whenever the slot has begun to serve.
    """

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        number: int,
        *,
        claims: SlotClaims,
        clock: Clock,
        reports: SlotReports,
        listener: SlotListener,
        turns: LoadTurns,
        allocation: SlotAllocation,
        tasks: TaskKeeper,
        on_ready: Callable[["StateSlot"], None] = lambda _slot: None,
    ) -> None:
        self.number = number
        self._claims = claims
        self._reports = reports
        self._listener = listener
        self._turns = turns
        self._allocation = allocation
        self._right = ClaimRight(allocation)
        self._tasks = tasks
        self._on_ready = on_ready
        self._backoff = Backoff(clock, first_ms=FIRST_RETRY_MS, last_ms=LAST_RETRY_MS)
        self._state = SlotState.UNASSIGNED
        self._reason = "the fleet did not say yet who owns it"
        self._served: ServedClaim | None = None
        self._end_of_log = NO_OFFSET
        self._is_in_question = False
        self._is_alarm_raised = False
        self._is_abandoned = False
        self._life: asyncio.Task[None] | None = None
        self._living = asyncio.Lock()
        self._waiters: set[asyncio.Future[None]] = set()

    # ------------------------------------------------ using it

    @property
    def state(self) -> SlotState:
        """Where it is in its life."""
        return self._state

    @property
    def is_ready(self) -> bool:
        """Whether it is claimed and loaded. Whether it may be served at a moment is another question."""
        return self._state is SlotState.READY

    def require_ready(self) -> None:
        """Return if operations can be submitted.

        Raises:
            NotCoordinator: another process owns the slot, or is to.
            CoordinatorLoadInProgress: it is being claimed or loaded, or nobody owns it for the moment.
            StateLogUnavailable: it cannot be loaded, and an operator has to look.
        """
        self._require_served()

    def _require_served(self) -> ServedClaim:
        if self._served is not None and self._state is SlotState.READY:
            if self._allocation.may_serve(self.number):
                return self._served
            raise NotCoordinator(f"slot {self.number} of the state log: {LEASE_ENDED}")
        text = f"slot {self.number} of the state log: {self._reason}"
        if self._state in {SlotState.ELSEWHERE, SlotState.LEAVING}:
            raise NotCoordinator(text)
        if self._state is SlotState.STOPPED:
            raise StateLogUnavailable(text)
        raise CoordinatorLoadInProgress(text)

    async def settled(self, timeout_s: float | None = None) -> None:
        """Return when the slot is ready, given up, or `timeout_s` is over."""
        if not self._state.is_under_way:
            return
        self._waiters.add(waiter := asyncio.get_running_loop().create_future())
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(waiter, timeout_s)
        finally:
            self._waiters.discard(waiter)

    def submit(self, operation: Operation) -> Ticket:
        """Queue an operation on share-partition state. Raises as `require_ready`."""
        return self._require_served().submit(operation)

    def submit_group(self, operation: GroupOperation) -> Ticket:
        """Queue a change of a group, or of what is kept beside groups. Raises as `require_ready`."""
        return self._require_served().submit_group(operation)

    @property
    def has_work(self) -> bool:
        """Whether something waits to become durable, or is on its way."""
        return self._served is not None and self._waiting_count > 0

    @property
    def _durable_end(self) -> int:
        """The last offset of the state topic known to be durable; -1 for none."""
        applied = NO_OFFSET if self._served is None else self._served.loaded.fold.applied_offset
        return max(self._end_of_log, applied)

    @property
    def reason(self) -> str:
        """Why it is not ready, in one sentence; empty when it is."""
        return "" if self.is_ready else self._reason

    def loaded(self) -> LoadedSlot | None:
        """Return what is durable, as far as it is known; None while nothing is."""
        return None if self._served is None else self._served.loaded

    def status(self) -> SlotStatus:
        """Return what people and probes are told."""
        loaded = self.loaded()
        return SlotStatus(
            partition=self.number,
            state=self._state,
            reason=self.reason,
            claim_epoch=-1 if loaded is None else loaded.fold.claim_epoch,
            applied_offset=-1 if loaded is None else loaded.fold.applied_offset,
            recovery_point=0 if loaded is None else loaded.fold.recovery_point(),
            key_count=0 if loaded is None else len(loaded.fold.states),
            waiting_count=self._waiting_count,
        )

    @property
    def _waiting_count(self) -> int:
        return 0 if (loaded := self.loaded()) is None else loaded.waiting_count

    def states(self) -> AppliedStates:
        """Return every durable state at one offset: a copy, so that writing goes on."""
        if (loaded := self.loaded()) is None:
            return AppliedStates(-1, {})
        return AppliedStates(loaded.fold.applied_offset, dict(loaded.fold.states))

    # ------------------------------------------------ its life

    def take(self) -> None:
        """Claim, load and serve it from now on: the fleet gave it to this process."""
        if self._is_abandoned or self._state.is_owned:
            return
        self._enter(SlotState.CLAIMING, "it was not claimed yet")
        self._is_in_question = False
        self._life = self._tasks.spawn(self._live(), name=f"slot {self.number} of the state log")

    def begin_to_leave(self) -> None:
        """Serve nothing new, and write what was queued; `lose` is to follow. What is not served stays.

        What was acquired is forgotten at once; who holds it is told so when it acknowledges.
        """
        if self._state is SlotState.READY:
            self._enter(SlotState.LEAVING, "it is being handed over")
            self._forget()
            self._end_sessions()

    def lose(self, reason: str) -> None:
        """Leave it at once, and refuse what waits: it is not this process's any more."""
        if self._state.is_owned and not self._is_abandoned:
            self._give_up(SlotState.UNASSIGNED, Doubt.FENCED, reason)
            self._end_sessions()

    def is_at(self, owner: str) -> None:
        """Know who owns it while it is not this process's; empty for nobody."""
        if self._state.is_owned or self._is_abandoned:
            return
        if owner:
            self._enter(SlotState.ELSEWHERE, f"{owner} owns it")
            self._end_sessions()  # such as were opened while nobody owned it
        elif self._state is not SlotState.UNASSIGNED:
            self._enter(SlotState.UNASSIGNED, "it is on the way to its next owner")

    def abandon(self, reason: str) -> None:
        """Leave the slot for good because its topics are no more, and refuse what waits."""
        self._is_abandoned = True
        self._give_up(SlotState.STOPPED, Doubt.TRUNCATED, reason)

    async def _live(self) -> None:
        async with self._living:  # a life before this one may still wait for a broker
            while self._is_wanted and self._state.is_under_way:
                try:
                    served = await self._open()
                    await served.left
                except Exception as failure:  # noqa: BLE001 - the top of a task: a slot needs somebody who tends it
                    await self._go_on_after(failure)

    @property
    def _is_wanted(self) -> bool:
        """Whether the slot is still this process's, and by the life that asks."""
        return self._life is asyncio.current_task() and self._state.is_owned

    async def _go_on_after(self, failure: Exception) -> None:
        match failure:
            case _ if not self._is_wanted and isinstance(failure, KproxyError):
                pass  # `gather` lets a failure through in place of the cancellation of `_give_up`
            case ClaimLost():
                if reason := self._right.stand_back(failure):
                    self._stop(reason)
                else:
                    await self._pause(str(failure))
            case BrokerUnavailable():
                if isinstance(failure, LogTruncated):
                    self._raise_alarm(str(failure))
                await self._pause(str(failure))
            case CorruptStateRecord():
                self._stop(failure)
            case _:
                log.crash("slot_failed", failure, slot=self.number)
                detail = f"{type(failure).__name__} in kproxy"
                if self._served is not None and self._is_wanted:
                    self._have_doubt(self._served, Doubt.UNKNOWN_OUTCOME, detail)
                await self._pause(f"{detail} itself")

    def _stop(self, reason: str | CorruptStateRecord) -> None:
        self._enter(SlotState.STOPPED, str(reason))
        self._reports.stopped(self.number, reason)

    def _give_up(self, state: SlotState, doubt: Doubt, detail: str) -> None:
        self._enter(state, detail)
        life, self._life = self._life, None
        if self._served is not None:
            self._end_of_log = self._durable_end
            self._leave(self._served, doubt, detail)
        if life is not None and life is not asyncio.current_task():
            life.cancel()

    async def _open(self) -> ServedClaim:
        map_epoch = self._right.map_epoch(self.number)
        if self._is_in_question and self._end_of_log != NO_OFFSET:
            await self._claims.require_unclaimed(self.number, self._end_of_log, map_epoch)
        self._is_in_question = True
        claimed = await self._claims.claim(self.number, map_epoch, self._allocation.fleet_group)
        self._note_claim(claimed)
        async with self._turns.turn(lambda: bool(self._waiters)):
            self._enter(SlotState.LOADING, f"it is being replayed up to offset {claimed.state.claim_epoch}")
            loaded = await self._claims.load(claimed)
        self._right.require(self.number, loaded.groups.highest_claim, map_epoch)
        return self._serve(claimed, loaded)

    def _note_claim(self, claimed: ClaimedSlot) -> None:
        """See whether the log is at least as long as it was. What was acknowledged may be gone if it is not."""
        claim_epoch = claimed.state.claim_epoch
        if claim_epoch <= self._end_of_log:
            self._raise_alarm(
                f"{claimed.state}: it was claimed at offset {claim_epoch}, and was durable up to {self._end_of_log}"
            )
        self._end_of_log = claim_epoch

    def _raise_alarm(self, detail: str) -> None:
        self._is_alarm_raised = True
        self._reports.truncated(detail)

    def _serve(self, claimed: ClaimedSlot, loaded: LoadedSlot) -> ServedClaim:
        served = self._served_by(claimed, loaded)
        self._backoff.succeeded()
        if loaded.truncation and not self._is_alarm_raised:
            self._raise_alarm(loaded.truncation)
        self._is_alarm_raised = False
        self._listener.slot_loaded(self.number, tuple(loaded.images.values()), loaded.configs)
        self._served = served
        self._enter(SlotState.READY, "")
        self._reports.loaded(self.number, loaded)
        for operation in loaded.first_writes():
            ticket = self.submit_group(operation)
            if not isinstance(operation, RecoveryPoint):  # upkeep writes that down again
                ticket.on_done = partial(self._first_write_ended, served)
        self._on_ready(self)
        return served

    def _served_by(self, claimed: ClaimedSlot, loaded: LoadedSlot) -> ServedClaim:
        left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def have_doubt(doubt: Doubt, detail: str) -> None:
            if self._served is not None and self._served.left is left:
                self._have_doubt(self._served, doubt, detail)

        writers = (
            self._claims.writer(claimed.state, loaded.states, have_doubt),
            self._claims.writer(claimed.groups, loaded.groups, have_doubt),
        )
        return ServedClaim(loaded, writers, left)

    def _first_write_ended(self, served: ServedClaim, ticket: Ticket) -> None:
        if isinstance(ticket.refusal, StateNotWritten):
            loop = asyncio.get_running_loop()
            loop.call_later(FIRST_WRITES_AGAIN_SECONDS, self._load_again, served, str(ticket.refusal))

    def _load_again(self, served: ServedClaim, detail: str) -> None:
        """What stands before all other writes of a claim is written after the next one."""
        if self._served is served:
            detail = f"what is to be written first was refused: {detail}"
            self._have_doubt(served, Doubt.UNKNOWN_OUTCOME, detail)

    def _have_doubt(self, served: ServedClaim, doubt: Doubt, detail: str) -> None:
        """Stop at once: what is queued must not be answered as if it were durable."""
        self._note_end_of_log(doubt)
        is_wanted = self._state is not SlotState.LEAVING
        self._enter(SlotState.CLAIMING if is_wanted else SlotState.UNASSIGNED, detail)
        self._leave(served, doubt, detail)
        self._reports.left(self.number, doubt, detail)

    def _note_end_of_log(self, doubt: Doubt) -> None:
        """Remember up to where the log is durable, for the next claim; a truncation is told once."""
        self._is_alarm_raised = doubt is Doubt.TRUNCATED
        self._end_of_log = NO_OFFSET if doubt is Doubt.TRUNCATED else self._durable_end

    def _leave(self, served: ServedClaim, doubt: Doubt, detail: str) -> None:
        """Forget what was served, and refuse what waits."""
        self._served = None
        served.end(doubt, detail)
        self._forget()
        self._tasks.spawn(served.take_apart(), name=f"what slot {self.number} had is let go of")

    def _forget(self) -> None:
        take_every_step("slot_not_left", partial(self._listener.slot_lost, self.number))

    def _end_sessions(self) -> None:
        take_every_step("slot_not_left", partial(self._listener.slot_left, self.number))

    def _enter(self, state: SlotState, reason: str) -> None:
        assert state in TRANSITIONS[self._state], f"{self._state.value} to {state.value}"
        self._state, self._reason = state, reason
        if state.is_under_way:
            return
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _pause(self, reason: str) -> None:
        if not self._is_wanted:
            return
        self._enter(SlotState.CLAIMING, reason)
        self._reports.delayed(self.number, reason)
        self._backoff.failed()
        await asyncio.sleep(self._backoff.remaining_ms / 1000)
