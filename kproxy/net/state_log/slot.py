"""`StateSlot`: partition n of the state topic and partition n of the groups topic, owned, loaded and written together.

A slot is claimed before it is read: a higher producer epoch of its transactional id, then a claim record in both
partitions. From then on the leaders refuse whoever wrote before, and everything up to the claim records is all there
is. Reading up to there gives the durable state; what is written afterwards is known because this process writes it.

Whenever an append does not end as it had to, nothing is taken back: the slot forgets everything, claims again and
reads again, unless another process owns the slots meanwhile (`ownership`). Then it steps down for good, and so
do all others.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from kproxy.errors import (
    BrokerUnavailable,
    CoordinatorLoadInProgress,
    CorruptStateRecord,
    NotCoordinator,
    StateLogUnavailable,
    StateNotWritten,
)
from kproxy.handlers.ports import Clock
from kproxy.net.backoff import Backoff
from kproxy.net.state_log.claim import SlotClaims
from kproxy.net.state_log.every_step import take_every_step
from kproxy.net.state_log.load_turns import LoadTurns
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot
from kproxy.net.state_log.log_scan import LogTruncated
from kproxy.net.state_log.ownership import DECIDING_SLOT, ClaimLost, SlotOwnership
from kproxy.net.state_log.partition_writer import Doubt
from kproxy.net.state_log.reports import SlotReports
from kproxy.net.state_log.served_claim import ServedClaim
from kproxy.share.share_group_image import ShareGroupImage
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


class SlotListener(Protocol):
    """Who holds in memory what is durable in a slot. Both are called on the event loop and must not raise."""

    def slot_loaded(
        self, slot: int, images: Sequence[ShareGroupImage], configs: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Take over the groups of the slot, and the configurations of groups, as they are in the log."""
        ...

    def slot_lost(self, slot: int) -> None:
        """Forget everything that belongs to the slot: nobody knows whether it is true."""
        ...


