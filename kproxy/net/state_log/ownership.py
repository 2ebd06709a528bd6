"""`SlotOwnership`: which process owns the slots: the one whose claim of slot 0 is the last, and it owns every one.

Two processes that run at the same time, by mistake or while one takes over from the other, claim the same slots in
some order of their own. Were each slot judged by itself, either could end with half of them. So slot 0 decides: it is
claimed before all others; whoever finds another process's claim there, behind its own, leaves every slot at once
and for good; whoever does not claims anew what it lost. The log of slot 0 has one order, so exactly one is left.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Final, Protocol

from kproxy.errors import BrokerUnavailable, KproxyError
from kproxy.net.cluster.shared_question import SharedQuestion
from kproxy.net.state_log.every_step import take_every_step
from kproxy.net.state_log.reports import SlotReports
from kproxy.statelog.state_log_fold import NO_OFFSET

DECIDING_SLOT: Final = 0

NAMING_SECONDS: Final = 5.0
"""For how long the claim of the new owner is looked for at most: its epoch fences others before the claim is there."""
NAMING_PAUSE_SECONDS: Final = 0.1

UNKNOWN_OWNER: Final = "another kproxy, whose claim was not found"


class ClaimLost(KproxyError):
    """Another process claimed a slot while this one was about to, or since it did. Raised by `SlotClaims`.

    `owner` is who did, as its claim names it; empty where that is not known.
    """

    def __init__(self, detail: str, owner: str = "") -> None:
        super().__init__(detail, owner)
        self.owner = owner
        self._detail = detail

    def __str__(self) -> str:
        return self._detail


class OwnedSlot(Protocol):
    """A slot, as far as it is owned."""

    @property
    def number(self) -> int:
        """Which one."""
        ...

    @property
    def owned_up_to(self) -> int:
        """The last offset of its state topic known to be written under this process's claim; -1 without one."""
        ...

    def step_down(self, detail: str) -> None:
        """Leave it for good: what waits is refused, and it never serves again."""
        ...


class SlotOwnership:
    """One for all slots of a process.

    Args:
        require_unclaimed: looks for claims of others in a slot (by number) above an offset, and raises ClaimLost
            when there is one.
        reports: hears when everything is lost.
        spawn: runs a named coroutine as a task: who took over may have to be looked up.
    """

    def __init__(
        self,
        require_unclaimed: Callable[[int, int], Awaitable[None]],
        *,
        reports: SlotReports,
        spawn: Callable[[Coroutine[object, object, None], str], object],
    ) -> None:
        self.new_owner = ""
        """Who owns the slots instead of this process, as its claim names it; empty while they are this process's."""
        self._require_unclaimed = require_unclaimed
        self._reports = reports
        self._spawn = spawn
        self._slots: list[OwnedSlot] = []
        # One connection that ends leaves many slots in doubt in one turn of the loop.
        self._look = SharedQuestion(self._look_into_deciding_slot, failures=(ClaimLost, BrokerUnavailable))

    def join(self, slot: OwnedSlot) -> None:
        """Let `slot` stand and fall with the others."""
        self._slots.append(slot)

    async def require_held(self) -> None:
        """Look into the log of slot 0. All who ask before a look begins share it; none hears of one that began before.

        Raises:
            ClaimLost: another process claimed it since this one did; the caller is to call `lose`.
            BrokerUnavailable: the log cannot be read.
        """
        await self._look.answer()

    async def _look_into_deciding_slot(self) -> None:
        for slot in self._slots:
            if slot.number == DECIDING_SLOT and slot.owned_up_to != NO_OFFSET:
                await self._require_unclaimed(DECIDING_SLOT, slot.owned_up_to)

    def lose(self, lost: ClaimLost) -> None:
        """Leave every slot at once, and say so once, naming who owns them now; that may have to be read first.

        A fault in one of them is logged, and keeps none of the others.
        """
        if self.new_owner:
            return
        self.new_owner = lost.owner or UNKNOWN_OWNER
        detail = str(lost)
        take_every_step("slot_not_left", *(partial(slot.step_down, detail) for slot in self._slots))
        if lost.owner:
            self._report(detail)
        else:
            self._spawn(self._name_new_owner(detail), "search for the new owner")

    async def _name_new_owner(self, detail: str) -> None:
        try:
            async with asyncio.timeout(NAMING_SECONDS):
                self.new_owner = await self._claimant() or self.new_owner
        except TimeoutError:
            pass  # the error is said without a name
        finally:
            self._report(detail)

    async def _claimant(self) -> str:
        """Return who claimed slot 0 behind this process, as soon as its claim can be read."""
        while True:
            try:
                await self._look_into_deciding_slot()
            except ClaimLost as lost:
                return lost.owner
            except BrokerUnavailable:
                pass  # it may answer the next question
            await asyncio.sleep(NAMING_PAUSE_SECONDS)

    def _report(self, detail: str) -> None:
        self._reports.stepped_down(len(self._slots), self.new_owner, detail)
