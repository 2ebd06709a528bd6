"""`StateUpkeep`: what keeps recovery short and the state log small, every few minutes.

1. Share-partitions that nobody writes any more get a fresh snapshot, so that they hold nothing back.
2. The recovery point is written down: where the next start begins to read.
3. What lies below it and is older than the history that people want is deleted. A cluster that does not allow that
   keeps everything; it is asked again in each round, which is counted, and it is said once until it succeeds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import ApiError, BrokerUnavailable
from kproxy.handlers.ports import PartitionReader, WallClock
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.counting import Measuring
from kproxy.net.state_log.durable_state_log import Settlement
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.net.state_log.state_topics import SlotTopics
from kproxy.statelog.operations import ColdSnapshots
from kproxy.statelog.pruning import history_begin_ms, prune_before
from kproxy.telemetry import logs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kproxy.wire.messages.delete_records_response import DeleteRecordsResponse

log = logs.logger("net.state_log.upkeep")

DELETE_TIMEOUT_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class UpkeepTiming:
    """All in milliseconds."""

    interval_ms: int
    cold_after_ms: int
    history_ms: int


class StateUpkeep:
    """Visits every slot that is ready, one after the other, every `interval_ms`."""

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        slots: StateSlots,
        topics: SlotTopics,
        timing: UpkeepTiming,
        *,
        reader: PartitionReader,
        metadata: ClusterMetadataCache,
        connections: BrokerConnections,
        wall_clock: WallClock,
        measuring: Measuring,
    ) -> None:
        self._slots = slots
        self._topics = topics
        self._timing = timing
        self._reader = reader
        self._metadata = metadata
        self._connections = connections
        self._wall_clock = wall_clock
        self._measuring = measuring
        self._pruned_to: dict[int, int] = {}
        self._is_pruning_refused = False

    def pruned_offsets(self) -> Mapping[tuple[str, ...], float]:
        """Return up to where, exclusive, this process pruned the state topic: of each slot that is served here."""
        served = [slot.number for slot in self._slots.all() if slot.is_ready]
        return {(str(number),): self._pruned_to[number] for number in served if number in self._pruned_to}

    async def run(self) -> None:
        """Go round for ever."""
        while True:
            await asyncio.sleep(self._timing.interval_ms / 1000)
            await self.visit_all()

    async def visit_all(self) -> None:
        """Look after every slot that is served here once. What fails is logged, and tried again at the next round."""
        for slot in self._slots.all():
            if slot.is_ready:
                await self._attempt(partial(self._visit, slot), slot.number)

    async def _attempt(self, visit: Callable[[], Awaitable[None]], number: int) -> None:
        try:
            await visit()
        except (ApiError, BrokerUnavailable) as failure:
            log.info("upkeep_failed", slot=number, detail=failure)
        except Exception as fault:  # noqa: BLE001 - a log that nobody looks after grows for ever, silently
            log.crash("upkeep_fault", fault, slot=number)

    async def _visit(self, slot: StateSlot) -> None:
        cold_since_ms = self._wall_clock.now_ms() - self._timing.cold_after_ms
        await Settlement[int](slot.submit(ColdSnapshots(cold_since_ms)))
        point = await self._write_recovery_point(slot)
        if point > self._pruned_to.get(slot.number, 0):
            await self._prune(slot.number, point)

    async def _write_recovery_point(self, slot: StateSlot) -> int:
        """Return the point once it is durable; what stands in the log already is not written again."""
        slot.require_ready()
        loaded = slot.loaded()
        assert loaded is not None
        point = loaded.recovery_point()
        await Settlement[None](slot.submit_group(point))
        return point.offset

    # ------------------------------------------------ pruning

    async def _prune(self, partition: int, recovery_point: int) -> None:
        begin_ms = history_begin_ms(now_ms=self._wall_clock.now_ms(), history_ms=self._timing.history_ms)
        kept_from = await self._reader.find_offset(self._topics.state.topic_id, partition, begin_ms)
        offset = prune_before(recovery_point=recovery_point, first_offset_of_history=kept_from)
        if offset > self._pruned_to.get(partition, 0):
            await self._delete_before(partition, offset)

    async def _delete_before(self, partition: int, offset: int) -> None:
        topic = self._topics.state
        # DeleteRecords goes by name, so the name must still mean this topic; and the leader may have moved.
        await self._metadata.confirm({topic.topic_id}, not_older_than_ms=1)
        leader = self._metadata.require_leader(topic, partition)
        client = await self._connections.control(leader.leader_id)
        named = DeleteRecordsTopic(topic.name, [DeleteRecordsPartition(partition, offset)])
        response = await client.request(
            ApiKey.DELETE_RECORDS,
            DeleteRecordsRequest([named], DELETE_TIMEOUT_MS),
            broker_wait_ms=DELETE_TIMEOUT_MS,
        )
        self._note(partition, offset, cast("DeleteRecordsResponse", response))

    def _note(self, partition: int, offset: int, response: DeleteRecordsResponse) -> None:
        codes = {known_code(result.error_code) for topic in response.topics for result in topic.partitions}
        if codes == {ErrorCode.NONE}:
            self._pruned_to[partition] = offset
            self._is_pruning_refused = False
            self._measuring.count("statelog_prunings", 1, "ok")
            return
        self._measuring.count("statelog_prunings", 1, "failed")
        if codes & {ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.POLICY_VIOLATION}:
            say = log.debug if self._is_pruning_refused else log.warning
            self._is_pruning_refused = True
            say(
                "pruning_not_allowed",
                topic=self._topics.state.name,
                advice="allow kproxy's principal Delete on this topic, or it grows for ever",
            )
        else:
            log.info(
                "pruning_failed", partition=partition, codes=", ".join(sorted(code.name for code in codes))
            )
