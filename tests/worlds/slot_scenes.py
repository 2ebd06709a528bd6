"""What tests of one slot begin with: a slot that has some state."""

import asyncio

from kproxy.net.state_log.slot import StateSlot
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.group_queue import ConfigWrite
from kproxy.statelog.operations import Initialize
from tests.worlds.state_logs import StateLogBacking, acknowledged, drained, key_of_slot
from tests.worlds.waiting import until

KEY, OTHER = key_of_slot(0), key_of_slot(0, skip=1)
BEGINNING = Initialize(KEY, StateEpoch(0), 0)
CONFIGS = ConfigWrite("workers", {"share.auto.offset.reset": "earliest"})


async def with_state(backing: StateLogBacking) -> StateSlot:
    """Return a slot that serves, with a share-partition of which records 0 to 4 are acknowledged."""
    slot = await backing.ready_slot()
    slot.submit(BEGINNING)
    slot.submit(acknowledged(KEY, 0, 4))
    await drained(slot)
    return slot


async def served_again(backing: StateLogBacking, slot: StateSlot) -> None:
    """Return when a slot that was lost is loaded anew, and its first writes are durable."""
    await until(lambda: backing.listener.events[-2:] == ["lost 0", "loaded 0"])
    await drained(slot)


def lives_of(slot: StateSlot) -> list[asyncio.Task[object]]:
    """Return the tasks that tend a slot: one for each time that it was taken, as long as they last."""
    return [task for task in asyncio.all_tasks() if task.get_name() == f"slot {slot.number} of the state log"]


async def has_no_life(slot: StateSlot) -> None:
    """Return when nobody tends a slot any more."""
    await until(lambda: not lives_of(slot))
