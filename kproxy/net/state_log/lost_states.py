"""`LostStates`: share-partitions that their groups know to be initialized, and whose state is gone from the log.

A group says that a partition is initialized only after its state was durable, and says that it is being deleted
before the state goes. So where the group says "initialized" and there is no state, the state topic has lost it: its
end was cut off, or somebody deleted the topic while the groups topic stayed. Nobody would initialize such a
partition again, and nobody could read it.

They begin anew, here and not by the next heartbeat: that would begin where `share.auto.offset.reset` says, by default
behind the last record, and pass over everything that was not acknowledged yet. How far the group had come is not
known, and the start offset never moves into the unknown; so it is 0, which becomes the first record that the topic
still has. Records are delivered again, and none is lost.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from kproxy.errors import KproxyError, StateNotWritten
from kproxy.net.state_log.reports import SlotReports
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.identifiers import GroupId, SharePartitionKey, StateEpoch
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.operations import Initialize
from kproxy.statelog.tickets import Ticket
from kproxy.telemetry import logs

log = logs.logger("net.state_log.lost_states")

SETTLING_SECONDS: Final = 0.2
"""How long to wait for other slots after one has become ready: they are looked at together."""

AGAIN_SECONDS: Final = 5.0
"""How long to wait after a state could not be written."""

FIRST_EPOCH: Final = StateEpoch(0)
"""Whatever epoch the group initializes the state with later is no lower."""


class LostStates:
    """Looks whenever a slot has begun to serve: the group and the state are in different slots, as a rule."""

    def __init__(self, reports: SlotReports) -> None:
        self._reports = reports
        self._is_awake = asyncio.Event()
        self._begun: set[SharePartitionKey] = set()

    def wake(self) -> None:
        """Look soon: a slot is ready."""
        self._is_awake.set()

    async def run(self, slots: StateSlots) -> None:
        """Look whenever woken, for ever. May be begun anew."""
        while True:
            await self._is_awake.wait()
            await asyncio.sleep(SETTLING_SECONDS)
            await self._look_once(slots)

    async def _look_once(self, slots: StateSlots) -> None:
        self._is_awake.clear()
        try:
            await self.look(slots)
        except Exception:
            self._is_awake.set()  # what was not looked at is looked at when this is begun anew
            raise

    async def look(self, slots: StateSlots) -> None:
        """Begin anew what is lost, as far as the slots of the group and of the state are ready; with an alarm."""
        for slot in slots.all():
            try:
                self._look_into(slot, slots)
            except KproxyError as failure:
                log.warning("lost_states_not_looked_for", slot=slot.number, detail=failure)
            await asyncio.sleep(0)  # others have a turn

    def _look_into(self, slot: StateSlot, slots: StateSlots) -> None:
        loaded = slot.loaded()
        if loaded is None:
            return
        for group_id, image in loaded.groups.durable_images().items():
            for number, keys in _by_slot(self._lost_of(group_id, image, slots), slots).items():
                self._reports.begun_anew(group_id, number, len(keys))
                for key in keys:
                    self._begin_anew(key, slots)

    def _lost_of(
        self, group_id: GroupId, image: ShareGroupImage, slots: StateSlots
    ) -> Iterator[SharePartitionKey]:
        for topic_id, topic in image.initialized.items():
            for partition in sorted(topic.partitions):
                key = SharePartitionKey(group_id, topic_id, partition)
                holder = slots.slot_of_key(key).loaded()
                if holder is not None and key not in holder.fold.states and key not in self._begun:
                    yield key

    def _begin_anew(self, key: SharePartitionKey, slots: StateSlots) -> None:
        self._begun.add(key)
        ticket = slots.slot_of_key(key).submit(Initialize(key, FIRST_EPOCH, 0))
        ticket.on_done = partial(self._ended, key)
        if ticket.is_done:
            self._ended(key, ticket)

    def _ended(self, key: SharePartitionKey, ticket: Ticket) -> None:
        self._begun.discard(key)
        if isinstance(ticket.refusal, StateNotWritten):
            # No slot is loaded again for that, so nobody else wakes this.
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self.wake)


def _by_slot(
    keys: Iterator[SharePartitionKey], slots: StateSlots
) -> Mapping[int, Sequence[SharePartitionKey]]:
    found: dict[int, list[SharePartitionKey]] = {}
    for key in keys:
        found.setdefault(slots.slot_of_key(key).number, []).append(key)
    return found
