"""What a member of a share group says in a heartbeat and what it is told, free of the wire's form."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kproxy.errors import InvalidRequest
from kproxy.share.identifiers import (
    GroupId,
    MemberEpoch,
    MemberId,
    SharePartitionKey,
    StateEpoch,
    TopicId,
    require_member_id,
    require_storable_group_id,
)
from kproxy.wording import counted

JOIN_EPOCH: Final = MemberEpoch(0)
"""The member epoch of a heartbeat that joins or rejoins."""
LEAVE_EPOCH: Final = MemberEpoch(-1)
"""The member epoch of a heartbeat that leaves, and of its answer."""
MAX_SAID_BYTES: Final = 500_000
"""What a member may say of itself, in UTF-8: it becomes one log record, and Kafka's are 1 MB at most by default."""
MAX_SUBSCRIBED_TOPICS: Final = 10_000
"""Topics that a member, and all members of a group together, may subscribe to: the cluster is asked about each."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a member says. `rack_id` and `subscribed_topic_names` are None when they did not change.

    `client_host` is in Java's InetAddress form (`/127.0.0.1`).
    """

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    rack_id: str | None
    subscribed_topic_names: tuple[str, ...] | None
    client_id: str
    client_host: str

    @property
    def is_joining(self) -> bool:
        """The member is new, or was fenced and begins again under its old id."""
        return self.member_epoch == JOIN_EPOCH

    @property
    def is_leaving(self) -> bool:
        """The member says good-bye."""
        return self.member_epoch == LEAVE_EPOCH

    def validate(self) -> None:
        """Raise InvalidRequest when the heartbeat contradicts itself.

        Source: `GroupMetadataManager.throwIfShareGroupHeartbeatRequestIsInvalid`.
        """
        require_member_id(self.member_id)
        if not self.group_id:
            raise InvalidRequest("the group id is empty")
        require_storable_group_id(self.group_id)
        if len(self.subscribed_topic_names or ()) > MAX_SUBSCRIBED_TOPICS:
            raise InvalidRequest(
                f"{counted(len(self.subscribed_topic_names or ()), 'topic')} subscribed, "
                f"expected {MAX_SUBSCRIBED_TOPICS} at most"
            )
        if self._said_bytes() > MAX_SAID_BYTES:
            raise InvalidRequest(f"rack and subscription take more than {MAX_SAID_BYTES} bytes")
        if self.rack_id == "":
            raise InvalidRequest("the rack id is empty")
        if self.member_epoch < LEAVE_EPOCH:
            raise InvalidRequest(f"member epoch {self.member_epoch}, expected -1 or higher")
        if self.is_joining and not self.subscribed_topic_names:
            raise InvalidRequest("a member that joins must subscribe to at least one topic")

    def _said_bytes(self) -> int:
        names = self.subscribed_topic_names or ()
        return len((self.rack_id or "").encode()) + sum(len(name.encode()) for name in names)


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """What the coordinator needs to know of a topic."""

    topic_id: TopicId
    partition_count: int


class AssignedTopic(NamedTuple):
    """The partitions of one topic that a member was assigned, ascending.

    A named tuple, for a member is told of ten thousand in one turn, and a frozen dataclass takes three times as long.
    """

    topic_id: TopicId
    topic_name: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """What a member is told. `assignment` is None when the member knows it already; empty means nothing."""

    member_id: MemberId
    member_epoch: MemberEpoch
    heartbeat_interval_ms: int
    assignment: tuple[AssignedTopic, ...] | None


@dataclass(frozen=True, slots=True)
class HeldHeartbeat:
    """There is nothing to tell yet: ask again when the member is called, at `until_ms` at the latest."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class PartitionInitialization:
    """A share-partition whose durable state must be initialized.

    Start offset -1 leaves the choice to whoever loads it first (`share.auto.offset.reset`).
    """

    key: SharePartitionKey
    state_epoch: StateEpoch
    start_offset: int


@dataclass(frozen=True, slots=True)
class TopicInitialization:
    """Share-partitions of one topic whose durable state must be initialized, and begins at one offset.

    One object for all: a member may name a hundred thousand share-partitions in its first heartbeat.
    """

    group_id: GroupId
    topic_id: TopicId
    partitions: tuple[int, ...]
    state_epoch: StateEpoch
    start_offset: int

    def share_partitions(self) -> Iterator[SharePartitionKey]:
        """Yield the share-partitions."""
        return (SharePartitionKey(self.group_id, self.topic_id, number) for number in self.partitions)

    def initializations(self) -> Iterator[PartitionInitialization]:
        """Yield what is to be initialized of each."""
        return (
            PartitionInitialization(key, self.state_epoch, self.start_offset)
            for key in self.share_partitions()
        )
