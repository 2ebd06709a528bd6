"""`StateLogService`: the state log as one thing: found, owned, loaded, written, looked after, drained."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import Clock, PartitionReader, TopicDescription, WallClock
from kproxy.net.backoff import Backoff
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.counting import Measuring
from kproxy.net.state_log.allocation import SlotAllocation
from kproxy.net.state_log.claim import ClaimPolicy, SlotClaims
from kproxy.net.state_log.durable_state_log import DurableGroupLog, DurableStateLog, SlotDirectory
from kproxy.net.state_log.every_step import take_every_step
from kproxy.net.state_log.load_turns import LoadTurns
from kproxy.net.state_log.log_appender import LogAppender
from kproxy.net.state_log.log_scan import LogScan
from kproxy.net.state_log.lost_states import LostStates
from kproxy.net.state_log.new_topics import await_leaders
from kproxy.net.state_log.producer_identities import ProducerIdentities, slot_transactional_id
from kproxy.net.state_log.readiness import LogReadiness
from kproxy.net.state_log.reports import SlotReports
from kproxy.net.state_log.served_claim import SlotListener
from kproxy.net.state_log.signs_of_life import OtherFleets, SignsOfLife
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.net.state_log.state_topic_facts import NewerStateTopic, require_recorded_facts
from kproxy.net.state_log.state_topics import (
    SlotTopics,
    StateTopicPlan,
    StateTopics,
    StateTopicUnusable,
    hear_of_leaders,
    listed_brokers,
)
from kproxy.net.state_log.upkeep import StateUpkeep, UpkeepTiming
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import WakingTurns
from kproxy.telemetry import logs

log = logs.logger("net.state_log")

FIRST_RETRY_MS: Final = 50
LAST_RETRY_MS: Final = 1_000
GRACE_SECONDS: Final = 0.5
"""For how long nothing is said of a cluster that is not ready: the leaders of new topics need a moment."""
UNUSABLE_RETRY_SECONDS: Final = 5.0
"""How long to wait before a topic that must not be used is looked at again: somebody may have set it right."""
TOPIC_WATCH_SECONDS: Final = 5.0
"""How often it is seen whether the topics are still the same ones. The cache of metadata is asked."""


@dataclass(frozen=True, slots=True)
class StateLogPlan:
    """What the operator said about the state log."""

    topics: StateTopicPlan
    claims: ClaimPolicy
    upkeep: UpkeepTiming
    write_timeout_ms: int


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The backing cluster, and time, as the state log uses them."""

    metadata: ClusterMetadataCache
    connections: BrokerConnections
    reader: PartitionReader
    clock: Clock
    wall_clock: WallClock
    tasks: TaskKeeper


class Fleet(SlotAllocation, Protocol):
    """The fleet that this process joins when it has found the state log."""

    async def join(self, slots: StateSlots, slot_count: int) -> None:
        """Join, and tell `slots` of every map from now on."""
        ...

    def desert(self) -> None:
        """Be in it no more: its state log is gone."""
        ...


