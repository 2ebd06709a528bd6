"""Signs of life: how a kproxy that starts can tell that another fleet serves from the same state log.

The owner of slot 0 writes one every minute with the recovery point of that slot, into the groups topic, which is
compacted; not more often, because a start reads that topic from its beginning. Whoever ends in order says so with the
last one. Who owns what within a fleet is not decided by them: its group and the claims decide.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from kproxy.errors import ApiError, BrokerUnavailable, CorruptStateRecord
from kproxy.handlers.ports import Clock, PartitionReader, WallClock
from kproxy.net.state_log.allocation import FACTS_SLOT
from kproxy.net.state_log.durable_state_log import Settlement
from kproxy.net.state_log.log_scan import LogScan, LogTruncated
from kproxy.net.state_log.slots import StateSlots
from kproxy.net.state_log.state_topics import SlotTopics, StateTopicUnusable
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_records import RecoveryPoint, SignOfLife, decode_group_record
from kproxy.statelog.state_log_fold import Outcome
from kproxy.telemetry import logs
from kproxy.wire.records import Record

log = logs.logger("net.state_log.signs_of_life")

SIGN_SECONDS: Final = 60.0
"""How often the owner of slot 0 writes a sign."""
ALIVE_MS: Final = 130_000
"""Whoever wrote something less than this ago, and did not leave, is taken to be alive: one sign may be missing."""
PATIENCE_SECONDS: Final = 2.0
"""For how long a start looks for signs of another fleet at most."""
LEAVING_SECONDS: Final = 2.0
"""For how long an end waits for its last sign to be durable at most."""


class SignsOfLife:
    """Writes those of this process, as long as it owns slot 0.

    Args:
        slots: of which slot 0 is written to.
        owner: this process, as its claims name it.
        fleet_group: the fleet that it belongs to.
        wall_clock: dates them.
    """

    def __init__(self, slots: StateSlots, owner: str, fleet_group: str, *, wall_clock: WallClock) -> None:
        self._slots = slots
        self._owner = owner
        self._fleet_group = fleet_group
        self._wall_clock = wall_clock

    async def run(self) -> None:
        """Write one every `SIGN_SECONDS`, for ever; the claim is the first."""
        while True:
            await asyncio.sleep(SIGN_SECONDS)
            await self.give()

    async def give(self, *, has_left: bool = False) -> None:
        """Write one, if slot 0 is served; what is refused is left to the next one. `has_left` is for the last."""
        slot = self._slots.all()[FACTS_SLOT]
        loaded = slot.loaded()
        if loaded is None:
            return
        sign = SignOfLife(self._owner, self._wall_clock.now_ms(), has_left, self._fleet_group)
        with suppress(ApiError):
            await Settlement[None](slot.submit_group(replace(loaded.recovery_point(), sign=sign)))

    async def leave(self) -> None:
        """Write the last one, and return when it is durable, or after `LEAVING_SECONDS`; not behind what is stuck."""
        if self._slots.all()[FACTS_SLOT].has_work:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self.give(has_left=True), LEAVING_SECONDS)


@dataclass(slots=True)
class _Owner:
    """Who wrote to the log last, as far as the records tell; nobody if the last word was that it left."""

    name: str = ""
    fleet_group: str = ""
    seen_ms: int = -1
    has_left: bool = False

    def take(self, record: Record) -> Outcome:
        self.seen_ms = max(self.seen_ms, record.timestamp_ms)
        try:
            found = decode_group_record(record).record
        except CorruptStateRecord:
            return Outcome.IGNORED_UNCLAIMED
        if isinstance(found, Claim):
            self.name, self.fleet_group, self.has_left = found.owner, found.fleet_group, False
        elif isinstance(found, RecoveryPoint) and found.sign is not None:
            self.name, self.fleet_group = found.sign.owner, found.sign.fleet_group
            self.has_left = found.sign.has_left
        return Outcome.APPLIED


class OtherFleets:
    """Sees that no other fleet serves from a log, before anything of it is claimed.

    Whose clock says that a sign of life is of the last two minutes, or still to come, need not be right: a log to which
    nobody wrote for that long, by a clock that does not jump, is nobody's.

    Args:
        fleet_group: the fleet of this process.
        reader: reads the log.
        wall_clock: what the dates of signs are compared with.
        clock: what silence is counted by.
    """

    def __init__(
        self, fleet_group: str, reader: PartitionReader, *, wall_clock: WallClock, clock: Clock
    ) -> None:
        self._fleet_group = fleet_group
        self._reader = reader
        self._wall_clock = wall_clock
        self._clock = clock
        self._log_end = -1
        self._ends_there_since_ms = 0

    async def require_none(self, topics: SlotTopics) -> None:
        """See that no other fleet wrote to the log less than `ALIVE_MS` ago and did not leave.

        It takes two requests, and at most `PATIENCE_SECONDS`; a log that cannot be looked at is no reason to wait.

        Raises:
            StateTopicUnusable: one did.
        """
        owner = _Owner()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._look(topics, owner.take)
        except (BrokerUnavailable, TimeoutError) as failure:
            log.debug("other_fleet_not_looked_for", detail=failure)
            return
        if owner.has_left or owner.fleet_group in {"", self._fleet_group} or self._is_silent():
            return
        seconds = max(0, self._wall_clock.now_ms() - owner.seen_ms) // 1000
        raise StateTopicUnusable(
            f"another fleet serves from {topics.groups.name}: {owner.name}, of group {owner.fleet_group!r}, wrote to "
            f"it {seconds} s ago, and this kproxy's group is {self._fleet_group!r}; give both the same "
            "kproxy.fleet.group, or each its own topics"
        )

    async def _look(self, topics: SlotTopics, take: Callable[[Record], Outcome]) -> None:
        groups, loader = topics.groups, LogScan(self._reader)
        log_end = await loader.log_end(groups, FACTS_SLOT)
        if log_end != self._log_end:
            self._log_end, self._ends_there_since_ms = log_end, self._clock.now_ms()
        since_ms = self._wall_clock.now_ms() - ALIVE_MS
        first_offset = await self._reader.find_offset(groups.topic_id, FACTS_SLOT, since_ms)
        with suppress(LogTruncated):  # it was deleted since: nobody is there
            await loader.look(
                groups, FACTS_SLOT, first_offset=first_offset, last_offset=log_end - 1, take=take
            )

    def _is_silent(self) -> bool:
        return self._clock.now_ms() - self._ends_there_since_ms > ALIVE_MS
