"""The broker's half of fetch sessions (KIP-227), as strict as Kafka's: for `ScriptedCluster`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import PartitionData

TopicIdOf = Callable[[bytes, str], TopicId]


@dataclass(slots=True)
class FetchedPartition:
    """What a request, or a session, wants of one partition."""

    fetch_offset: int
    leader_epoch: int
    max_bytes: int


@dataclass(slots=True)
class OpenedFetch:
    """The partitions of one request, those that its session remembers included."""

    session_id: int
    partitions: dict[TopicIdPartition, FetchedPartition]
    next_epoch: int = 1
    told_high_watermarks: dict[TopicIdPartition, int] | None = None

    def changes_among(
        self, found: Mapping[TopicIdPartition, PartitionData]
    ) -> dict[TopicIdPartition, PartitionData]:
        """Return what has to be told: everything at first, then only what is different."""
        told = self.told_high_watermarks
        if told is None:
            return dict(found)
        changes = {
            key: data
            for key, data in found.items()
            if data.records or data.error_code or told.get(key) != data.high_watermark
        }
        told.update({key: data.high_watermark for key, data in found.items()})
        return changes


@dataclass(slots=True)
class FetchSessions:
    """The session cache of one broker. `has_room` false refuses new sessions; `forget_all` is a restart."""

    has_room: bool = True
    open_sessions: dict[int, OpenedFetch] = field(default_factory=dict)
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    def forget_all(self) -> None:
        """Evict every session."""
        self.open_sessions.clear()

    def open(self, request: FetchRequest, topic_id_of: TopicIdOf) -> OpenedFetch | ErrorCode:
        """Return what to fetch for `request`, or the session error that answers it."""
        asked = _partitions(request, topic_id_of)
        if request.session_epoch == -1:
            return OpenedFetch(0, asked)
        if request.session_epoch == 0:
            return self._new_session(asked)
        session = self.open_sessions.get(request.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if request.session_epoch != session.next_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.next_epoch += 1
        session.partitions.update(asked)
        for topic in request.forgotten_topics_data:
            for partition in topic.partitions:
                del session.partitions[TopicIdPartition(topic_id_of(topic.topic_id, topic.topic), partition)]
        return session

    def _new_session(self, asked: dict[TopicIdPartition, FetchedPartition]) -> OpenedFetch:
        if not self.has_room:
            return OpenedFetch(0, asked)
        session = OpenedFetch(next(self._ids), asked, told_high_watermarks={})
        self.open_sessions[session.session_id] = session
        return session


def _partitions(request: FetchRequest, topic_id_of: TopicIdOf) -> dict[TopicIdPartition, FetchedPartition]:
    found: dict[TopicIdPartition, FetchedPartition] = {}
    for topic in request.topics:
        for asked in topic.partitions:
            key = TopicIdPartition(topic_id_of(topic.topic_id, topic.topic), asked.partition)
            assert key not in found, f"{topic.topic or topic.topic_id.hex()}-{asked.partition} is named twice"
            found[key] = FetchedPartition(
                asked.fetch_offset, asked.current_leader_epoch, asked.partition_max_bytes
            )
    return found
