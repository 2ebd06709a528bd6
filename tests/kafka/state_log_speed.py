"""How fast the state log is on a real broker: `python -m tests.kafka.state_log_speed`.

Prints log records replayed per second, and how long an acknowledgement takes to become durable with 1, 10 and 100
that wait at the same time, each for a share-partition of its own.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from statistics import quantiles
from typing import Final

import uvloop

from kproxy.net.deadlines import SystemWallClock
from kproxy.net.state_log.claim import ClaimPolicy
from kproxy.net.state_log.durable_state_log import SlotDirectory
from kproxy.net.state_log.service import ClusterAccess, StateLogPlan, StateLogService
from kproxy.net.state_log.state_topics import StateTopicPlan
from kproxy.net.state_log.upkeep import UpkeepTiming
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import SharePartitionKey, StateEpoch
from kproxy.share.record_state import RecordState
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.share_coordinator import CoordinatorLimits
from tests.real_kafka.backing_topics import looking_at
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.written_history import share_partitions, write_history
from tests.worlds.backing import Backing
from tests.worlds.slot_allocations import OwnsEverything

HISTORY: Final = 300_000
KEYS: Final = 100
WAITERS: Final = (1, 10, 100)
SECONDS_EACH: Final = 3.0
OPEN_SECONDS: Final = 120.0
A_DAY_MS: Final = 86_400_000
STATE_TOPIC: Final = "speed-of-state"
GROUPS_TOPIC: Final = "speed-of-groups"


class Measured:
    """Counters and distributions in memory."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.observed: dict[str, list[float]] = {}

    def count(self, counter: str, amount: int = 1, *_labels: str) -> None:
        """Add to a counter."""
        self.counts[counter] = self.counts.get(counter, 0) + amount

    def observe(self, histogram: str, value: float, *_labels: str) -> None:
        """Keep an observation."""
        self.observed.setdefault(histogram, []).append(value)


class Nobody:
    """Holds nothing in memory of what is durable."""

    def slot_loaded(
        self, slot: int, images: Sequence[ShareGroupImage], configs: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Take nothing over."""

    def slot_lost(self, slot: int) -> None:
        """Forget nothing."""

    def slot_left(self, slot: int) -> None:
        """End nothing."""


def main() -> None:
    """Start a broker, measure, and print one JSON object."""
    with KafkaCluster() as cluster, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(measure(cluster)), indent=2))


async def measure(cluster: KafkaCluster, *, history: int = HISTORY) -> dict[str, object]:
    """Return the figures by what they are of."""
    async with _state_log(cluster, Measured()):
        pass
    await write_history(
        cluster, STATE_TOPIC, GROUPS_TOPIC, records=history, keys=KEYS, has_recovery_point=False
    )
    measured = Measured()
    async with _state_log(cluster, measured) as state_log:
        figures: dict[str, object] = {
            "log records replayed": measured.counts["statelog_replayed_records"],
            "log records replayed per second": round(
                measured.counts["statelog_replayed_records"]
                / sum(measured.observed["statelog_replay_seconds"])
            ),
        }
        for waiters in WAITERS:
            figures[f"acknowledgement with {waiters} waiters"] = await _acknowledge(state_log, waiters)
    return figures


@asynccontextmanager
async def _state_log(cluster: KafkaCluster, measured: Measured) -> AsyncIterator[StateLogService]:
    """The state log of one slot, loaded."""
    async with looking_at(cluster) as backing:
        await backing.metadata.refresh()
        service = _service(backing, measured)
        service.start()
        await _until(lambda: service.slots is not None and not service.slots.problem())
        yield service
        await service.drain(OPEN_SECONDS)


def _service(backing: Backing, measured: Measured) -> StateLogService:
    plan = StateLogPlan(
        StateTopicPlan(STATE_TOPIC, GROUPS_TOPIC, 1, 1, 1, 100 << 20),
        ClaimPolicy(f"process {os.getpid()}", "stop", CoordinatorLimits()),
        UpkeepTiming(A_DAY_MS, A_DAY_MS, A_DAY_MS),
        write_timeout_ms=5_000,
    )
    access = ClusterAccess(
        backing.metadata,
        backing.connections,
        backing.reader,
        backing.clock,
        SystemWallClock(),
        backing.tasks,
    )
    return StateLogService(
        plan,
        access,
        SlotDirectory(),
        OwnsEverything(),
        measuring=measured,
        listener=Nobody(),
        on_change=lambda: None,
    )


async def _acknowledge(state_log: StateLogService, waiters: int) -> dict[str, float]:
    """Let every waiter acknowledge one record after the other for a while."""
    took: list[float] = []
    began = time.perf_counter()
    keys = share_partitions(KEYS + waiters)[-waiters:]
    async with asyncio.TaskGroup() as group:
        for key in keys:
            group.create_task(_wait_again_and_again(state_log, key, began + SECONDS_EACH, took))
    seconds = time.perf_counter() - began
    hundredths = quantiles(took, n=100)
    return {
        "p50 ms": round(hundredths[49] * 1000, 2),
        "p99 ms": round(hundredths[98] * 1000, 2),
        "per second": round(len(took) / seconds),
    }


async def _wait_again_and_again(
    state_log: StateLogService, key: SharePartitionKey, until: float, took: list[float]
) -> None:
    states = state_log.states
    known = await states.load(key)
    epoch = StateEpoch(1 if known is None else known.state_epoch + 1)
    failures = await states.initialize([PartitionInitialization(key, epoch, 0)])
    assert not failures, failures
    loaded = await states.load(key)
    assert loaded is not None
    offset = 0
    while time.perf_counter() < until:
        delta = StateDelta(offset, 1, (StateBatch(offset, offset, RecordState.ACKNOWLEDGED, 1),))
        actor = Actor(Cause.ACKNOWLEDGE, "member", "client", "/127.0.0.1", ((offset, offset),))
        began = time.perf_counter()
        await states.persist(
            key,
            delta,
            state_epoch=StateEpoch(loaded.state_epoch),
            leader_epoch=loaded.leader_epoch,
            actors=(actor,),
        )
        took.append(time.perf_counter() - began)
        offset += 1


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(OPEN_SECONDS):
        while not is_so():  # noqa: ASYNC110 - slots tell nobody but their listener
            await asyncio.sleep(0.005)


if __name__ == "__main__":
    main()
