"""`KnownNames`: whether what somebody asks about is there at all, so that a typing error is no empty list."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.admin.live_share_partitions import LiveSharePartitions
from kproxy.admin.queries import NothingThere
from kproxy.admin.share_views import PartitionCounts, TopicNames
from kproxy.admin.turns import in_turns
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, TopicId, topic_id_text
from kproxy.share.share_session import ShareSessionCache
from kproxy.wording import counted

_MEMBER_DEPTH: Final = 1
_TOPIC_DEPTH: Final = 2
"""See `NothingThere`; of two largest topics the one with more partitions says what is missing."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Groups, members, topics and partitions that share groups have to do with, at this moment.

    Groups are looked at as they are known: of one that is a picture still, none is made.
    """

    coordinator: GroupCoordinator
    sessions: ShareSessionCache
    directory: LiveSharePartitions
    topic_name: TopicNames
    partition_count: PartitionCounts
    """How many partitions a topic has, None when the cluster was not asked about it."""

    async def require(self, wanted: Mapping[str, str]) -> None:
        """Return if the `group`, `member`, `topic` and `partition`, a number, among `wanted` are known.

        A topic is known that a group subscribes to or has state of; with a group, that this one does. A member is
        known that is in the group, or in any, or has a share session. A partition is known that the topic has, or
        without `topic` any that is known, or that is live; of a topic whose size is not known, every one is. Others
        have turns meanwhile, in which groups may come and go.

        Raises:
            NothingThere: the text says what is missing, and what to look at.
        """
        group_id = wanted.get("group")
        if group_id is not None:
            await self.require_group(GroupId(group_id))
        if "member" in wanted:
            await self._require_member(MemberId(wanted["member"]), group_id)
        topic, partition = wanted.get("topic"), wanted.get("partition")
        if topic is None and partition is None:
            return
        meant = await self._require_topics(topic, group_id)
        if partition is not None:
            await self._require_partition(int(partition), meant)

    async def require_group(self, group_id: GroupId) -> None:
        """Return if there is such a group, or what is left of one. Raises NothingThere."""
        if group_id in self.coordinator.known_ids:
            return
        async for session in in_turns(self.sessions.sessions()):
            if session.key.group_id == group_id:
                return
        async for key in self._live():
            if key.group_id == group_id:
                return
        raise NothingThere(
            f"there is no share group {group_id!r}: kproxy groups list (/api/v1/groups) shows those that are there"
        )

    async def _require_member(self, member_id: MemberId, group_id: str | None) -> None:
        async for each in self._group_ids(group_id):
            if member_id in self.coordinator.known.member_ids(each):
                return
        async for session in in_turns(self.sessions.sessions()):
            if session.key.member_id == member_id and group_id in (None, session.key.group_id):
                return
        place, name = (
            ("any share group", "GROUP") if group_id is None else (f"share group {group_id!r}", group_id)
        )
        raise NothingThere(
            f"there is no member {member_id!r} in {place}: "
            f"kproxy groups describe {name} --members shows those that are there",
            depth=_MEMBER_DEPTH,
        )

    async def _require_topics(self, topic: str | None, group_id: str | None) -> Mapping[TopicId, str]:
        """Return what the topics are called that are meant: all without `topic`; none that is only subscribed to."""
        names = {key.topic_id: None async for key in self._live() if group_id in (None, key.group_id)}
        known = {topic_id: self.topic_name(topic_id) async for topic_id in in_turns(names)}
        groups, is_subscribed = self.coordinator.known, False
        async for each in self._group_ids(group_id):
            known.update(groups.state_topic_names(each))
            is_subscribed = is_subscribed or topic in groups.subscribed_names(each)
        meant = {
            topic_id: name or topic_id_text(topic_id)
            async for topic_id, name in in_turns(known.items())
            if topic in (None, name, topic_id_text(topic_id))
        }
        if topic is not None and not meant and not is_subscribed:
            who = "no share group has" if group_id is None else f"share group {group_id!r} does not have"
            there = (name for name in known.values() if name is not None)
            raise NothingThere(f"{who} a topic {topic!r}", names=there, depth=_TOPIC_DEPTH)
        return meant

    async def _require_partition(self, partition: int, topics: Mapping[TopicId, str]) -> None:
        async for key in self._live():
            if key.partition == partition and key.topic_id in topics:
                return
        known = [(self.partition_count(topic_id), name) async for topic_id, name in in_turns(topics.items())]
        counts = [(count, name) for count, name in known if count is not None]
        if not counts or len(counts) < len(known) or partition < max(counts)[0]:
            return
        count, largest = max(counts)
        which = f"topic {largest!r}" if len(counts) == 1 else f"the largest topic, {largest!r},"
        raise NothingThere(
            f"there is no partition {partition}: {which} has {counted(count, 'partition')}, numbered from 0",
            depth=_TOPIC_DEPTH + 1 + count,
        )

    def _group_ids(self, group_id: str | None) -> AsyncIterator[GroupId]:
        return in_turns(self.coordinator.group_ids if group_id is None else (GroupId(group_id),))

    def _live(self) -> AsyncIterator[SharePartitionKey]:
        return in_turns(tuple(self.directory.keys()))
