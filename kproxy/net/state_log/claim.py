"""`SlotClaims`: how a slot becomes this process's own."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    BrokerUnavailable,
    CorruptStateRecord,
    UnsupportedStateRecord,
)
from kproxy.handlers.live.pauses import short_appends
from kproxy.handlers.ports import TopicDescription, WallClock
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.state_log.allocation import ClaimLost
from kproxy.net.state_log.append_dates import AppendDates
from kproxy.net.state_log.append_outcome import AppendFate, AppendOutcome
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot, SlotLoading
from kproxy.net.state_log.log_appender import LogAppender
from kproxy.net.state_log.log_scan import LogScan
from kproxy.net.state_log.partition_writer import (
    AppendObserver,
    AppendQueue,
    ClaimedPartition,
    Doubt,
    PartitionWriter,
)
from kproxy.net.state_log.producer_identities import (
    ProducerIdentities,
    ProducerIdentity,
    slot_transactional_id,
)
from kproxy.net.state_log.state_topics import SlotTopics
from kproxy.net.tasks import TaskKeeper
from kproxy.statelog.claims import STATE_FORMAT_VERSION, Claim
from kproxy.statelog.group_records import encode_group_record
from kproxy.statelog.share_coordinator import CoordinatorLimits
from kproxy.statelog.state_log_fold import Outcome
from kproxy.statelog.state_records import decode_state_record, encode_state_record
from kproxy.telemetry import logs
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record

log = logs.logger("net.state_log.claim")

BATCH_OVERHEAD_BYTES: Final = 1024
"""What a batch may take beyond the sum of its records, with room to spare."""


@dataclass(frozen=True, slots=True)
class ClaimPolicy:
    """How slots are claimed and loaded."""

    owner: str
    """This process, in words for people."""
    on_corrupt: Literal["stop", "skip"]
    coordinator: CoordinatorLimits
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    """What tells this process from every other: process ids and host names repeat in containers."""

    @property
    def signature(self) -> str:
        """The owner as claims name it: no other process's is equal."""
        return f"{self.owner} ({self.token})"


