"""A raw client of what administrators ask about the offsets of share groups: API keys 90 to 92."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.alter_share_group_offsets_response import AlterShareGroupOffsetsResponse
from kproxy.wire.messages.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.delete_share_group_offsets_response import DeleteShareGroupOffsetsResponse
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponse
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from tests.real_kafka.raw_connection import RawConnection

Answer: TypeAlias = tuple[object, ...]
"""What was answered, without ids and with messages as they came; partitions in order."""

NEWEST_DESCRIBE: Final = 1
NO_TOPIC_ID: Final = bytes(16)
FIND_COORDINATOR_VERSION: Final = 3
"""The newest that Kafka 2.8 knows."""
PATIENCE_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 0.1


NOT_YET: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""How a coordinator answers that was found a moment ago, and loads."""


class ShareOffsetClient:
    """Asks one broker; a `with` closes the connection."""

    def __init__(self, address: str) -> None:
        """Connect to `HOST:PORT`."""
        self.address = address
        self._connection = RawConnection(address)

    @classmethod
    def of_coordinator(cls, bootstrap: str, *, group: str) -> "ShareOffsetClient":
        """Connect to the broker that FindCoordinator names at `bootstrap`, `HOST:PORT`; wait until it is at work."""
        client = cls(_coordinator(bootstrap, group))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while client._is_not_yet_coordinator(group):
            assert time.monotonic() < deadline, client.address
            time.sleep(PAUSE_SECONDS)
        return client

    def describe(
        self,
        groups: Mapping[str, Mapping[str, Sequence[int]] | None],
        *,
        version: int = NEWEST_DESCRIBE,
    ) -> Answer:
        """Describe these partitions of each group; None means all that it has initialized."""
        asked = [
            DescribeShareGroupOffsetsRequestGroup(
                group,
                None
                if topics is None
                else [DescribeShareGroupOffsetsRequestTopic(name, list(of)) for name, of in topics.items()],
            )
            for group, topics in groups.items()
        ]
        response = self._connection.ask(
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
            version,
            DescribeShareGroupOffsetsRequest(groups=asked),
            DescribeShareGroupOffsetsResponse,
        )
        return tuple(
            (
                group.group_id,
                group.error_code,
                group.error_message,
                *sorted(
                    (
                        topic.topic_name,
                        topic.topic_id != NO_TOPIC_ID,
                        each.partition_index,
                        each.start_offset,
                        each.leader_epoch,
                        each.lag,
                        each.error_code,
                        each.error_message,
                    )
                    for topic in group.topics
                    for each in topic.partitions
                ),
            )
            for group in response.groups
        )

    def alter(self, group: str, offsets: Mapping[str, Mapping[int, int]]) -> Answer:
        """Move offsets of a group, by topic and partition."""
        topics = [
            AlterShareGroupOffsetsRequestTopic(
                name, [AlterShareGroupOffsetsRequestPartition(*moved) for moved in moves.items()]
            )
            for name, moves in offsets.items()
        ]
        request = AlterShareGroupOffsetsRequest(group_id=group, topics=topics)
        response = self._connection.ask(
            ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, request, AlterShareGroupOffsetsResponse
        )
        return (
            response.error_code,
            response.error_message,
            *sorted(
                (
                    topic.topic_name,
                    topic.topic_id != NO_TOPIC_ID,
                    each.partition_index,
                    each.error_code,
                    each.error_message,
                )
                for topic in response.responses
                for each in topic.partitions
            ),
        )

    def delete(self, group: str, *names: str) -> Answer:
        """Delete the offsets of topics."""
        topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in names]
        request = DeleteShareGroupOffsetsRequest(group_id=group, topics=topics)
        response = self._connection.ask(
            ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, request, DeleteShareGroupOffsetsResponse
        )
        return (
            response.error_code,
            response.error_message,
            *(
                (topic.topic_name, topic.topic_id != NO_TOPIC_ID, topic.error_code, topic.error_message)
                for topic in response.responses
            ),
        )

    def _is_not_yet_coordinator(self, group: str) -> bool:
        asked = DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group, None)])
        answer = self._connection.ask(
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, NEWEST_DESCRIBE, asked, DescribeShareGroupOffsetsResponse
        )
        return answer.groups[0].error_code in NOT_YET

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()


def _coordinator(bootstrap: str, group: str) -> str:
    request = FindCoordinatorRequest(key=group, key_type=0)
    deadline = time.monotonic() + PATIENCE_SECONDS
    with RawConnection(bootstrap) as connection:
        while True:
            found = connection.ask(
                ApiKey.FIND_COORDINATOR, FIND_COORDINATOR_VERSION, request, FindCoordinatorResponse
            )
            if not found.error_code:
                return f"{found.host}:{found.port}"
            assert time.monotonic() < deadline, found
            time.sleep(PAUSE_SECONDS)
