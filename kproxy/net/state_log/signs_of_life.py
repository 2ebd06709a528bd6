"""Signs of life: how a kproxy that starts can tell that another one serves from the same state log.

The owner of slot 0 writes one every minute with the recovery point of that slot, into the groups topic, which is
compacted; not more often, because a start reads that topic from its beginning. Whoever ends in order says so with the
last one. Nothing is decided by them: the claims decide (`ownership`), and are looked for every few seconds, so
that an owner that was overtaken while nobody asked it for anything knows of it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from kproxy.errors import ApiError, BrokerUnavailable, CorruptStateRecord, KproxyError
from kproxy.handlers.ports import PartitionReader, WallClock
from kproxy.net.state_log.durable_state_log import Settlement
from kproxy.net.state_log.log_scan import LogScan, LogTruncated
from kproxy.net.state_log.ownership import DECIDING_SLOT
from kproxy.net.state_log.slots import StateSlots
from kproxy.net.state_log.state_topics import SlotTopics
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_records import RecoveryPoint, SignOfLife, decode_group_record
from kproxy.statelog.state_log_fold import Outcome
from kproxy.telemetry import logs
from kproxy.wire.records import Record

log = logs.logger("net.state_log.signs_of_life")

LOOK_SECONDS: Final = 5.0
"""How often the owner sees whether it still is the owner."""
SIGN_MS: Final = 60_000
"""How often it writes a sign."""
ALIVE_MS: Final = 130_000
"""Whoever wrote something less than this ago, and did not leave, is taken to be alive: one sign may be missing."""
PATIENCE_SECONDS: Final = 2.0
"""For how long a start looks for signs of another owner at most."""
LEAVING_SECONDS: Final = 2.0
"""For how long an end waits for its last sign to be durable at most."""


class SignsOfLife:
    """Writes those of this process, as long as it owns slot 0.

    Args:
        slots: of which slot 0 is written to.
        owner: this process, as its claims name it.
        wall_clock: dates them.
    """

    def __init__(self, slots: StateSlots, owner: str, *, wall_clock: WallClock) -> None:
        self._slots = slots
        self._owner = owner
        self._wall_clock = wall_clock
        self._signed_ms = wall_clock.now_ms()

    async def run(self) -> None:
        """Look every `LOOK_SECONDS`, for ever, and write one every `SIGN_MS`; the claim is the first."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """See whether this process still owns the slots, and write a sign if the last one is old."""
        try:
            await self._slots.require_owned()
        except KproxyError as failure:
            log.debug("ownership_not_seen", detail=failure)
            return
        if abs(self._wall_clock.now_ms() - self._signed_ms) >= SIGN_MS:
            await self.give()

    async def give(self, *, has_left: bool = False) -> None:
        """Write one, if slot 0 is served; what is refused is left to the next one. `has_left` is for the last."""
        slot = self._slots.all()[DECIDING_SLOT]
        loaded = slot.loaded()
        if loaded is None:
            return
        self._signed_ms = self._wall_clock.now_ms()
        sign = SignOfLife(self._owner, self._signed_ms, has_left)
        with suppress(ApiError):
            await Settlement[None](slot.submit_group(replace(loaded.recovery_point(), sign=sign)))

    async def leave(self) -> None:
        """Write the last one, and return when it is durable, or after `LEAVING_SECONDS`; not behind what is stuck."""
        if self._slots.all()[DECIDING_SLOT].has_work:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self.give(has_left=True), LEAVING_SECONDS)


@dataclass(slots=True)
class _Owner:
    """Who wrote to the log last, as far as the records tell; nobody if the last word was that it left."""

    name: str = ""
    seen_ms: int = -1
    has_left: bool = False

    def take(self, record: Record) -> Outcome:
        self.seen_ms = max(self.seen_ms, record.timestamp_ms)
        try:
            found = decode_group_record(record).record
        except CorruptStateRecord:
            return Outcome.IGNORED_UNCLAIMED
        if isinstance(found, Claim):
            self.name, self.has_left = found.owner, False
        elif isinstance(found, RecoveryPoint) and found.sign is not None:
            self.name, self.has_left = found.sign.owner, found.sign.has_left
        return Outcome.APPLIED


async def warn_of_living_owner(topics: SlotTopics, reader: PartitionReader, wall_clock: WallClock) -> None:
    """Warn, before slot 0 is claimed, if another process wrote to its log less than `ALIVE_MS` ago and did not leave.

    It takes two requests, and at most `PATIENCE_SECONDS`; a log that cannot be looked at is no reason to wait.
    """
    owner = _Owner()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await _look(topics, reader, wall_clock.now_ms() - ALIVE_MS, owner.take)
    except (BrokerUnavailable, TimeoutError) as failure:
        log.debug("living_owner_not_looked_for", detail=failure)
        return
    if owner.seen_ms < 0 or owner.has_left:
        return
    log.warning(
        "living_owner_found",
        owner=owner.name or "a kproxy that did not say who it is",
        alive_seconds_ago=max(0, wall_clock.now_ms() - owner.seen_ms) / 1000,
        consequence="this kproxy takes its share groups over, and the other one serves none any more",
        advice="only one kproxy may serve the share groups of a cluster: if the other one still runs, stop one of the "
        "two; after a restart of one that was killed there is nothing to do",
    )


async def _look(
    topics: SlotTopics, reader: PartitionReader, since_ms: int, take: Callable[[Record], Outcome]
) -> None:
    groups, loader = topics.groups, LogScan(reader)
    log_end = await loader.log_end(groups, DECIDING_SLOT)
    first_offset = await reader.find_offset(groups.topic_id, DECIDING_SLOT, since_ms)
    with suppress(LogTruncated):  # it was deleted since: nobody is there
        await loader.look(
            groups, DECIDING_SLOT, first_offset=first_offset, last_offset=log_end - 1, take=take
        )