class SlotClaims:
    """Claims slots, and has them loaded by `SlotLoading`."""

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        topics: SlotTopics,
        policy: ClaimPolicy,
        *,
        metadata: ClusterMetadataCache,
        identities: ProducerIdentities,
        appender: LogAppender,
        loader: LogScan,
        wall_clock: WallClock,
        observer: AppendObserver,
        tasks: TaskKeeper,
    ) -> None:
        self._topics = topics
        self._policy = policy
        self._metadata = metadata
        self._identities = identities
        self._appender = appender
        self._loader = loader
        self._replay = SlotLoading(topics, loader, on_corrupt=policy.on_corrupt, limits=policy.coordinator)
        self._dates = AppendDates(wall_clock)
        self._observer = observer
        self._tasks = tasks
        self._short_appends = short_appends()

    # ------------------------------------------------ claiming

    async def claim(self, number: int, map_epoch: int, fleet_group: str) -> ClaimedSlot:
        """Become the only writer of both partitions of slot `number`, under the map of `map_epoch` of a fleet.

        Raises:
            ClaimLost: another process claimed it at the same time, and its producer epoch outranks this one's.
            BrokerUnavailable: a broker does not answer, or not yet.
        """
        await self._confirm_leaders()
        identity = await self._identities.next(slot_transactional_id(self._topics.state.name, number))
        claim = Claim(self._policy.signature, STATE_FORMAT_VERSION, map_epoch, fleet_group)
        state, groups = await asyncio.gather(
            self._append_claim(
                self._topics.state, number, identity, encode_state_record(claim, claim_epoch=None, actors=())
            ),
            self._append_claim(
                self._topics.groups, number, identity, encode_group_record(claim, claim_epoch=None)
            ),
        )
        return ClaimedSlot(number, state, groups)

    async def require_unclaimed(self, number: int, owned_up_to: int, map_epoch: int) -> None:
        """See that nobody claimed slot `number` under a newer map since this process did: that one keeps it.

        Args:
            number: which slot.
            owned_up_to: the last offset of the state topic that is known to be written under this process's own
                claim.
            map_epoch: of the map that this process knows.

        Raises:
            ClaimLost: another process claimed it above `owned_up_to`, under a map of a higher epoch.
            UnsupportedStateRecord: a newer kproxy wrote above `owned_up_to`: to claim it would fence that one.
            BrokerUnavailable: a broker does not answer, or not yet.
        """
        await self._confirm_leaders()
        topic = self._topics.state
        log_end = await self._loader.log_end(topic, number)

        async def look_from(first_offset: int) -> int:
            return await self._loader.look(
                topic,
                number,
                first_offset=first_offset,
                last_offset=log_end - 1,
                take=partial(self._look_for_others, map_epoch),
            )

        await self._loader.from_log_start(owned_up_to + 1, look_from)

    async def _confirm_leaders(self) -> None:
        """Leaders move: whoever was just refused somewhere has to look again."""
        topics = {self._topics.state.topic_id, self._topics.groups.topic_id}
        await self._metadata.confirm(topics, not_older_than_ms=1000)

    def _look_for_others(self, map_epoch: int, record: Record) -> Outcome:
        try:
            found = decode_state_record(record).record
        except UnsupportedStateRecord:
            raise
        except CorruptStateRecord:
            return Outcome.IGNORED_UNCLAIMED
        if isinstance(found, Claim) and found.map_epoch > map_epoch:
            raise ClaimLost(
                f"{found.owner!r} claimed it at offset {record.offset} under map {found.map_epoch}, and this process's "
                f"is {map_epoch}",
                found,
            )
        return Outcome.APPLIED

    async def _append_claim(
        self, topic: TopicDescription, partition: int, identity: ProducerIdentity, record: Record
    ) -> ClaimedPartition:
        outcome = await self._append_dated(topic, partition, identity, record)
        _require_claimed(outcome, f"{topic.name}-{partition}")
        return ClaimedPartition(topic, partition, identity, outcome.base_offset)

    async def _append_dated(
        self, topic: TopicDescription, partition: int, identity: ProducerIdentity, record: Record
    ) -> AppendOutcome:
        """Append a claim record, again with another date while it is refused because of that alone."""
        while True:
            date_ms = self._dates.date_ms()
            batch = build_batch(
                (record,),
                producer_id=identity.producer_id,
                producer_epoch=identity.producer_epoch,
                base_sequence=0,
                timestamp_ms=date_ms,
            )
            outcome = await self._appender.append(topic, partition, batch)
            if outcome.fate is AppendFate.DURABLE:
                self._dates.taken(date_ms)
            if not self._dates.is_refused(outcome, date_ms):
                return outcome

    def writer(
        self, claimed: ClaimedPartition, queue: AppendQueue, on_doubt: Callable[[Doubt, str], None]
    ) -> PartitionWriter:
        """Return the writer of a claimed partition."""
        return PartitionWriter(
            claimed,
            queue,
            appender=self._appender,
            dates=self._dates,
            max_batch_bytes=self._topics.max_message_bytes - BATCH_OVERHEAD_BYTES,
            observer=self._observer,
            tasks=self._tasks,
            short_appends=self._short_appends,
            on_doubt=on_doubt,
        )

    # ------------------------------------------------ loading

    async def load(self, claimed: ClaimedSlot) -> LoadedSlot:
        """Read both partitions up to the claim records. Raises as `SlotLoading.load`."""
        return await self._replay.load(claimed)


def _require_claimed(outcome: AppendOutcome, where: str) -> None:
    if outcome.fate is AppendFate.FENCED:
        raise ClaimLost(f"another kproxy claimed {where} at the same time ({outcome.error_code.name})")
    if outcome.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        raise BrokerUnavailable(f"kproxy's principal may not write to {where}: allow it Write on that topic")
    if outcome.fate is not AppendFate.DURABLE:
        raise BrokerUnavailable(f"{where} cannot be claimed: {outcome.detail or outcome.error_code.name}")
