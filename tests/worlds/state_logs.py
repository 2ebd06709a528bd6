"""The state log of `kproxy.net` in front of a scripted cluster, wired as the application wires it."""

import logging
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Final, Literal

import pytest

from kproxy.errors import ApiError
from kproxy.net.state_log.claim import ClaimPolicy, SlotClaims
from kproxy.net.state_log.load_turns import LoadTurns
from kproxy.net.state_log.log_appender import LogAppender
from kproxy.net.state_log.log_scan import LogScan
from kproxy.net.state_log.producer_identities import ProducerIdentities
from kproxy.net.state_log.reports import SlotReports
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.net.state_log.state_topics import SlotTopics, StateTopicPlan, StateTopics
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    StateEpoch,
    TopicId,
    TopicIdPartition,
)
from kproxy.share.record_state import RecordState
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.operations import Write
from kproxy.statelog.partitioning import group_partition
from kproxy.statelog.share_coordinator import CoordinatorLimits
from kproxy.statelog.slot_status import SlotState
from kproxy.statelog.tickets import Ticket
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.backing import ORDERS, Backing, CountedThings
from tests.worlds.slot_allocations import OWN_TOKEN, OwnsEverything
from tests.worlds.waiting import until

STATE: Final = "__kproxy_share_state"
GROUPS: Final = "__kproxy_share_groups"
STATE_ID: Final = TopicId(b"_the_state_topic")
GROUPS_ID: Final = TopicId(b"the_groups_topic")
SLOT_COUNT: Final = 2
NOW_MS: Final = 1_700_000_000_000

