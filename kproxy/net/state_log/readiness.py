"""`LogReadiness`: requests that wait until the state log is found, and their slots are claimed and loaded.

What ends a wait is an event: the topics were found, a slot is ready or given up, the connection closed, the process
ends. Memory is bounded by the connections, for each has one request in progress.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.ports import Clock
from kproxy.handlers.readiness import StateNeed
from kproxy.net.state_log.durable_state_log import SlotDirectory
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.net.waking_turns import WakingTurns

MOST_HASHED_CHARACTERS: Final = 20_000
"""To find a slot is to hash a group id, which is the client's. So much takes a millisecond or two."""

_LOOKUP_CHARACTERS: Final = 40
"""What it costs to look one group up, beside its id."""


@dataclass(slots=True, eq=False)
class _Wait:
    """One request that waits. Its time is up early when nobody wants its answer, or the process ends."""

    patience: asyncio.Timeout
    is_forsaken: bool = False

    def cut_short(self) -> None:
        if not self.patience.expired():  # it may be about to end by itself, and cannot be rescheduled then
            self.patience.reschedule(asyncio.get_running_loop().time())


class LogReadiness:
    """Implements `Readiness` over the slots of `directory`.

    Thousands may have waited for the same thing: those whose wait is over go on in `turns`.
    """

    def __init__(self, directory: SlotDirectory, clock: Clock, turns: WakingTurns | None = None) -> None:
        self._directory = directory
        self._clock = clock
        self._turns = turns if turns is not None else WakingTurns()
        self._waits: dict[int, set[_Wait]] = {}
        self._is_ending = False

    @property
    def waiting_count(self) -> int:
        """Requests that wait."""
        return sum(map(len, self._waits.values()))

    async def wait(self, need: StateNeed, connection_id: int) -> int:
        """Return when all of `need` is there, or not to be waited for; as the port says."""
        if self._is_ending or need.patience_ms <= 0 or not self._has_to_wait(need):
            return 0
        began_ms = self._clock.now_ms()
        wait = _Wait(asyncio.timeout(need.patience_ms / 1000))
        self._waits.setdefault(connection_id, set()).add(wait)
        try:
            with suppress(TimeoutError):
                async with wait.patience:
                    await self._come(need)
        finally:
            self._forget(connection_id, wait)
        if wait.is_forsaken:
            raise CoordinatorNotAvailable("the connection closed while its request waited for the state log")
        if wait.patience.expired():
            await self._turns.begin()
        return max(self._clock.now_ms() - began_ms, 1)

    def forsake(self, connection_id: int) -> None:
        """End the waits of a connection that closed."""
        for wait in self._waits.get(connection_id, ()):
            wait.is_forsaken = True
            wait.cut_short()

    def release(self) -> None:
        """End every wait: what they wait for does not come."""
        for waits in self._waits.values():
            for wait in waits:
                wait.cut_short()

    def end(self) -> None:
        """End every wait, and let nobody wait again."""
        self._is_ending = True
        self.release()

    def _forget(self, connection_id: int, wait: _Wait) -> None:
        waits = self._waits[connection_id]
        waits.discard(wait)
        if not waits:
            del self._waits[connection_id]

    def _has_to_wait(self, need: StateNeed) -> bool:
        slots = self._directory.slots
        if slots is None:
            return not self._directory.is_hopeless
        if need.is_nothing_of_it or not any(slot.state.is_under_way for slot in slots.all()):
            return False
        return any(slot.state.is_under_way for slot in _needed(slots, need))

    async def _come(self, need: StateNeed) -> None:
        """Return when nothing of `need` is to come any more; topics that are created anew have other slots.

        Each look is taken in a turn, and the last one is that in which the request goes on.
        """
        while self._has_to_wait(need):
            slots = self._directory.slots
            if slots is None:
                await self._directory.changed()
            else:
                for slot in list(_needed(slots, need)):
                    await slot.settled()
            await self._turns.begin()


def _needed(slots: StateSlots, need: StateNeed) -> Iterable[StateSlot]:
    """Return the slots of all that is needed; every slot, when it would hold up the loop to find them."""
    if need.is_everything or _hashed_characters(need) > MOST_HASHED_CHARACTERS:
        return slots.all()
    return map(slots.slot_of_group, need.group_ids)


def _hashed_characters(need: StateNeed) -> int:
    return sum(map(len, need.group_ids)) + len(need.group_ids) * _LOOKUP_CHARACTERS