class StateLogService:
    """The ports are there at once; they refuse until the topics are found and the slots are loaded.

    Args:
        plan: what the operator said.
        cluster: where the log is.
        directory: gets the slots as soon as there are any.
        fleet: says what this process may serve.
        measuring: counters.
        listener: who holds in memory what is durable.
        on_change: called when `problem` changed.
        on_slot_ready: called whenever a slot began to serve.
        turns: in which requests go on that have waited for the log.
    """

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        plan: StateLogPlan,
        cluster: ClusterAccess,
        directory: SlotDirectory,
        fleet: Fleet,
        *,
        measuring: Measuring,
        listener: SlotListener,
        on_change: Callable[[], None],
        on_slot_ready: Callable[[], None] = lambda: None,
        turns: WakingTurns | None = None,
    ) -> None:
        self._plan = plan
        self._cluster = cluster
        self._fleet = fleet
        self._measuring = measuring
        self._listener = listener
        self._on_change = on_change
        self._on_slot_ready = on_slot_ready
        self._is_started = False
        self._state_topic: TopicDescription | None = None
        self._looked_after_by: StateUpkeep | None = None
        self._reports = SlotReports(measuring)
        self._identities = ProducerIdentities(metadata=cluster.metadata, connections=cluster.connections)
        self._spoke = asyncio.Event()
        self._signs: SignsOfLife | None = None
        self._beside: list[asyncio.Task[None]] = []
        """What runs beside the slots, as long as they do."""
        self._directory = directory
        self.readiness = LogReadiness(directory, cluster.clock, turns)
        self.states = DurableStateLog(directory)
        self.groups = DurableGroupLog(directory)

    @property
    def problem(self) -> str:
        """Why there is no state log, in one sentence; empty once its topics are found."""
        return "" if self._directory.slots is not None else self._directory.problem

    @property
    def slots(self) -> StateSlots | None:
        """The slots, once there are any."""
        return self._directory.slots

    @property
    def state_topic(self) -> TopicDescription | None:
        """The topic that holds the state of the share-partitions, as long as there are slots."""
        return None if self._directory.slots is None else self._state_topic

    def pruned_offsets(self) -> Mapping[tuple[str, ...], float]:
        """Return up to where this process pruned the state topic, by slot."""
        return {} if self._looked_after_by is None else self._looked_after_by.pruned_offsets()

    def start(self) -> None:
        """Find the topics, or create them, and then own, load and look after the slots; once, however often called."""
        if not self._is_started:
            self._is_started = True
            self._cluster.tasks.spawn(self._run(), name="state log")

    async def first_word(self, timeout_s: float) -> None:
        """Return when the topics were found, when something was found to be wrong with them, or after `timeout_s`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._spoke.wait(), timeout_s)

    async def drain(self, timeout_s: float) -> None:
        """Return when all that was submitted is durable, or after `timeout_s`."""
        if self._directory.slots is not None:
            await self._directory.slots.drain(timeout_s)

    async def leave(self) -> None:
        """Say in the log that nobody serves from it any more, for the end; at most `LEAVING_SECONDS`."""
        if self._signs is not None:
            await self._signs.leave()

    async def _run(self) -> None:
        """Serve from the topics that are there; from others, when they are deleted and created anew meanwhile."""
        backoff = self._backoff()
        while True:
            topics = await self._find_topics()
            try:
                self._end(await self._serve_from(topics))
            except Exception as fault:  # noqa: BLE001 - the top of a task: nobody else serves from the state log
                log.crash("state_log_service_failed", fault)
                self._end(f"{type(fault).__name__} in kproxy itself")
                await _pause_after_failure(backoff)
            else:
                backoff.succeeded()

    async def _serve_from(self, topics: SlotTopics) -> str:
        """Open the slots and let them live; return when other topics have taken the place of these, and why."""
        tasks, mending = self._cluster.tasks, LostStates(self._reports)
        slots = StateSlots(
            topics.slot_count,
            self._slot_maker(self._claims_in(topics), on_ready=partial(self._slot_is_ready, mending)),
            allocation=self._fleet,
            tasks=tasks,
            own_token=self._plan.claims.token,
        )
        self._state_topic = topics.state
        self._directory.open(slots)
        self._signs = SignsOfLife(
            slots,
            self._plan.claims.signature,
            self._fleet.fleet_group,
            wall_clock=self._cluster.wall_clock,
        )
        tasks.spawn(self._look_for_coordinators(topics), name="coordinators of the slots")
        await self._fleet.join(slots, topics.slot_count)
        self._looked_after_by = upkeep = self._upkeep(slots, topics)
        self._beside += [
            tasks.keep_up(self._signs.run, name="signs of life"),
            tasks.spawn(upkeep.run(), name="upkeep of the state log"),
        ]
        self._tell()
        reason = await self._replacement_of(topics)
        self._reports.truncated(reason)
        return reason

    def _end(self, reason: str) -> None:
        """Leave the slots, if there are any: what becomes of them next is another claim."""
        for task in self._beside:
            task.cancel()
        self._beside.clear()
        slots = self._directory.slots
        if slots is not None:
            slots.abandon(reason)
            self._fleet.desert()
        self._directory.close(reason)
        self._tell()

    def _tell(self) -> None:
        """Say that `problem` changed. A fault of who hears it is theirs, and ends nothing here."""
        self._spoke.set()
        take_every_step("state_log_change_not_told", self._on_change)

    async def _look_for_coordinators(self, topics: SlotTopics) -> None:
        """Ask once for all slots, while the fleet says whose they are."""
        await self._identities.look_ahead(
            *(slot_transactional_id(topics.state.name, number) for number in range(topics.slot_count))
        )

    def _slot_is_ready(self, mending: LostStates, slot: StateSlot) -> None:
        mending.look(slot)
        self._on_slot_ready()

    async def _replacement_of(self, topics: SlotTopics) -> str:
        """Return when a topic of the same name has taken the place of one of `topics`, and say which."""
        ids = {topic.name: topic.topic_id for topic in (topics.state, topics.groups)}
        is_missing = False
        listed = listed_brokers(self._cluster.metadata)
        while True:
            await asyncio.sleep(TOPIC_WATCH_SECONDS)
            try:
                with suppress(BrokerUnavailable):  # what is known is looked at all the same
                    listed = await hear_of_leaders(self._cluster.metadata, topics, listed)
                found = await self._cluster.metadata.topics_named(ids)
            except BrokerUnavailable:
                continue
            except Exception as fault:  # noqa: BLE001 - whoever does not look serves from topics that are gone
                log.crash("state_topics_not_watched", fault)
                continue
            for name, topic in found.items():
                if topic.topic_id != ids[name]:
                    return f"topic {name} was deleted and created anew"
            if len(found) < len(ids) and not is_missing:
                gone = ", ".join(sorted(ids.keys() - found.keys()))
                log.error("state_topic_missing", topics=gone, advice="create it again, or restart kproxy")
            is_missing = len(found) < len(ids)

    async def _find_topics(self) -> SlotTopics:
        topics = StateTopics(self._plan.topics, metadata=self._cluster.metadata)
        loader, backoff = LogScan(self._cluster.reader), self._backoff()
        others = OtherFleets(
            self._fleet.fleet_group,
            self._cluster.reader,
            wall_clock=self._cluster.wall_clock,
            clock=self._cluster.clock,
        )
        said_from = asyncio.get_running_loop().time() + GRACE_SECONDS
        while True:
            try:
                found = await topics.ensure()
                if found.is_new:
                    await await_leaders(self._cluster.reader, found)
                else:
                    await require_recorded_facts(loader, found)
                    await others.require_none(found)
            except StateTopicUnusable as unusable:
                self._say_unusable(unusable)
                await asyncio.sleep(UNUSABLE_RETRY_SECONDS)
            except BrokerUnavailable as failure:
                if asyncio.get_running_loop().time() >= said_from:
                    self._say(str(failure), is_permanent=False)
                await _pause_after_failure(backoff)
            except Exception as fault:  # noqa: BLE001 - the top of a task: nobody else looks for the state log
                log.crash("state_log_search_failed", fault)
                self._say(f"{type(fault).__name__} in kproxy itself", is_permanent=False)
                await _pause_after_failure(backoff)
            else:
                return found

    def _backoff(self) -> Backoff:
        return Backoff(self._cluster.clock, first_ms=FIRST_RETRY_MS, last_ms=LAST_RETRY_MS)

    def _say_unusable(self, unusable: StateTopicUnusable) -> None:
        if isinstance(unusable, NewerStateTopic) and str(unusable) != self._directory.problem:
            self._measuring.count("statelog_newer_formats")
        self._say(str(unusable), is_permanent=True)

    def _say(self, problem: str, *, is_permanent: bool) -> None:
        if problem == self._directory.problem:
            return
        self._directory.close(problem, is_hopeless=is_permanent)
        self._measuring.count("statelog_delays")
        (log.error if is_permanent else log.warning)("state_log_unavailable", reason=problem)
        self._tell()

    def _claims_in(self, topics: SlotTopics) -> SlotClaims:
        cluster = self._cluster
        return SlotClaims(
            topics,
            self._plan.claims,
            metadata=cluster.metadata,
            identities=self._identities,
            appender=LogAppender(
                metadata=cluster.metadata,
                connections=cluster.connections,
                tasks=cluster.tasks,
                write_timeout_ms=self._plan.write_timeout_ms,
            ),
            loader=LogScan(cluster.reader),
            wall_clock=cluster.wall_clock,
            observer=self._reports,
            tasks=cluster.tasks,
        )

    def _slot_maker(
        self, claims: SlotClaims, *, on_ready: Callable[[StateSlot], None]
    ) -> Callable[[int, LoadTurns], StateSlot]:
        def make(number: int, turns: LoadTurns) -> StateSlot:
            return StateSlot(
                number,
                claims=claims,
                clock=self._cluster.clock,
                reports=self._reports,
                listener=self._listener,
                turns=turns,
                allocation=self._fleet,
                tasks=self._cluster.tasks,
                on_ready=on_ready,
            )

        return make

    def _upkeep(self, slots: StateSlots, topics: SlotTopics) -> StateUpkeep:
        cluster = self._cluster
        return StateUpkeep(
            slots,
            topics,
            self._plan.upkeep,
            reader=cluster.reader,
            metadata=cluster.metadata,
            connections=cluster.connections,
            wall_clock=cluster.wall_clock,
            measuring=self._measuring,
        )


async def _pause_after_failure(backoff: Backoff) -> None:
    backoff.failed()
    await asyncio.sleep(backoff.remaining_ms / 1000)
