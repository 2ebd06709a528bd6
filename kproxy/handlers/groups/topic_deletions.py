"""Topics that the cluster does not have any more: their durable state is deleted, group by group.

1. A topic that the cluster's metadata do not have any more has no live share-partitions: nothing of it is in flight.
   None is found from then on; those who wait for them are woken, and what they take is let go of, in portions.
2. One that is missing for `CONFIRMATION_MS` is gone for good; before that it may come back, and goes on where it was.
3. In each group that consumed it its state is deleted (`state_deletions`); what was interrupted of that goes on.

Source: `GroupCoordinatorService.onPartitionsDeleted`, `ShareCoordinatorService.onTopicsDeleted`.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Final, TypeAlias

from kproxy.errors import ApiError, BrokerUnavailable
from kproxy.handlers.groups.state_deletions import StateDeletions
from kproxy.handlers.live.pauses import Pace, let_others_go_on, work_on
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.ports import ClusterMetadata
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import SharePartitionKey, TopicId

CONFIRMATION_MS: Final = 10_000
"""How long a topic must have been missing before its state is deleted.

It is longer than a broker that is cut off from its controller goes without being fenced (`broker.session.timeout.ms`, 9
s), and whoever asks the cluster does not believe one broker alone (`net.cluster.second_opinions`).
"""


_LookedAt: TypeAlias = tuple[tuple[SharePartitionKey, ...], int]
"""A share-partition to let go of, or none, and how much work it was to find, and is to let go of it."""


class TopicDeletions:
    """Lets go of what is live when told that topics moved, and looks for those that are gone when `tend` is called."""

    __slots__ = (
        "_availability",
        "_background",
        "_clock",
        "_coordinator",
        "_deletions",
        "_directory",
        "_gone_topic_ids",
        "_is_letting_go",
        "_metadata",
        "_missing_since_ms",
    )

    def __init__(
        self,
        coordinator: GroupCoordinator,
        services: ShareServices,
        deletions: StateDeletions,
        *,
        metadata: ClusterMetadata,
    ) -> None:
        self._coordinator = coordinator
        self._deletions = deletions
        self._directory, self._availability = services.directory, services.availability
        self._background, self._clock = services.background, services.clock
        self._metadata = metadata
        self._gone_topic_ids: set[TopicId] = set()
        self._is_letting_go = False
        self._missing_since_ms: dict[TopicId, int] = {}

    def unload(self, topic_ids: Collection[TopicId]) -> frozenset[TopicId]:
        """Return those of `topic_ids` that are not in the cluster's metadata (any more), and let go of what is live.

        Nothing of that is found any more when this returns. Very much is discarded bit by bit, and so is signalled
        whatever a fetch waits for of these topics. Their durable state stays.
        """
        unknown = frozenset(
            topic_id for topic_id in topic_ids if self._metadata.leader_of(topic_id, 0) is None
        )
        self._directory.end_topics(unknown)
        self._gone_topic_ids |= unknown
        if unknown and not self._is_letting_go:
            left, pace = self._gone_keys(), Pace()
            if self._let_go_of_some(left, pace):
                self._is_letting_go = True
                rest = partial(self._let_go_of_all, left, pace)
                self._background.begin_now(rest, name="letting go of topics")
        return unknown

    async def _let_go_of_all(self, left: Iterator[_LookedAt], pace: Pace) -> None:
        try:
            await let_others_go_on()
            while self._let_go_of_some(left, pace):
                await let_others_go_on()
        finally:
            self._is_letting_go = False

    def _let_go_of_some(self, left: Iterator[_LookedAt], pace: Pace) -> bool:
        """Discard, or signal, as much as there is time for; tell whether something may be left."""
        for keys, work in left:
            for key in keys:
                if not self._directory.let_go(key):
                    self._availability.signal(key)  # as what is discarded is
            if pace.is_pause_due(work):
                return True
        return False

    def _gone_keys(self) -> Iterator[_LookedAt]:
        """Look group by group at what is known, or waited for, of the topics that are gone, until there are no more."""
        while self._gone_topic_ids:
            gone, self._gone_topic_ids = self._gone_topic_ids, set()
            fetched = self._directory.known_group_ids().union(self._availability.listened_group_ids())
            for group_id in fetched:
                keys = self._directory.known_keys_of(group_id)
                listened_keys = self._availability.listened_keys_of(group_id)
                yield (), work_on(len(keys) + len(listened_keys))
                for key in dict.fromkeys(key for key in chain(keys, listened_keys) if key.topic_id in gone):
                    yield (key,), 1

    async def tend(self) -> int | None:
        """Go on with deletions that were interrupted, and begin those of topics that are gone. Raises nothing.

        Returns in how many milliseconds to call again, None when nothing is left to do. What fails is tried again by
        the next call.
        """
        gone = await self._gone()
        for group_id in self._coordinator.group_ids:
            group = self._coordinator.find(group_id)
            if group is None or group.is_being_deleted:
                continue
            topic_ids = {*group.deleting_topic_ids, *(gone & group.state_topic_names.keys())}
            if topic_ids:
                with suppress(ApiError):  # the group says what is left to do
                    await self._deletions.delete(group, sorted(topic_ids))
        return CONFIRMATION_MS if self._has_more_to_do() else None

    def _has_more_to_do(self) -> bool:
        groups = (self._coordinator.find(group_id) for group_id in self._coordinator.group_ids)
        names = self._coordinator.state_topic_names()
        return not self._missing_since_ms.keys().isdisjoint(names) or any(
            group is not None and group.deleting_topic_ids for group in groups
        )

    async def _gone(self) -> frozenset[TopicId]:
        """Return the topics that have been missing long enough."""
        topics = self._coordinator.state_topic_names()
        try:
            missing = await self._metadata.missing_topics(topics)
        except BrokerUnavailable:
            return frozenset()
        now_ms = self._clock.now_ms()
        before = self._missing_since_ms
        self._missing_since_ms = {topic_id: before.get(topic_id, now_ms) for topic_id in missing}
        return frozenset(
            topic_id
            for topic_id, since_ms in self._missing_since_ms.items()
            if now_ms - since_ms >= CONFIRMATION_MS
        )
