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
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

from kproxy.errors import StateNotWritten
from kproxy.handlers.live.pauses import Pace
from kproxy.net.state_log.loading import LoadedSlot
from kproxy.net.state_log.reports import SlotReports
from kproxy.net.state_log.slot import StateSlot
from kproxy.share.identifiers import GroupId, SharePartitionKey, StateEpoch, TopicIdPartition
from kproxy.share.share_group_image import StateTopics
from kproxy.statelog.operations import Initialize
from kproxy.statelog.tickets import Ticket
from kproxy.telemetry import logs

log = logs.logger("net.state_log.lost_states")

AGAIN_SECONDS: Final = 5.0
"""How long to wait after a state could not be written, or a fault of kproxy itself."""

LOOKED_AT_ONCE: Final = 5_000
"""So many share-partitions of a group are looked at before others have a turn: some 20 ms."""

_LOOKS_OF_ONE: Final = 10
"""So many of them are looked at in the time of another group."""

FIRST_EPOCH: Final = StateEpoch(0)
"""Whatever epoch the group initializes the state with later is no lower."""


class LostStates:
    """Looks into each slot that begins to serve: it has both, the groups and the states of their share-partitions."""

    def __init__(self, reports: SlotReports) -> None:
        self._reports = reports
        self._begun: set[SharePartitionKey] = set()
        self._put_off: set[StateSlot] = set()

    def look(self, slot: StateSlot) -> None:
        """Begin anew what is lost of a slot, with an alarm, if the slot is ready; what cannot be written, later again.

        It is queued when this returns, before anybody else asks for it; of very many share-partitions a part is, and
        the rest soon, with turns for others in between. Raises nothing.
        """
        self._put_off.discard(slot)
        loaded = slot.loaded()
        if loaded is not None:
            self._go_on(slot, self._look_through(slot, loaded))

    def _go_on(self, slot: StateSlot, pauses: Iterator[None]) -> None:
        """Go on up to the next pause, and after that in the next turn of the event loop."""
        try:
            for _ in pauses:
                asyncio.get_running_loop().call_soon(self._go_on, slot, pauses)
                break
        except Exception as fault:  # noqa: BLE001 - the slot is to serve whatever happens here
            log.crash("lost_states_not_looked_for", fault, slot=slot.number)
            self._look_again(slot)

    def _look_through(self, slot: StateSlot, loaded: LoadedSlot) -> Iterator[None]:
        """Look at every group of a slot, and yield where others may have a turn."""
        pace = Pace(is_alone=True)
        for group_id in tuple(loaded.groups.group_ids):
            for some in _portions(loaded.groups.durable_initialized(group_id)):
                self._look_at(some, group_id, slot, loaded)
                if pace.is_pause_due(1 + len(some) // _LOOKS_OF_ONE):
                    yield
                    if slot.loaded() is not loaded:
                        return  # it is looked at when it is ready again

    def _look_at(
        self, some: Iterable[TopicIdPartition], group_id: GroupId, slot: StateSlot, loaded: LoadedSlot
    ) -> None:
        # As of this turn: what the group gave up in a pause is deleted, not lost.
        lost = tuple(self._lost_of(some, group_id, loaded))
        if lost:
            self._reports.begun_anew(group_id, slot.number, len(lost))
        for key in lost:
            self._begin_anew(key, slot)

    def _lost_of(
        self, some: Iterable[TopicIdPartition], group_id: GroupId, loaded: LoadedSlot
    ) -> Iterator[SharePartitionKey]:
        initialized = loaded.groups.durable_initialized(group_id)
        for topic_id, partition in some:
            if topic_id not in initialized or partition not in initialized[topic_id].partitions:
                continue
            key = SharePartitionKey(group_id, topic_id, partition)
            if key not in loaded.fold.states and key not in self._begun:
                yield key

    def _begin_anew(self, key: SharePartitionKey, slot: StateSlot) -> None:
        self._begun.add(key)
        ticket = slot.submit(Initialize(key, FIRST_EPOCH, 0))
        ticket.on_done = partial(self._ended, key, slot)
        if ticket.is_done:
            self._ended(key, slot, ticket)

    def _ended(self, key: SharePartitionKey, slot: StateSlot, ticket: Ticket) -> None:
        self._begun.discard(key)
        if isinstance(ticket.refusal, StateNotWritten):
            self._look_again(slot)  # the slot is not loaded again for that

    def _look_again(self, slot: StateSlot) -> None:
        if slot not in self._put_off:
            self._put_off.add(slot)
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self.look, slot)


def _portions(initialized: StateTopics) -> Iterator[Sequence[TopicIdPartition]]:
    partitions = (
        TopicIdPartition(topic_id, number)
        for topic_id, topic in initialized.items()
        for number in sorted(topic.partitions)
    )
    if not initialized:
        yield ()  # to have looked at a group that has none is work, too
    while some := tuple(islice(partitions, LOOKED_AT_ONCE)):
        yield some