SAFE_CONFIGS: Final[Mapping[str, Mapping[str, str]]] = {
    STATE: {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"},
    GROUPS: {"cleanup.policy": "compact"},
}


def state_log(partition: int = 0) -> TopicIdPartition:
    """Return a partition of the state topic."""
    return TopicIdPartition(STATE_ID, partition)


def groups_log(partition: int = 0) -> TopicIdPartition:
    """Return a partition of the groups topic."""
    return TopicIdPartition(GROUPS_ID, partition)


def topic_plan(*, partition_count: int = SLOT_COUNT, replication_factor: int = 1) -> StateTopicPlan:
    """Return what an operator of a small cluster says."""
    return StateTopicPlan(
        state_name=STATE,
        groups_name=GROUPS,
        partition_count=partition_count,
        replication_factor=replication_factor,
        min_insync_replicas=1,
        segment_bytes=104_857_600,
    )


def create_state_topics(
    cluster: ScriptedStateLog, *, state_count: int = SLOT_COUNT, groups_count: int = SLOT_COUNT
) -> None:
    """Create both topics as kproxy would."""
    cluster.create_topic(STATE, STATE_ID, partition_count=state_count)
    cluster.create_topic(GROUPS, GROUPS_ID, partition_count=groups_count)
    cluster.configs.update({name: dict(values) for name, values in SAFE_CONFIGS.items()})


def group_of_slot(slot: int, *, slot_count: int = SLOT_COUNT) -> GroupId:
    """Return a group of `slot`."""
    names = map(GroupId, chain(("workers",), map("workers-{}".format, count())))
    return next(name for name in names if group_partition(name, slot_count) == slot)


def key_of_slot(slot: int, *, slot_count: int = SLOT_COUNT, skip: int = 0) -> SharePartitionKey:
    """Return a share-partition whose state is kept in `slot`; with `skip`, another one of the same group."""
    return SharePartitionKey(group_of_slot(slot, slot_count=slot_count), ORDERS, skip)


def acknowledged(
    key: SharePartitionKey, first_offset: int, last_offset: int, *, leader_epoch: int = 0
) -> Write:
    """Return a write that says these records are done with; the start offset stays 0."""
    batch = StateBatch(first_offset, last_offset, RecordState.ACKNOWLEDGED, 1)
    delta = StateDelta(0, last_offset - first_offset + 1, (batch,))
    actor = Actor(Cause.ACKNOWLEDGE, "alice", "client-1", "/10.0.0.7", ((first_offset, last_offset),))
    return Write(key, StateEpoch(0), LeaderEpoch(leader_epoch), delta, (actor,))


class MeasuredThings(CountedThings):
    """Counters and observations in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.observations: list[tuple[str, float]] = []

    def observe(self, histogram: str, value: float, *labels: str) -> None:
        """Keep an observation."""
        del labels
        self.observations.append((histogram, value))


class RecordingListener:
    """A `SlotListener` that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.left: list[int] = []
        self.images: dict[int, Sequence[ShareGroupImage]] = {}
        self.configs: dict[int, Mapping[str, Mapping[str, str]]] = {}

    def slot_loaded(
        self, slot: int, images: Sequence[ShareGroupImage], configs: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Keep the groups of the slot."""
        self.events.append(f"loaded {slot}")
        self.images[slot] = images
        self.configs[slot] = configs

    def slot_lost(self, slot: int) -> None:
        """Keep that the slot was lost."""
        self.events.append(f"lost {slot}")

    def slot_left(self, slot: int) -> None:
        """Keep that the sessions over it were ended."""
        self.left.append(slot)


class StateLogBacking(Backing):
    """A `Backing` with what the state log needs beside it."""

    def __init__(self, cluster: ScriptedStateLog, **options: object) -> None:
        super().__init__(cluster.bootstrap_servers, **options)  # type: ignore[arg-type]  # passed on as they came
        self.wall_clock = ManualClock(NOW_MS)
        self.measured = MeasuredThings()
        self.reports = SlotReports(self.measured)
        self.listener = RecordingListener()
        self.fleet = OwnsEverything()
        self.identities = ProducerIdentities(metadata=self.metadata, connections=self.connections)
        self.appender = LogAppender(
            metadata=self.metadata, connections=self.connections, tasks=self.tasks, write_timeout_ms=10_000
        )

    def state_topics(self, plan: StateTopicPlan | None = None) -> StateTopics:
        """Return who finds and creates the topics."""
        return StateTopics(plan or topic_plan(), metadata=self.metadata)

    async def found(self) -> SlotTopics:
        """Return the topics, which exist; from then on their leaders are known."""
        return await self.state_topics().ensure()

    def claims(
        self,
        topics: SlotTopics,
        *,
        on_corrupt: Literal["stop", "skip"] = "stop",
        updates_per_snapshot: int = 500,
        owner: str = "kproxy at host-1",
    ) -> SlotClaims:
        """Return who claims and loads slots."""
        return SlotClaims(
            topics,
            ClaimPolicy(owner, on_corrupt, CoordinatorLimits(updates_per_snapshot=updates_per_snapshot)),
            metadata=self.metadata,
            identities=self.identities,
            appender=self.appender,
            loader=LogScan(self.reader),
            wall_clock=self.wall_clock,
            observer=self.reports,
            tasks=self.tasks,
        )

    def slot(self, claims: SlotClaims, number: int = 0) -> StateSlot:
        """Return a slot that this process was given."""
        slot = StateSlot(
            number,
            claims=claims,
            clock=self.clock,
            reports=self.reports,
            listener=self.listener,
            turns=LoadTurns(8),
            allocation=self.fleet,
            tasks=self.tasks,
        )
        slot.take()
        return slot

    async def ready_slot(self, claims: SlotClaims | None = None, number: int = 0) -> StateSlot:
        """Return a slot that is loaded, and whose first writes are durable."""
        slot = self.slot(claims or self.claims(await self.found()), number)
        await slot.settled(10)
        assert slot.is_ready, slot.status()
        await drained(slot)
        return slot

    def idle_slots(self, claims: SlotClaims, count: int) -> StateSlots:
        """Return slots that nobody was given."""

        def make(number: int, turns: LoadTurns) -> StateSlot:
            return StateSlot(
                number,
                claims=claims,
                clock=self.clock,
                reports=self.reports,
                listener=self.listener,
                turns=turns,
                allocation=self.fleet,
                tasks=self.tasks,
            )

        return StateSlots(count, make, allocation=self.fleet, tasks=self.tasks, own_token=OWN_TOKEN)

    async def ready_slots(self, *, updates_per_snapshot: int = 500) -> StateSlots:
        """Return all slots, loaded, with their first writes durable."""
        topics = await self.found()
        claims = self.claims(topics, updates_per_snapshot=updates_per_snapshot)
        slots = self.idle_slots(claims, topics.slot_count)
        await self.fleet.join(slots, topics.slot_count)
        await until(lambda: slots.problem() == "")
        await slots.drain(10)
        return slots


async def drained(slot: StateSlot) -> None:
    """Return when nothing of `slot` waits to become durable."""
    await until(lambda: not slot.has_work)


async def became(slot: StateSlot, state: SlotState) -> None:
    """Return when `slot` is in `state`."""
    await until(lambda: slot.status().state is state)


def alarms(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return the log lines that are meant for people: warnings and worse."""
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


def done_with(slot: StateSlot, key: SharePartitionKey) -> list[tuple[int, int]]:
    """Return the acknowledged ranges of a share-partition, as far as they are durable."""
    return [(batch.first_offset, batch.last_offset) for batch in slot.states().states[key].state_batches]


async def refusal_of(ticket: Ticket) -> ApiError:
    """Return why an operation was refused, once it is settled."""
    await until(lambda: ticket.is_done)
    assert ticket.refusal is not None
    return ticket.refusal
