"""The answer to a ShareFetch: which partitions it names, and what it says of each."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kproxy.handlers.fetching.fetch_terms import FetchedPartition
from kproxy.handlers.live.leadership import Leadership, PartitionRefusal
from kproxy.handlers.ports import PartitionLeader
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.identifiers import TopicIdPartition
from kproxy.share.share_session import ShareSession
from kproxy.wire.messages.share_fetch_response import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)


class ShareFetchAnswer:
    """Collects what was fetched, then what was acknowledged. `order` is that in which partitions were looked at."""

    __slots__ = (
        "_leaders",
        "_leadership",
        "_order",
        "_partitions",
        "_session",
        "_throttle_ms",
        "has_acknowledgements",
    )

    def __init__(
        self, session: ShareSession, order: Sequence[TopicIdPartition], leadership: Leadership
    ) -> None:
        self._session = session
        self._order = order
        self._leadership = leadership
        self._leaders: list[PartitionLeader] = []
        self._partitions: dict[TopicIdPartition, PartitionData] = {}
        self._throttle_ms = 0
        self.has_acknowledgements = False
        """Whether anything was acknowledged."""

    def add_fetched(
        self, fetched: Mapping[TopicIdPartition, FetchedPartition], *, throttle_ms: int = 0
    ) -> None:
        """Name the partitions that have records, an error, or whose turn to be named it is.

        With `throttle_ms`, which quotas ask the client to wait, none is named unless there are records.
        """
        self._throttle_ms = throttle_ms
        if throttle_ms and not any(found.acquired for found in fetched.values()):
            return
        for partition in self._order:
            found = fetched.get(partition)
            if found is None:
                continue
            is_named = self._session.belongs_in_response(
                partition, has_records=bool(found.acquired), has_error=found.refusal is not None
            )
            if is_named:
                self._partitions[partition] = self._partition_data(partition, found)

    def add_acknowledged(
        self,
        acknowledged: Iterable[TopicIdPartition],
        refusals: Mapping[TopicIdPartition, PartitionRefusal],
    ) -> None:
        """Name every partition that was acknowledged, whatever became of it."""
        for partition in acknowledged:
            self.has_acknowledgements = True
            result = self._partitions.setdefault(
                partition, PartitionData(partition_index=partition.partition)
            )
            refusal = refusals.get(partition)
            if refusal is not None:
                result.acknowledge_error_code = refusal.error_code
                result.acknowledge_error_message = refusal.message
                self._name_leader(partition, refusal, result)

    def withdraw_records(
        self, refusal: PartitionRefusal, is_lost: Callable[[TopicIdPartition], bool] = lambda _: True
    ) -> None:
        """Refuse each partition whose records are lost instead of delivering them; what was acknowledged stays.

        `is_lost` is asked for those that have records.
        """
        for partition, result in self._partitions.items():
            if result.acquired_records and is_lost(partition):
                result.records, result.acquired_records = b"", []
                result.error_code, result.error_message = refusal.error_code, refusal.message
                self._name_leader(partition, refusal, result)

    def keep_records(self, held: Callable[[TopicIdPartition], Sequence[AcquiredRange]]) -> None:
        """Deliver of each partition that has records only what is `held`, and say nothing of the others."""
        for partition, result in self._partitions.items():
            if result.acquired_records:
                result.acquired_records = _told(held(partition))
                if not result.acquired_records:
                    result.records = b""

    def withhold_records(self) -> None:
        """Deliver no records, and say nothing of them; what was acknowledged stays."""
        for result in self._partitions.values():
            result.records, result.acquired_records = b"", []

    def response(
        self, acquisition_lock_timeout_ms: int, *, names_endpoints: bool = True
    ) -> ShareFetchResponse:
        """Return the message, with the addresses of the leaders that it names or without."""
        topics: dict[bytes, ShareFetchableTopicResponse] = {}
        for partition, result in self._partitions.items():
            topic = topics.setdefault(
                partition.topic_id, ShareFetchableTopicResponse(topic_id=partition.topic_id)
            )
            topic.partitions.append(result)
        endpoints = [
            NodeEndpoint(point.node_id, point.host, point.port, point.rack)
            for point in self._leadership.endpoints_of(self._leaders if names_endpoints else ())
        ]
        return ShareFetchResponse(
            throttle_time_ms=self._throttle_ms,
            acquisition_lock_timeout_ms=acquisition_lock_timeout_ms,
            responses=list(topics.values()),
            node_endpoints=endpoints,
        )

    def _partition_data(self, partition: TopicIdPartition, found: FetchedPartition) -> PartitionData:
        result = PartitionData(partition_index=partition.partition, records=found.records)
        result.acquired_records = _told(found.acquired)
        if found.refusal is not None:
            result.error_code, result.error_message = found.refusal.error_code, found.refusal.message
            self._name_leader(partition, found.refusal, result)
        return result

    def _name_leader(
        self, partition: TopicIdPartition, refusal: PartitionRefusal, result: PartitionData
    ) -> None:
        leader = self._leadership.leader_for(partition, refusal.error_code)
        if leader is not None:
            self._leaders.append(leader)
            result.current_leader = LeaderIdAndEpoch(leader.leader_id, leader.leader_epoch)


def _told(acquired: Sequence[AcquiredRange]) -> list[AcquiredRecords]:
    return [AcquiredRecords(run.first_offset, run.last_offset, run.delivery_count) for run in acquired]
