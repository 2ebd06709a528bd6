"""`SlotClaims`: how a slot becomes this process's own, and how its durable state is found in the log."""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    BrokerUnavailable,
    CorruptStateRecord,
    SnapshotMissing,
)
from kproxy.handlers.ports import TopicDescription, WallClock
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.state_log.append_outcome import AppendFate, AppendOutcome
from kproxy.net.state_log.log_appender import LogAppender
from kproxy.net.state_log.log_scan import SlotLoader
from kproxy.net.state_log.ownership import DECIDING_SLOT, ClaimLost
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
from kproxy.net.state_log.topic_facts import require_same_facts
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.claims import STATE_FORMAT_VERSION, Claim
from kproxy.statelog.group_queue import DisplacedRecords, GroupOperation, GroupQueue
from kproxy.statelog.group_records import RecoveryPoint, StateTopicFacts, encode_group_record
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.state_records import decode_state_record, encode_state_record
from kproxy.telemetry import logs
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record

log = logs.logger("net.state_log.claim")

BATCH_OVERHEAD_BYTES: Final = 1024
"""What a batch may take beyond the sum of its records, with room to spare."""


@dataclass(frozen=True, slots=True)
class ClaimedSlot:
    """Both partitions of a slot, claimed under one identity."""

    number: int
    state: ClaimedPartition
    groups: ClaimedPartition


