"""`TopicChanges`: the cluster's topics come, grow, go and lose records, and share groups hear of it within a second.

What passes through kproxy is a reason to look at once. What is done elsewhere is found by a look every
`kproxy.topics.look.interval.ms`, while there are share groups. What the cluster's metadata say then, however kproxy
came to ask, reaches share groups here.
"""

import asyncio
from collections.abc import Collection
from typing import Final

from kproxy.handlers.groups.watched_topics import WantedNames
from kproxy.handlers.ports import Clock
from kproxy.handlers.share_groups import ShareGroups
from kproxy.interception.topic_changes import TopicChange
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.cluster.topic_looks import ClusterLooks
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import TopicId, TopicIdPartition

_LOG_START_PAUSE_S: Final = 0.05
"""Between two rounds over all share-partitions: what DeleteRecords tells meanwhile waits for the next."""


class TopicChanges:
    """Tells `share_groups` what became of the topics in `metadata`."""

    def __init__(
        self,
        metadata: ClusterMetadataCache,
        share_groups: ShareGroups,
        *,
        clock: Clock,
        tasks: TaskKeeper,
        interval_ms: int,
    ) -> None:
        self._metadata = metadata
        self._share_groups = share_groups
        self._tasks = tasks
        self._looks = ClusterLooks(
            self._look, share_groups.watched_topics.wanted, clock=clock, interval_ms=interval_ms
        )
        self._log_starts: dict[TopicIdPartition, int] = {}
        self._moving: asyncio.Task[None] | None = None
        self._tending: asyncio.Task[None] | None = None
        self._has_to_tend = False

    def start(self) -> None:
        """Begin to look; to be called when the cluster was met."""
        self._metadata.on_topics.append(self._topics_moved)
        self._metadata.on_refreshed.append(self._tend)
        self._share_groups.state_deletions.on_interrupted = self._tend
        self._tasks.spawn(self._looks.run(), name="looks at topics")

    def note(self, change: TopicChange) -> None:
        """Look at once: an answer passed that tells of changed topics."""
        self._looks.look_soon()
        for (name, partition), offset in change.log_starts.items():
            # Now, and by what is known: a moment later the name may be another topic's. Few topics are known, so
            # nobody has to look through all groups, for each of many answers, which of them these are about.
            topic_id = self._metadata.id_of(name)
            if topic_id is not None:
                self._log_starts[TopicIdPartition(topic_id, partition)] = offset
        if self._log_starts and (self._moving is None or self._moving.done()):
            self._moving = self._tasks.spawn(self._move_log_starts(), name="moved log starts")

    async def _look(self, wanted: WantedNames) -> bool:
        return await self._metadata.look(wanted.lasting, wanted.in_passing)

    def _topics_moved(self, topic_ids: Collection[TopicId]) -> None:
        if self._share_groups.topics_moved(topic_ids):
            self._tend()

    def _tend(self) -> None:
        self._has_to_tend = True
        if self._tending is None or self._tending.done():
            self._tending = self._tasks.spawn(self._tend_until_done(), name="topic deletions")

    async def _tend_until_done(self) -> None:
        pause_ms: int | None = 0
        while pause_ms is not None or self._has_to_tend:
            await asyncio.sleep((pause_ms or 0) / 1000)
            self._has_to_tend = False
            pause_ms = await self._share_groups.tend_topics()

    async def _move_log_starts(self) -> None:
        while self._log_starts:
            log_starts, self._log_starts = self._log_starts, {}
            await self._share_groups.move_log_starts(log_starts)
            await asyncio.sleep(_LOG_START_PAUSE_S)
