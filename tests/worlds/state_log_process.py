"""A kproxy as far as its state log goes, for tests that start one or several of them."""

from collections.abc import Mapping
from typing import Self

from kproxy.errors import (
    ApiError,
)
from kproxy.net.state_log.claim import ClaimPolicy
from kproxy.net.state_log.durable_state_log import SlotDirectory
from kproxy.net.state_log.served_claim import SlotListener
from kproxy.net.state_log.service import ClusterAccess, Fleet, StateLogPlan, StateLogService
from kproxy.net.state_log.upkeep import UpkeepTiming
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, StateEpoch
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.share_coordinator import CoordinatorLimits
from tests.worlds.slot_allocations import FLEET, OwnsEverything
from tests.worlds.state_logs import StateLogBacking, key_of_slot, topic_plan
from tests.worlds.waiting import until

HERE, THERE = key_of_slot(0), key_of_slot(1)


class Process:
    """A kproxy as far as its state log goes."""

    def __init__(
        self,
        backing: StateLogBacking,
        owner: str = "kproxy at host-1",
        *,
        listener: SlotListener | None = None,
        fleet_group: str = FLEET,
        fleet: Fleet | None = None,
    ) -> None:
        self.backing = backing
        self.directory = SlotDirectory()
        self.fleet = OwnsEverything(fleet_group)
        self.changes = 0
        self.service = StateLogService(
            StateLogPlan(
                topics=topic_plan(),
                claims=ClaimPolicy(owner, "stop", CoordinatorLimits()),
                upkeep=UpkeepTiming(interval_ms=600_000, cold_after_ms=300_000, history_ms=0),
                write_timeout_ms=1_000,
            ),
            ClusterAccess(
                metadata=backing.metadata,
                connections=backing.connections,
                reader=backing.reader,
                clock=backing.clock,
                wall_clock=backing.wall_clock,
                tasks=backing.tasks,
            ),
            self.directory,
            fleet or self.fleet,
            measuring=backing.measured,
            listener=listener or backing.listener,
            on_change=self._changed,
        )

    def _changed(self) -> None:
        self.changes += 1

    async def serves(self) -> Self:
        """Start, and return when every slot is ready and all first writes are durable."""
        self.service.start()
        await until(lambda: self.service.slots is not None and self.service.slots.problem() == "")
        await self.service.drain(10)
        return self

    def states(self) -> Mapping[str, int]:
        """Return how many slots are in which state, without those that no slot is in."""
        assert self.service.slots is not None
        return {state: int(count) for (state,), count in self.service.slots.counts().items() if count}

    async def acknowledge(self, key: SharePartitionKey, offset: int) -> ApiError | None:
        """Let one record be acknowledged; return why it was refused."""
        delta = StateDelta(0, 1, (StateBatch(offset, offset, RecordState.ACKNOWLEDGED, 1),))
        try:
            await self.service.states.persist(
                key, delta, state_epoch=StateEpoch(0), leader_epoch=LeaderEpoch(0), actors=()
            )
        except ApiError as refusal:
            return refusal
        return None


async def begun(process: Process) -> Process:
    """Begin the states of both slots."""
    wanted = [PartitionInitialization(key, StateEpoch(0), 0) for key in (HERE, THERE)]
    assert await process.service.states.initialize(wanted) == {}
    return process
