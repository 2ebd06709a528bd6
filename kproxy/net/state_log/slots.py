"""`StateSlots`: every slot of the state log, and the one place where it is asked who owns what.

A slot has whole groups: what a group is, what it has configured, and the state of all its share-partitions. Each
is owned by one process of the fleet, which says what is this process's.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from kproxy.fleet.fleet_map import FleetMap
from kproxy.net.state_log.allocation import SlotAllocation
from kproxy.net.state_log.every_step import take_every_step
from kproxy.net.state_log.load_turns import LoadTurns
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.partitioning import group_partition
from kproxy.statelog.slot_status import AppliedStates, SlotState, SlotStatus
from kproxy.wording import counted

SLOTS_LOADED_AT_ONCE: Final = 8
"""Loading is bound by one core; more at once only makes each of them slower and holds more in memory."""

HANDING_OVER_SECONDS: Final = 1.0
"""For how long what was queued is written before a slot is given up: nobody serves it meanwhile."""

_DRAIN_STEP_SECONDS: Final = 0.01

_ON_THE_WAY: Final = frozenset({SlotState.LEAVING, SlotState.UNASSIGNED, SlotState.ELSEWHERE})
"""What a slot that is being handed over may be in."""


class StateSlots:
    """All slots of the state log, as this process sees them. Hears of maps as `net.fleet.FleetListener` says.

    Args:
        count: how many there are.
        make: builds slot n; the turns limit how many load at once.
        allocation: is told what was given up.
        tasks: runs what takes long.
        own_token: of this process, as maps have it.
    """

    def __init__(
        self,
        count: int,
        make: Callable[[int, LoadTurns], StateSlot],
        *,
        allocation: SlotAllocation,
        tasks: TaskKeeper,
        own_token: str,
    ) -> None:
        turns = LoadTurns(SLOTS_LOADED_AT_ONCE)
        self._allocation = allocation
        self._tasks = tasks
        self._own_token = own_token
        self._handed_over: set[int] = set()
        self._slots = tuple(make(number, turns) for number in range(count))

    def __len__(self) -> int:
        return len(self._slots)

    # ------------------------------------------------ what the fleet says

    def map_changed(self, fleet_map: FleetMap, gained: frozenset[int]) -> None:
        """Know who owns what from now on, and claim, load and serve the slots that were `gained`."""
        for slot in self._slots:
            if slot.number in gained:
                slot.take()
            else:
                owner = fleet_map.owner_of(slot.number)
                slot.is_at("" if owner is None or owner.token == self._own_token else owner.name)

    def give_up(self, slots: frozenset[int]) -> None:
        """Begin to leave these slots in order; the allocation hears of it when what was queued is written."""
        for number in slots:
            self._slots[number].begin_to_leave()
        not_served = (number for number in slots if self._slots[number].state is not SlotState.LEAVING)
        self.slots_lost(frozenset(not_served), "it is to be another process's")
        if not_asked_before := slots - self._handed_over:
            self._handed_over |= not_asked_before
            self._tasks.spawn(self._hand_over(not_asked_before), name="handover of slots")

    def slots_lost(self, slots: frozenset[int], reason: str) -> None:
        """Leave these at once."""
        take_every_step("slot_not_left", *(partial(self._slots[number].lose, reason) for number in slots))

    async def _hand_over(self, numbers: frozenset[int]) -> None:
        """Leave what is not this process's again: a lease may end meanwhile, and a newer map give slots back."""
        await self._written([self._slots[number] for number in numbers], HANDING_OVER_SECONDS)
        self._handed_over -= numbers
        left = frozenset(number for number in numbers if self._slots[number].state in _ON_THE_WAY)
        self.slots_lost(left, "it was handed over")
        if left:
            self._allocation.gave_up(left)

    # ------------------------------------------------ using them

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
        await self._written(self._slots, timeout_s)

    @staticmethod
    async def _written(slots: Iterable[StateSlot], timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + timeout_s
        while loop.time() < ends_at:
            if not any(slot.has_work for slot in slots):
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
        """Return why not every slot is ready, here or elsewhere; empty when every one is, as far as is known."""
        waiting = [slot for slot in self._slots if not slot.state.is_well]
        if not waiting:
            return ""
        first = waiting[0]
        return f"not ready: {len(waiting)} of {counted(len(self._slots), 'slot')}; slot {first.number}: {first.reason}"
