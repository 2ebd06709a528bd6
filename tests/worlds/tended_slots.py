"""Slots of the state log with some history, and whoever looks after them."""

from kproxy.net.state_log.slots import StateSlots
from kproxy.net.state_log.upkeep import StateUpkeep, UpkeepTiming
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.group_records import RecoveryPoint, decode_group_record
from kproxy.statelog.operations import Initialize
from kproxy.statelog.state_records import ShareSnapshot, decode_state_record
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.state_logs import (
    StateLogBacking,
    acknowledged,
    groups_log,
    key_of_slot,
    state_log,
)

COLD, WARM = key_of_slot(0), key_of_slot(0, skip=1)
ELSEWHERE = key_of_slot(1)
MINUTE_MS = 60_000


class Tended:
    """Slots that are ready, and whoever looks after them."""

    def __init__(self, cluster: ScriptedStateLog, backing: StateLogBacking, slots: StateSlots) -> None:
        self.cluster = cluster
        self.backing = backing
        self.slots = slots

    async def upkeep(self, *, history_ms: int = 0, interval_ms: int = MINUTE_MS) -> StateUpkeep:
        """Return who looks after the slots."""
        return StateUpkeep(
            self.slots,
            await self.backing.found(),
            UpkeepTiming(interval_ms=interval_ms, cold_after_ms=MINUTE_MS, history_ms=history_ms),
            reader=self.backing.reader,
            metadata=self.backing.metadata,
            connections=self.backing.connections,
            wall_clock=self.backing.wall_clock,
            measuring=self.backing.measured,
        )

    async def with_history(self) -> None:
        """Write, an hour ago, a share-partition that went cold, and ever since one that is written often."""
        slot = self.slots.slot_of_group(COLD.group_id)
        for key in (COLD, WARM):
            slot.submit(Initialize(key, StateEpoch(0), 0))
        await self.slots.drain(10)
        for offset in range(6):
            self.backing.wall_clock.advance(10 * MINUTE_MS)
            slot.submit(acknowledged(WARM, offset, offset))
            await self.slots.drain(10)

    @property
    def log_start(self) -> int:
        """The first offset of slot 0's state."""
        return self.cluster.log(state_log().topic_id, 0).log_start_offset

    def recovery_points(self) -> list[int]:
        """Return the recovery points of slot 0 that were written down."""
        decoded = [decode_group_record(record).record for record in self.cluster.records(groups_log())]
        return [record.offset for record in decoded if isinstance(record, RecoveryPoint)]

    def snapshots_of_cold(self) -> int:
        """Return how many snapshots there are of the share-partition that went cold."""
        decoded = [decode_state_record(record).record for record in self.cluster.records(state_log())]
        return sum(1 for record in decoded if isinstance(record, ShareSnapshot) and record.key == COLD)

    def said(self, result: str) -> int:
        """Return how many prunings ended so."""
        return self.backing.measured.counts["statelog_prunings", result]