@dataclass(frozen=True, slots=True)
class LoadedSlot:
    """The durable state of a slot, and the queues that change it from now on."""

    number: int
    fold: StateLogFold
    commit: StateQueue
    store: GroupQueue
    images: Mapping[GroupId, ShareGroupImage]
    """The groups as they were found."""
    facts: StateTopicFacts
    record_count: int
    """Records read to get here, of both partitions."""
    seconds: float
    truncation: str = ""
    """What of the state topic's partition is gone that was durable, in one sentence; empty when nothing is."""

    def recovery_point(self) -> RecoveryPoint:
        """Return where the next replay may begin, as of now."""
        return RecoveryPoint(self.fold.recovery_point(), self.fold.applied_offset)

    def first_writes(self) -> Sequence[GroupOperation]:
        """Return what is to be written down right after loading, in order. The facts stand in slot 0 alone."""
        mending = (DisplacedRecords(),) if self.store.displaced_count else ()
        is_told = self.number != DECIDING_SLOT or self.store.state_topic_facts is not None
        return (*mending, *(() if is_told else (self.facts,)), self.recovery_point())


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
    """Claims slots and loads them."""

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        topics: SlotTopics,
        policy: ClaimPolicy,
        *,
        metadata: ClusterMetadataCache,
        identities: ProducerIdentities,
        appender: LogAppender,
        loader: SlotLoader,
        wall_clock: WallClock,
        observer: AppendObserver,
    ) -> None:
        self._topics = topics
        self._policy = policy
        self._is_skipping = policy.on_corrupt == "skip"
        self._metadata = metadata
        self._identities = identities
        self._appender = appender
        self._loader = loader
        self._wall_clock = wall_clock
        self._observer = observer

    # ------------------------------------------------ claiming

    async def claim(self, number: int) -> ClaimedSlot:
        """Become the only writer of both partitions of slot `number`.

        Raises:
            ClaimLost: another process claimed it at the same time, and outranks this one.
            BrokerUnavailable: a broker does not answer, or not yet.
        """
        await self._confirm_leaders()
        identity = await self._identities.next(slot_transactional_id(self._topics.state.name, number))
        claim = Claim(self._policy.signature, STATE_FORMAT_VERSION)
        state, groups = await asyncio.gather(
            self._append_claim(
                self._topics.state, number, identity, encode_state_record(claim, claim_epoch=None, actors=())
            ),
            self._append_claim(
                self._topics.groups, number, identity, encode_group_record(claim, claim_epoch=None)
            ),
        )
        return ClaimedSlot(number, state, groups)

    async def require_unclaimed(self, number: int, owned_up_to: int) -> None:
        """See that nobody else claimed slot `number` since this process did: whoever came later keeps it.

        Args:
            number: which slot.
            owned_up_to: the last offset of the state topic that is known to be written under this process's own
                claim.

        Raises:
            ClaimLost: another process claimed it above `owned_up_to`.
            BrokerUnavailable: a broker does not answer, or not yet.
        """
        await self._confirm_leaders()
        topic = self._topics.state
        log_end = await self._loader.log_end(topic, number)

        async def look_from(first_offset: int) -> int:
            return await self._loader.read(
                topic,
                number,
                first_offset=first_offset,
                last_offset=log_end - 1,
                take=self._look_for_others,
                is_skipping=True,  # Loading says what is wrong with the log.
            )

        await self._loader.from_log_start(owned_up_to + 1, look_from)

    async def _confirm_leaders(self) -> None:
        """Leaders move: whoever was just refused somewhere has to look again."""
        topics = {self._topics.state.topic_id, self._topics.groups.topic_id}
        await self._metadata.confirm(topics, not_older_than_ms=1000)

    def _look_for_others(self, record: Record) -> Outcome:
        try:
            found = decode_state_record(record).record
        except CorruptStateRecord:
            return Outcome.IGNORED_UNCLAIMED
        if isinstance(found, Claim) and found.owner != self._policy.signature:
            raise ClaimLost(f"{found.owner!r} claimed the slot at offset {record.offset}", found.owner)
        return Outcome.APPLIED

    async def _append_claim(
        self, topic: TopicDescription, partition: int, identity: ProducerIdentity, record: Record
    ) -> ClaimedPartition:
        batch = build_batch(
            (record,),
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=0,
            timestamp_ms=self._wall_clock.now_ms(),
        )
        outcome = await self._appender.append(topic, partition, batch)
        _require_claimed(outcome, f"{topic.name}-{partition}")
        return ClaimedPartition(topic, partition, identity, outcome.base_offset)

    def writer(
        self, claimed: ClaimedPartition, queue: AppendQueue, on_doubt: Callable[[Doubt, str], None]
    ) -> PartitionWriter:
        """Return the writer of a claimed partition."""
        return PartitionWriter(
            claimed,
            queue,
            appender=self._appender,
            wall_clock=self._wall_clock,
            max_batch_bytes=self._topics.max_message_bytes - BATCH_OVERHEAD_BYTES,
            observer=self._observer,
            on_doubt=on_doubt,
        )

    # ------------------------------------------------ loading

    async def load(self, claimed: ClaimedSlot) -> LoadedSlot:
        """Read both partitions up to the claim records.

        Raises:
            CorruptStateRecord: a record cannot be used, and the operator did not say to skip such.
            BrokerUnavailable: a broker does not answer, or the log is not what it was.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        store, images, group_count = await self._load_groups(claimed.groups)
        facts = StateTopicFacts(self._topics.slot_count, STATE_FORMAT_VERSION)
        require_same_facts(store.state_topic_facts, facts, claimed.state.topic.name)
        truncation = _truncation(claimed.state, store.recovery_point)
        needed_from = 0 if store.recovery_point is None else store.recovery_point.offset
        fold, state_count, first_offset = await self._load_states(
            claimed.state, 0 if truncation else needed_from
        )
        if store.recovery_point is not None and first_offset > needed_from:
            truncation = (
                f"{claimed.state} begins at offset {first_offset}, and {needed_from} was still needed"
            )
        coordinator = ShareCoordinator(fold, self._policy.coordinator)
        seconds = loop.time() - began
        return LoadedSlot(
            claimed.number,
            fold,
            StateQueue(coordinator),
            store,
            images,
            facts,
            group_count + state_count,
            seconds,
            truncation,
        )

    async def _load_groups(
        self, claimed: ClaimedPartition
    ) -> tuple[GroupQueue, Mapping[GroupId, ShareGroupImage], int]:
        """Return the groups with their durable pictures, and how many records it took."""
        store, count = await self._loader.from_log_start(0, partial(self._replay_groups, claimed))
        try:
            return store, store.durable_images(), count
        except CorruptStateRecord as corrupt:
            raise CorruptStateRecord(f"{claimed}: {corrupt}") from corrupt

    async def _replay_groups(self, claimed: ClaimedPartition, first_offset: int) -> tuple[GroupQueue, int]:
        store = GroupQueue(on_corrupt=self._policy.on_corrupt)
        count = await self._loader.read(
            claimed.topic,
            claimed.partition,
            first_offset=first_offset,
            last_offset=claimed.claim_epoch,
            take=store.replay,
            is_skipping=self._is_skipping,
        )
        return store, count

    async def _load_states(self, claimed: ClaimedPartition, not_before: int) -> tuple[StateLogFold, int, int]:
        """Return the fold, how many records it took, and the offset of the log at which it began."""
        return await self._loader.from_log_start(not_before, partial(self._complete_fold, claimed))

    async def _complete_fold(
        self, claimed: ClaimedPartition, first_offset: int
    ) -> tuple[StateLogFold, int, int]:
        """Fold from `first_offset`, or from the log start if that turns out to be too late."""
        fold, count = await self._fold_from(claimed, first_offset)
        try:
            fold.require_snapshots()
        except SnapshotMissing as missing:
            log_start = await self._loader.log_start(claimed.topic, claimed.partition)
            if first_offset <= log_start:
                self._judge_missing(claimed, missing)
                return fold, count, first_offset
            log.warning(
                "recovery_point_too_late", partition=claimed, recovery_point=first_offset, detail=missing
            )
            return await self._complete_fold(claimed, log_start)
        return fold, count, first_offset

    def _judge_missing(self, claimed: ClaimedPartition, missing: SnapshotMissing) -> None:
        if not self._is_skipping:
            raise CorruptStateRecord(f"{claimed}: {missing}") from missing
        log.warning("corrupt_record_skipped", partition=claimed, detail=missing)

    async def _fold_from(self, claimed: ClaimedPartition, first_offset: int) -> tuple[StateLogFold, int]:
        fold = StateLogFold(on_corrupt=self._policy.on_corrupt)
        count = await self._loader.read(
            claimed.topic,
            claimed.partition,
            first_offset=first_offset,
            last_offset=claimed.claim_epoch,
            take=fold.apply,
            is_skipping=self._is_skipping,
        )
        return fold, count


def _require_claimed(outcome: AppendOutcome, where: str) -> None:
    if outcome.fate is AppendFate.FENCED:
        raise ClaimLost(f"another kproxy claimed {where} at the same time ({outcome.error_code.name})")
    if outcome.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        raise BrokerUnavailable(f"kproxy's principal may not write to {where}: allow it Write on that topic")
    if outcome.fate is not AppendFate.DURABLE:
        raise BrokerUnavailable(f"{where} cannot be claimed: {outcome.detail or outcome.error_code.name}")


def _truncation(claimed: ClaimedPartition, point: RecoveryPoint | None) -> str:
    """Return what proves that the log lost its end: the claim stands where a durable record was already."""
    if point is None or point.known_end < claimed.claim_epoch:
        return ""
    return (
        f"{claimed}: it was claimed at offset {claimed.claim_epoch}, and was durable up to {point.known_end}: "
        "its end is gone, or the topic was deleted and created anew"
    )
