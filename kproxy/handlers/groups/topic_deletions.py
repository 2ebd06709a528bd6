"""Topics that the cluster does not have any more: their durable state is deleted, group by group.

1. A topic that the cluster's metadata do not have any more has no live share-partitions: nothing of it is in flight.
   None is found from then on; those who wait for them are woken, and what they take is let go of, in portions.
2. One that is missing for `CONFIRMATION_MS` is gone for good; before that it may come back, and goes on where it was.
3. In each group that consumed it its state is deleted (`state_deletions`); what was interrupted of that goes on.

Source: `GroupCoordinatorService.onPartitionsDeleted`, `ShareCoordinatorService.onTopicsDeleted`.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from typing import Final

from kproxy.errors import ApiError, BrokerUnavailable
from kproxy.handlers.groups.ended_stays import EndedStays
from kproxy.handlers.groups.state_deletions import StateDeletions
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.ports import Clock, ClusterMetadata
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import TopicId
from kproxy.share.share_group import ShareGroup

CONFIRMATION_MS: Final = 10_000
"""How long a topic must have been missing before its state is deleted.

It is longer than a broker that is cut off from its controller goes without being fenced (`broker.session.timeout.ms`, 9
s), and whoever asks the cluster does not believe one broker alone (`net.cluster.second_opinions`).
"""

_TOPICS_OF_ONE: Final = 50
"""To look at so many topics of a group is as much work as to make another group of its picture."""


class TopicDeletions:
    """Lets go of what is live when told that topics moved, and looks for those that are gone when `tend` is called."""

    __slots__ = (
        "_clock",
        "_coordinator",
        "_deletions",
        "_ended_stays",
        "_is_unanswered",
        "_metadata",
        "_missing_since_ms",
    )

    def __init__(
        self,
        coordinator: GroupCoordinator,
        ended_stays: EndedStays,
        deletions: StateDeletions,
        metadata: ClusterMetadata,
        clock: Clock,
    ) -> None:
        self._coordinator = coordinator
        self._deletions = deletions
        self._ended_stays = ended_stays
        self._metadata = metadata
        self._clock = clock
        self._missing_since_ms: dict[TopicId, int] = {}
        self._is_unanswered = False

    def unload(self, topic_ids: Collection[TopicId]) -> frozenset[TopicId]:
        """Return those of `topic_ids` that are not in the cluster's metadata (any more), and let go of what is live.

        Nothing of that is found any more when this returns. Very much is discarded bit by bit, and so is signalled
        whatever a fetch waits for of these topics. Their durable state stays.
        """
        unknown = frozenset(
            topic_id for topic_id in topic_ids if self._metadata.leader_of(topic_id, 0) is None
        )
        self._ended_stays.end_topics(unknown)
        return unknown

    async def tend(self) -> int | None:
        """Go on with deletions that were interrupted, and begin those of topics that are gone. Raises nothing.

        Returns in how many milliseconds to call again, None when nothing is left to do. What fails is tried again by
        the next call, and so is what the cluster could not be asked, or is not of one mind about.

        However many groups there are, others have turns in between.
        """
        gone = await self._gone(await self._topic_names())
        async for group in self._groups():
            if group.is_being_deleted:
                continue
            topic_ids = {*group.deleting_topic_ids, *(gone & group.state_topic_names.keys())}
            if topic_ids:
                with suppress(ApiError):  # the group says what is left to do
                    await self._deletions.delete(group, sorted(topic_ids))
        return CONFIRMATION_MS if await self._has_more_to_do() else None

    async def _groups(self) -> AsyncIterator[ShareGroup]:
        """Yield those groups that there are now, each in the turn in which it is found."""
        pace = Pace()
        for group_id in self._coordinator.group_ids:
            work = 1 + self._coordinator.known.work_of(group_id)
            group = self._coordinator.find(group_id)
            if group is not None:
                yield group
                if pace.is_pause_due(work + len(group.state_topic_names) // _TOPICS_OF_ONE):
                    await let_others_go_on()

    async def _has_more_to_do(self) -> bool:
        async for group in self._groups():
            if group.deleting_topic_ids or any(map(self._is_open, group.state_topic_names)):
                return True
        return False

    def _is_open(self, topic_id: TopicId) -> bool:
        """Whether it is still to be found out if the topic is gone."""
        is_missing = topic_id in self._missing_since_ms
        return is_missing or self._is_unanswered or self._metadata.leader_of(topic_id, 0) is None

    async def _topic_names(self) -> Mapping[TopicId, str]:
        """Return every topic of which some group has, or is to get, durable state."""
        names: dict[TopicId, str] = {}
        async for group in self._groups():
            names.update(group.state_topic_names)
        return names

    async def _gone(self, topics: Mapping[TopicId, str]) -> frozenset[TopicId]:
        """Return those of `topics` that have been missing long enough, whenever the cluster was asked."""
        try:
            missing = await self._metadata.missing_topics(topics)
        except BrokerUnavailable:
            # What was missing before may have been there since.
            self._missing_since_ms, self._is_unanswered = {}, True
            return frozenset()
        self._is_unanswered = False
        now_ms = self._clock.now_ms()
        before = self._missing_since_ms
        self._missing_since_ms = {topic_id: before.get(topic_id, now_ms) for topic_id in missing}
        return frozenset(
            topic_id
            for topic_id, since_ms in self._missing_since_ms.items()
            if now_ms - since_ms >= CONFIRMATION_MS
        )
