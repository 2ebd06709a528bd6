"""`SlotLoading`: how the durable state of a claimed slot is found in the log."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from kproxy.errors import CorruptStateRecord, SnapshotMissing
from kproxy.handlers.groups.group_configs import usable_values
from kproxy.handlers.groups.hashed_group_ids import hash_in_turns
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.net.state_log.allocation import FACTS_SLOT
from kproxy.net.state_log.log_scan import LogScan
from kproxy.net.state_log.partition_writer import ClaimedPartition
from kproxy.net.state_log.state_topic_facts import require_same_facts
from kproxy.net.state_log.state_topics import SlotTopics
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.claims import STATE_FORMAT_VERSION
from kproxy.statelog.group_queue import DisplacedRecords, GroupOperation, GroupQueue
from kproxy.statelog.group_records import RecoveryPoint, StateTopicFacts
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.telemetry import logs
from kproxy.wire.records import Record

log = logs.logger("net.state_log.loading")


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
    states: StateQueue
    groups: GroupQueue
    images: dict[GroupId, ShareGroupImage]
    """The groups as they were found."""
    configs: dict[str, Mapping[str, str]]
    """What groups have configured, as far as it means anything here."""
    facts: StateTopicFacts
    record_count: int
    """Records read to get here, of both partitions."""
    seconds: float
    truncation: str = ""
    """What of the state topic's partition is gone that was durable, in one sentence; empty when nothing is."""

    @property
    def waiting_count(self) -> int:
        """How many operations wait to become durable, or are on their way."""
        return self.states.waiting_count + self.groups.waiting_count

    def recovery_point(self) -> RecoveryPoint:
        """Return where the next replay may begin, as of now."""
        return RecoveryPoint(self.fold.recovery_point(), self.fold.applied_offset)

    def take_apart(self) -> Iterator[int]:
        """Let go of groups and configurations one by one, and yield how much work each was. For when it is left."""
        yield from self.groups.take_apart()
        while self.images:
            yield self.images.popitem()[1].work
        while self.configs:
            self.configs.popitem()
            yield 1

    def first_writes(self) -> Sequence[GroupOperation]:
        """Return what is to be written down right after loading, in order. The facts stand in slot 0 alone."""
        mending = (DisplacedRecords(),) if self.groups.displaced_count else ()
        is_told = self.number != FACTS_SLOT or self.groups.state_topic_facts is not None
        return (*mending, *(() if is_told else (self.facts,)), self.recovery_point())


class SlotLoading:
    """Reads claimed slots from the log.

    Args:
        topics: the state topic and the groups topic.
        loader: reads their partitions.
        on_corrupt: what becomes of a record that cannot be used: "stop" refuses the slot, "skip" passes it over.
        limits: what the share coordinator of a slot keeps to.
    """

    def __init__(
        self,
        topics: SlotTopics,
        loader: LogScan,
        *,
        on_corrupt: Literal["stop", "skip"],
        limits: CoordinatorLimits,
    ) -> None:
        self._topics = topics
        self._loader = loader
        self._on_corrupt = on_corrupt
        self._is_skipping = on_corrupt == "skip"
        self._limits = limits

    async def load(self, claimed: ClaimedSlot) -> LoadedSlot:
        """Read both partitions up to the claim records.

        Raises:
            UnsupportedStateRecord: a newer kproxy wrote to it, whatever the operator said.
            CorruptStateRecord: a record cannot be used, and the operator did not say to skip such.
            BrokerUnavailable: a broker does not answer, or the log is not what it was.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        store, group_count = await self._loader.from_log_start(
            0, partial(self._replay_groups, claimed.groups)
        )
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
        images, configs = await _found(store, claimed.groups)
        await hash_in_turns((*images, *configs))
        coordinator = ShareCoordinator(fold, self._limits)
        seconds = loop.time() - began
        return LoadedSlot(
            claimed.number,
            fold,
            StateQueue(coordinator),
            store,
            images,
            configs,
            facts,
            group_count + state_count,
            seconds,
            truncation,
        )

    async def _replay_groups(self, claimed: ClaimedPartition, first_offset: int) -> tuple[GroupQueue, int]:
        store = GroupQueue(on_corrupt=self._on_corrupt)
        return store, await self._read_up_to_claim(claimed, first_offset, store.replay)

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
        fold = StateLogFold(on_corrupt=self._on_corrupt)
        return fold, await self._read_up_to_claim(claimed, first_offset, fold.apply)

    async def _read_up_to_claim(
        self, claimed: ClaimedPartition, first_offset: int, take: Callable[[Record], Outcome]
    ) -> int:
        return await self._loader.read(
            claimed.topic,
            claimed.partition,
            first_offset=first_offset,
            last_offset=claimed.claim_epoch,
            take=take,
            is_skipping=self._is_skipping,
        )


async def _found(
    store: GroupQueue, claimed: ClaimedPartition
) -> tuple[dict[GroupId, ShareGroupImage], dict[str, Mapping[str, str]]]:
    """Return the durable groups and configurations. There may be very many: others have turns in between.

    Raises:
        CorruptStateRecord: too little is left of a group.
    """
    images: dict[GroupId, ShareGroupImage] = {}
    configs: dict[str, Mapping[str, str]] = {}
    pace = Pace()
    for group_id in store.group_ids:
        try:
            image = store.durable_image(group_id)
        except CorruptStateRecord as corrupt:
            raise CorruptStateRecord(f"{claimed}: {corrupt}") from corrupt
        if image is not None:
            images[group_id] = image
        if values := usable_values(store.durable_configs(group_id)):
            configs[group_id] = values
        if pace.is_pause_due(store.record_count(group_id)):
            await let_others_go_on()
    return images, configs


def _truncation(claimed: ClaimedPartition, point: RecoveryPoint | None) -> str:
    """Return what proves that the log lost its end: the claim stands where a durable record was already."""
    if point is None or point.known_end < claimed.claim_epoch:
        return ""
    return (
        f"{claimed}: it was claimed at offset {claimed.claim_epoch}, and was durable up to {point.known_end}: "
        "its end is gone, or the topic was deleted and created anew"
    )