class StateSlot:
    """One slot. `run` is its life; everything else is for those who use it meanwhile.

    Args:
        number: which one.
        claims: claims and loads slots.
        clock: for the pauses between attempts.
        reports: hears what operators are to know.
        listener: holds in memory what is durable here.
        turns: how many slots are loaded at once; those that somebody waits for come first.
        ownership: judges whether the slots are this process's; the slot joins it.
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
        ownership: SlotOwnership,
        on_ready: Callable[["StateSlot"], None] = lambda _slot: None,
    ) -> None:
        self.number = number
        self._claims = claims
        self._reports = reports
        self._listener = listener
        self._turns = turns
        self._ownership = ownership
        self._on_ready = on_ready
        self._backoff = Backoff(clock, first_ms=FIRST_RETRY_MS, last_ms=LAST_RETRY_MS)
        self._state = SlotState.CLAIMING
        self._reason = "it was not claimed yet"
        self._served: ServedClaim | None = None
        self._end_of_log = NO_OFFSET
        self._is_in_question = False
        self._is_alarm_raised = False
        self._was_claimed = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._waiters: set[asyncio.Future[None]] = set()
        ownership.join(self)

    # ------------------------------------------------ using it

    @property
    def state(self) -> SlotState:
        """Where it is in its life."""
        return self._state

    @property
    def is_ready(self) -> bool:
        """Whether it is claimed and loaded."""
        return self._state is SlotState.READY

    def require_ready(self) -> None:
        """Return if operations can be submitted.

        Raises:
            NotCoordinator: another process took the slot over.
            CoordinatorLoadInProgress: it is being claimed or loaded.
            StateLogUnavailable: it cannot be loaded, and an operator has to look.
        """
        self._require_served()

    def _require_served(self) -> ServedClaim:
        if self._served is not None:
            return self._served
        text = f"slot {self.number} of the state log: {self._reason}"
        if self._state is SlotState.STEPPED_DOWN:
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

    async def claimed(self) -> None:
        """Return when the slot was claimed for the first time, or when it is clear that it never will be."""
        await self._was_claimed.wait()

    def submit(self, operation: Operation) -> Ticket:
        """Queue an operation on share-partition state. Raises as `require_ready`."""
        return self._require_served().submit(operation)

    def submit_group(self, operation: GroupOperation) -> Ticket:
        """Queue a change of a group, or of what is kept beside groups. Raises as `require_ready`."""
        return self._require_served().submit_group(operation)

    @property
    def has_work(self) -> bool:
        """Whether something waits to become durable, or is on its way."""
        return self.is_ready and self._waiting_count > 0

    @property
    def owned_up_to(self) -> int:
        """The last offset of the state topic known to be written under this process's claim; -1 without one."""
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
        loaded = self.loaded()
        return 0 if loaded is None else loaded.states.waiting_count + loaded.groups.waiting_count

    def states(self) -> AppliedStates:
        """Return every durable state at one offset: a copy, so that writing goes on."""
        if (loaded := self.loaded()) is None:
            return AppliedStates(-1, {})
        return AppliedStates(loaded.fold.applied_offset, dict(loaded.fold.states))

    # ------------------------------------------------ its life

    async def run(self) -> None:
        """Claim, load and serve, again and again, until the slot is given up or the task is cancelled."""
        self._life = asyncio.current_task()
        while not self._state.is_over:
            try:
                served = await self._open()
                await served.left
            except ClaimLost as lost:
                self._ownership.lose(lost)
                self.step_down(str(lost))  # also where all were lost before: nothing else would end this
            except BrokerUnavailable as failure:
                await self._pause(failure)
            except CorruptStateRecord as corrupt:
                self._enter(SlotState.STOPPED, str(corrupt))
                self._reports.stopped(self.number, str(corrupt))
            except Exception as fault:  # noqa: BLE001 - the top of a task: a slot that nobody tends is lost for good
                log.crash("slot_failed", fault, slot=self.number)
                if self._served is not None:
                    self._have_doubt(self._served, Doubt.UNKNOWN_OUTCOME, f"{type(fault).__name__} in kproxy")
                await self._pause(BrokerUnavailable(f"{type(fault).__name__} in kproxy itself"))

    def step_down(self, detail: str) -> None:
        """Leave the slot for good, and refuse what waits: another process owns it. Ends `run`."""
        if self._state is SlotState.STEPPED_DOWN:
            return
        was_served = self._served is not None
        self._give_up(SlotState.STEPPED_DOWN, Doubt.FENCED, detail)
        if was_served:
            self._reports.left(self.number, Doubt.FENCED, detail)

    def abandon(self, reason: str) -> None:
        """Leave the slot because its topics are no more, and refuse what waits. Ends `run`."""
        self._give_up(SlotState.STOPPED, Doubt.TRUNCATED, reason)

    def _give_up(self, state: SlotState, doubt: Doubt, detail: str) -> None:
        self._enter(state, detail)
        if self._served is not None:
            self._leave(self._served, doubt, detail)
        elif self._life is not None and self._life is not asyncio.current_task():
            self._life.cancel()

    async def _open(self) -> ServedClaim:
        if self._is_in_question:
            await self._ownership.require_held()
        claimed = await self._claim()
        self._note_claim(claimed)
        async with self._turns.turn(lambda: bool(self._waiters)):
            self._enter(SlotState.LOADING, f"it is being replayed up to offset {claimed.state.claim_epoch}")
            loaded = await self._claims.load(claimed)
        return self._serve(claimed, loaded)

    async def _claim(self) -> ClaimedSlot:
        self._is_in_question = True
        try:
            return await self._claims.claim(self.number)
        except ClaimLost as lost:
            if self.number == DECIDING_SLOT:
                raise
            raise BrokerUnavailable(f"{lost}; slot {DECIDING_SLOT} tells who owns the slots") from lost

    def _note_claim(self, claimed: ClaimedSlot) -> None:
        """See whether the log is at least as long as it was. What was acknowledged may be gone if it is not."""
        claim_epoch = claimed.state.claim_epoch
        if claim_epoch <= self._end_of_log:
            self._raise_alarm(
                f"{claimed.state}: it was claimed at offset {claim_epoch}, and was durable up to {self._end_of_log}"
            )
        self._end_of_log = claim_epoch
        self._was_claimed.set()

    def _raise_alarm(self, detail: str) -> None:
        self._is_alarm_raised = True
        self._reports.truncated(detail)

    def _serve(self, claimed: ClaimedSlot, loaded: LoadedSlot) -> ServedClaim:
        served = self._served_by(claimed, loaded)
        self._backoff.succeeded()
        if loaded.truncation and not self._is_alarm_raised:
            self._raise_alarm(loaded.truncation)
        self._is_alarm_raised = False
        self._listener.slot_loaded(self.number, tuple(loaded.images.values()), loaded.groups.configs())
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
        if self.number == DECIDING_SLOT and doubt is Doubt.FENCED:
            self._ownership.lose(ClaimLost(detail))
            self.step_down(detail)
        else:
            self._note_end_of_log(doubt)
            self._enter(SlotState.CLAIMING, detail)
            self._leave(served, doubt, detail)
            self._reports.left(self.number, doubt, detail)

    def _note_end_of_log(self, doubt: Doubt) -> None:
        """Remember up to where the log is durable, for the next claim; a truncation is told once."""
        self._is_alarm_raised = doubt is Doubt.TRUNCATED
        self._end_of_log = NO_OFFSET if doubt is Doubt.TRUNCATED else self.owned_up_to

    def _leave(self, served: ServedClaim, doubt: Doubt, detail: str) -> None:
        """Forget what was served, and refuse what waits."""
        self._served = None
        served.end(doubt, detail)
        take_every_step("slot_not_left", partial(self._listener.slot_lost, self.number))

    def _enter(self, state: SlotState, reason: str) -> None:
        assert state in TRANSITIONS[self._state], f"{self._state.value} to {state.value}"
        self._state, self._reason = state, reason
        if state.is_under_way:
            return
        if state.is_over:
            self._was_claimed.set()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _pause(self, failure: BrokerUnavailable) -> None:
        if self._state.is_over:  # `gather` lets a failure through in place of the cancellation of `_give_up`
            return
        if isinstance(failure, LogTruncated):
            self._raise_alarm(str(failure))
        self._enter(SlotState.CLAIMING, str(failure))
        self._reports.delayed(self.number, str(failure))
        self._backoff.failed()
        await asyncio.sleep(self._backoff.remaining_ms / 1000)
