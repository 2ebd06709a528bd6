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
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

from kproxy.errors import KproxyError, StateNotWritten
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.net.state_log.reports import SlotReports
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.identifiers import GroupId, SharePartitionKey, StateEpoch, TopicIdPartition
from kproxy.share.share_group_image import StateTopics
from kproxy.statelog.operations import Initialize
from kproxy.statelog.tickets import Ticket
from kproxy.telemetry import logs

log = logs.logger("net.state_log.lost_states")

SETTLING_SECONDS: Final = 0.2
"""How long to wait for other slots after one has become ready: they are looked at together."""

AGAIN_SECONDS: Final = 5.0
"""How long to wait after a state could not be written."""

LOOKED_AT_ONCE: Final = 5_000
"""So many share-partitions of a group are looked at before others have a turn: some 20 ms."""

_LOOKS_OF_ONE: Final = 10
"""So many of them are looked at in the time of another group."""

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
        """Begin anew what is lost, as far as the slots of the group and of the state are ready; with an alarm.

        Others have a turn now and then.
        """
        pace = Pace()
        for slot in slots.all():
            try:
                for group_id in () if (loaded := slot.loaded()) is None else loaded.groups.group_ids:
                    await self._look_at(group_id, slot, slots, pace)
            except KproxyError as failure:
                log.warning("lost_states_not_looked_for", slot=slot.number, detail=failure)
            await let_others_go_on()

    async def _look_at(self, group_id: GroupId, slot: StateSlot, slots: StateSlots, pace: Pace) -> None:
        begun: Counter[int] = Counter()
        try:
            for some in _portions(_initialized(group_id, slot)):
                # In this turn: what the group gives up in a pause is deleted, not lost.
                for key in self._lost_of(some, _initialized(group_id, slot), group_id, slots):
                    self._begin_anew(key, slots)
                    begun[slots.slot_of_key(key).number] += 1
                if pace.is_pause_due(1 + len(some) // _LOOKS_OF_ONE):
                    await let_others_go_on()
        finally:
            for number, count in begun.items():
                self._reports.begun_anew(group_id, number, count)

    def _lost_of(
        self,
        some: Iterable[TopicIdPartition],
        initialized: StateTopics,
        group_id: GroupId,
        slots: StateSlots,
    ) -> Iterator[SharePartitionKey]:
        for topic_id, partition in some:
            if topic_id not in initialized or partition not in initialized[topic_id].partitions:
                continue
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


def _initialized(group_id: GroupId, slot: StateSlot) -> StateTopics:
    """Return what a group says, durably and at this moment, to be initialized; nothing while that is not known."""
    loaded = slot.loaded()
    image = None if loaded is None else loaded.groups.durable_image(group_id)
    return {} if image is None else image.initialized


def _portions(initialized: StateTopics) -> Iterator[Sequence[TopicIdPartition]]:
    partitions = (
        TopicIdPartition(topic_id, number)
        for topic_id, topic in initialized.items()
        for number in sorted(topic.partitions)
    )
    while some := tuple(islice(partitions, LOOKED_AT_ONCE)):
        yield some
