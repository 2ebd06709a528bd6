"""`KnownNames`: whether what somebody asks about is there at all, so that a typing error is no empty list."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.admin.live_share_partitions import LiveSharePartitions
from kproxy.admin.queries import NothingThere
from kproxy.admin.share_views import PartitionCounts, TopicNames
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, TopicId, topic_id_text
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_session import ShareSessionCache
from kproxy.wording import counted

_MEMBER_DEPTH: Final = 1
_TOPIC_DEPTH: Final = 2
"""See `NothingThere`; of two largest topics the one with more partitions says what is missing."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Groups, members, topics and partitions that share groups have to do with, at this moment."""

    coordinator: GroupCoordinator
    sessions: ShareSessionCache
    directory: LiveSharePartitions
    topic_name: TopicNames
    partition_count: PartitionCounts
    """How many partitions a topic has, None when the cluster was not asked about it."""

    def require(self, wanted: Mapping[str, str]) -> None:
        """Return if the `group`, `member`, `topic` and `partition`, a number, among `wanted` are known.

        A topic is known that a group subscribes to or has state of; with a group, that this one does. A member is
        known that is in the group, or in any, or has a share session. A partition is known that the topic has, or
        without `topic` any that is known, or that is live; of a topic whose size is not known, every one is.

        Raises:
            NothingThere: the text says what is missing, and what to look at.
        """
        group_id = wanted.get("group")
        if group_id is not None:
            self.require_group(GroupId(group_id))
        if "member" in wanted:
            self._require_member(MemberId(wanted["member"]), group_id)
        if "topic" in wanted:
            self._require_topic(wanted["topic"], group_id)
        if "partition" in wanted:
            self._require_partition(int(wanted["partition"]), wanted.get("topic"), group_id)

    def require_group(self, group_id: GroupId) -> None:
        """Return if there is such a group, or what is left of one. Raises NothingThere."""
        if group_id in self.coordinator.known_ids:
            return
        if any(session.key.group_id == group_id for session in self.sessions.sessions()):
            return
        if any(key.group_id == group_id for key in self._live()):
            return
        raise NothingThere(
            f"there is no share group {group_id!r}: kproxy groups list (/api/v1/groups) shows those that are there"
        )

    def _require_member(self, member_id: MemberId, group_id: str | None) -> None:
        if any(member_id in group.members for group in self._groups(group_id)):
            return
        for session in self.sessions.sessions():
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

    def _require_topic(self, topic: str, group_id: str | None) -> None:
        names = self._topics(group_id)
        if topic in names.values() or topic in map(topic_id_text, names):
            return
        if any(topic in group.topics.subscribed_names for group in self._groups(group_id)):
            return
        who = "no share group has" if group_id is None else f"share group {group_id!r} does not have"
        there = (name for name in names.values() if name is not None)
        raise NothingThere(f"{who} a topic {topic!r}", names=there, depth=_TOPIC_DEPTH)

    def _require_partition(self, partition: int, topic: str | None, group_id: str | None) -> None:
        topics = {
            topic_id: name or topic_id_text(topic_id)
            for topic_id, name in self._topics(group_id).items()
            if topic in (None, name, topic_id_text(topic_id))
        }
        if any(key.partition == partition and key.topic_id in topics for key in self._live()):
            return
        counts = [(self.partition_count(topic_id), name) for topic_id, name in topics.items()]
        known = [(count, name) for count, name in counts if count is not None]
        if not known or len(known) < len(counts) or partition < max(known)[0]:
            return
        count, largest = max(known)
        which = f"topic {largest!r}" if len(known) == 1 else f"the largest topic, {largest!r},"
        raise NothingThere(
            f"there is no partition {partition}: {which} has {counted(count, 'partition')}, numbered from 0",
            depth=_TOPIC_DEPTH + 1 + count,
        )

    def _topics(self, group_id: str | None) -> Mapping[TopicId, str | None]:
        live_ids = {key.topic_id for key in self._live() if group_id in (None, key.group_id)}
        live = {topic_id: self.topic_name(topic_id) for topic_id in live_ids}
        groups = self._groups(group_id)
        return live | {topic: name for group in groups for topic, name in group.state_topic_names.items()}

    def _groups(self, group_id: str | None) -> Collection[ShareGroup]:
        if group_id is None:
            return self.coordinator.known.made()
        group = self.coordinator.find(GroupId(group_id))
        return () if group is None else (group,)

    def _live(self) -> Iterable[SharePartitionKey]:
        return self.directory.keys()
