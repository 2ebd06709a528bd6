"""A share group member that says exactly what a test wants it to say, request by request."""

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.share_acknowledge_request import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import PartitionData, ShareFetchResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import (
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.real_kafka.raw_connection import RawConnection

METADATA_VERSION: Final = 11
"""The newest that Kafka 2.8 knows, and new enough for topic ids."""
FIND_COORDINATOR_VERSION: Final = 2
"""The newest but one that asks for a single key."""
HEARTBEAT_VERSION: Final = 1
SHARE_VERSION: Final = 2
"""Of ShareFetch and ShareAcknowledge."""
FINAL_EPOCH: Final = -1
MAX_BYTES: Final = 52_428_800
MAX_RECORDS: Final = 500
JOIN_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 0.1
NOT_YET: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Heartbeats that are answered so are sent again."""


class RawShareMember:
    """One connection, one member, one topic; counts the epochs of its share session."""

    def __init__(
        self,
        address: str,
        *,
        group: str,
        topic: str,
        member_id: str = "raw-member",
        connect: Callable[[str], RawConnection] = RawConnection,
    ) -> None:
        """Connect to `HOST:PORT`, which leads every partition of `topic`; nothing is joined yet."""
        self._connection = connect(address)
        self._group, self._topic, self._member_id = group, topic, member_id
        self._topic_id = self._ask_for_topic_id()
        self._session_epoch = 0

    @property
    def topic_id(self) -> bytes:
        """The id of its topic."""
        return self._topic_id

    def join(self) -> ShareGroupHeartbeatResponse:
        """Ask for the coordinator and send the heartbeat that joins, again while there is none yet, as clients do.

        Every later one is left out: sessions time out after 45 s.
        """
        request = ShareGroupHeartbeatRequest(
            group_id=self._group, member_id=self._member_id, subscribed_topic_names=[self._topic]
        )
        deadline = time.monotonic() + JOIN_SECONDS
        while True:
            self._ask_for_coordinator()
            response = self.heartbeat(request)
            if response.error_code not in NOT_YET or time.monotonic() > deadline:
                break
            time.sleep(PAUSE_SECONDS)
        assert response.error_code == ErrorCode.NONE, response
        return response

    def join_until_assigned(self, *, partitions: int) -> None:
        """Join, and send heartbeats until so many partitions are assigned to this member."""
        told = self.join()
        deadline = time.monotonic() + JOIN_SECONDS
        while sum(len(topic.partitions) for topic in assigned_topics(told)) < partitions:
            assert time.monotonic() < deadline, told
            time.sleep(PAUSE_SECONDS)
            told = self.heartbeat(
                ShareGroupHeartbeatRequest(
                    group_id=self._group, member_id=self._member_id, member_epoch=told.member_epoch
                )
            )

    def leave_group(self) -> None:
        """Close the share session, then leave the group."""
        self.leave()
        leaving = ShareGroupHeartbeatRequest(
            group_id=self._group, member_id=self._member_id, member_epoch=FINAL_EPOCH
        )
        assert self.heartbeat(leaving).error_code == ErrorCode.NONE

    def heartbeat(self, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
        """Send any heartbeat."""
        return self._connection.ask(
            ApiKey.SHARE_GROUP_HEARTBEAT, HEARTBEAT_VERSION, request, ShareGroupHeartbeatResponse
        )

    def send_fetch(
        self, partitions: Sequence[int] = (0,), *, max_wait_ms: int, max_records: int = MAX_RECORDS
    ) -> None:
        """Send a ShareFetch that adds `partitions` to the session; the first one opens it."""
        wanted = [FetchPartition(partition_index=partition) for partition in partitions]
        request = ShareFetchRequest(
            group_id=self._group,
            member_id=self._member_id,
            share_session_epoch=self._next_session_epoch(),
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            max_records=max_records,
            batch_size=max_records,
            topics=[FetchTopic(topic_id=self._topic_id, partitions=wanted)],
        )
        self._connection.send_request(ApiKey.SHARE_FETCH, SHARE_VERSION, request)

    def receive_fetched(self) -> list[PartitionData]:
        """What the answer to a ShareFetch that was sent says of each partition it names."""
        response = self._connection.receive_response(ApiKey.SHARE_FETCH, SHARE_VERSION, ShareFetchResponse)
        assert response.error_code == ErrorCode.NONE, response
        return [partition for topic in response.responses for partition in topic.partitions]

    def fetch(self, partitions: Sequence[int] = (0,), *, max_wait_ms: int = 500) -> list[PartitionData]:
        """Fetch; what the answer says of each partition it names."""
        self.send_fetch(partitions, max_wait_ms=max_wait_ms)
        return self.receive_fetched()

    def fetch_until_named(self, *, max_wait_ms: int = 500) -> int:
        """Fetch until an answer names the share-partition, which is loaded then; how often that was."""
        deadline, count = time.monotonic() + JOIN_SECONDS, 1
        while not self.fetch(max_wait_ms=max_wait_ms):
            assert time.monotonic() < deadline, f"not named after {count} fetches"
            count += 1
        return count

    def fetch_until_acquired(self, *, max_wait_ms: int = 500) -> list[PartitionData]:
        """Fetch until an answer has records that were acquired; what that one says of each partition it names."""
        deadline = time.monotonic() + JOIN_SECONDS
        while True:
            fetched = self.fetch(max_wait_ms=max_wait_ms)
            if any(data.acquired_records for data in fetched):
                return fetched
            assert time.monotonic() < deadline, f"no records, but {fetched}"

    def acknowledge(self, first_offset: int, last_offset: int, how: int, *, partition: int = 0) -> int:
        """Acknowledge a range of offsets, both inclusive, in one way; the error code of the partition."""
        batch = AcknowledgementBatch(
            first_offset=first_offset, last_offset=last_offset, acknowledge_types=[how]
        )
        of_partition = AcknowledgePartition(partition_index=partition, acknowledgement_batches=[batch])
        request = ShareAcknowledgeRequest(
            group_id=self._group,
            member_id=self._member_id,
            share_session_epoch=self._next_session_epoch(),
            topics=[AcknowledgeTopic(topic_id=self._topic_id, partitions=[of_partition])],
        )
        response = self._connection.ask(
            ApiKey.SHARE_ACKNOWLEDGE, SHARE_VERSION, request, ShareAcknowledgeResponse
        )
        assert response.error_code == ErrorCode.NONE, response
        return response.responses[0].partitions[0].error_code

    def leave(self) -> None:
        """Close the share session: what the member holds is released."""
        request = ShareAcknowledgeRequest(
            group_id=self._group, member_id=self._member_id, share_session_epoch=FINAL_EPOCH
        )
        response = self._connection.ask(
            ApiKey.SHARE_ACKNOWLEDGE, SHARE_VERSION, request, ShareAcknowledgeResponse
        )
        assert response.error_code == ErrorCode.NONE, response

    def is_closed_by_peer(self, *, timeout_seconds: float) -> bool:
        """Whether the other end closes in time without having sent anything more."""
        return self._connection.is_closed_by_peer(timeout_seconds=timeout_seconds)

    def close(self) -> None:
        """Drop the connection, as a member does that dies. May be called again."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _next_session_epoch(self) -> int:
        epoch, self._session_epoch = self._session_epoch, self._session_epoch + 1
        return epoch

    def _ask_for_coordinator(self) -> None:
        """A stock broker creates its topic of groups when it is first asked for a coordinator."""
        request = FindCoordinatorRequest(key=self._group)
        self._connection.ask(
            ApiKey.FIND_COORDINATOR, FIND_COORDINATOR_VERSION, request, FindCoordinatorResponse
        )

    def _ask_for_topic_id(self) -> bytes:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=self._topic)], allow_auto_topic_creation=False
        )
        response = self._connection.ask(ApiKey.METADATA, METADATA_VERSION, request, MetadataResponse)
        [topic] = response.topics
        assert topic.error_code == ErrorCode.NONE, topic
        return topic.topic_id


def assigned_topics(answer: ShareGroupHeartbeatResponse) -> Sequence[TopicPartitions]:
    """Return what a heartbeat was told; nothing when it was told no assignment."""
    return () if answer.assignment is None else answer.assignment.topic_partitions
