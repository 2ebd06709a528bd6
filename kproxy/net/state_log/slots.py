"""`StateSlots`: every slot of the state log, and the one place where it is asked who owns what.

A slot has whole groups: what a group is, what it has configured, and the state of all its share-partitions. Today one
process owns all slots, and `ownership` tells which.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from kproxy.net.state_log.every_step import take_every_step
from kproxy.net.state_log.load_turns import LoadTurns
from kproxy.net.state_log.ownership import DECIDING_SLOT, ClaimLost, SlotOwnership
from kproxy.net.state_log.reports import STEPPED_DOWN_ADVICE
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.partitioning import group_partition
from kproxy.statelog.slot_status import AppliedStates, SlotState, SlotStatus
from kproxy.wording import counted

SLOTS_LOADED_AT_ONCE: Final = 8
"""Loading is bound by one core; more at once only makes each of them slower and holds more in memory."""

_DRAIN_STEP_SECONDS: Final = 0.01


class StateSlots:
    """All slots of this process.

    Args:
        count: how many there are.
        make: builds slot n; the turns limit how many load at once.
        ownership: judges whether they are this process's; each slot that was built has joined it.
    """

    def __init__(
        self,
        count: int,
        make: Callable[[int, LoadTurns], StateSlot],
        ownership: SlotOwnership,
    ) -> None:
        turns = LoadTurns(SLOTS_LOADED_AT_ONCE)
        self._ownership = ownership
        self._slots = tuple(make(number, turns) for number in range(count))

    def __len__(self) -> int:
        return len(self._slots)

    def start(self, tasks: TaskKeeper) -> None:
        """Begin to claim and load every slot; the one that decides about all is claimed first."""
        for slot in self._slots:
            tasks.spawn(self._live(slot), name=f"slot {slot.number} of the state log")

    async def _live(self, slot: StateSlot) -> None:
        if slot.number != DECIDING_SLOT:
            await self._slots[DECIDING_SLOT].claimed()
        await slot.run()

    async def require_owned(self) -> None:
        """See whether another process owns the slots by now, and leave all of them if one does.

        Raises:
            BrokerUnavailable: that cannot be seen.
        """
        try:
            await self._ownership.require_held()
        except ClaimLost as lost:
            self._ownership.lose(lost)

    def abandon(self, reason: str) -> None:
        """Leave every slot: the topics are no more."""
        take_every_step("slot_not_left", *(partial(slot.abandon, reason) for slot in self._slots))

    def slot_of_group(self, group_id: str) -> StateSlot:
        """Return the slot that holds a group, its configurations, and the state of its share-partitions."""
        return self._slots[group_partition(GroupId(group_id), len(self._slots))]

    def all(self) -> Sequence[StateSlot]:
        """Return every slot, by number."""
        return self._slots

    async def drain(self, timeout_s: float) -> None:
        """Return when nothing waits to become durable, or after `timeout_s`."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + timeout_s
        while loop.time() < ends_at:
            if not any(slot.has_work for slot in self._slots):
                return
            await asyncio.sleep(_DRAIN_STEP_SECONDS)

    # ------------------------------------------------ for people and probes

    def statuses(self) -> Sequence[SlotStatus]:
        """Return every slot's status, by number."""
        return [slot.status() for slot in self._slots]

    def states(self, number: int) -> AppliedStates:
        """Return the durable states of slot `number`, at one offset. Raises IndexError for no such slot."""
        if number < 0:
            raise IndexError(number)
        return self._slots[number].states()

    def state_of(self, key: SharePartitionKey) -> DurableShareState | None:
        """Return the durable state of a share-partition, None when there is none.

        Raises:
            ApiError: its slot is not loaded, or another process's; the text says so.
        """
        slot = self.slot_of_group(key.group_id)
        slot.require_ready()
        loaded = slot.loaded()
        return None if loaded is None else loaded.fold.states.get(key)

    def counts(self) -> Mapping[tuple[str, ...], float]:
        """Return how many slots are in each state."""
        counts: dict[tuple[str, ...], float] = {(state.value,): 0 for state in SlotState}
        for slot in self._slots:
            counts[slot.state.value,] += 1
        return counts

    def problem(self) -> str:
        """Return why not every slot is ready, and what to do if it stays so; empty when every one is."""
        if self._ownership.new_owner:
            return (
                f"another kproxy took the state log over: {self._ownership.new_owner}; {STEPPED_DOWN_ADVICE}"
            )
        waiting = [slot for slot in self._slots if not slot.is_ready]
        if not waiting:
            return ""
        first = waiting[0]
        return f"not ready: {len(waiting)} of {counted(len(self._slots), 'slot')}; slot {first.number}: {first.reason}"
