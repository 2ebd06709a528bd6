"""Requests about the group in which kproxy's own processes find each other (`kproxy.fleet.group`).

Who may join, leave or delete it could take slots of the state log from the processes that serve them, so that clients
are answered as those without rights on the group (GROUP_AUTHORIZATION_FAILED). What only tells of it passes.
DeleteGroups names several groups and is answered with the share groups among them (`handlers.apis.delete_groups`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kproxy.error_codes import ErrorCode
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages import offset_commit_response as committed
from kproxy.wire.messages import txn_offset_commit_response as transacted
from kproxy.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.join_group_response import JoinGroupResponse
from kproxy.wire.messages.leave_group_response import LeaveGroupResponse
from kproxy.wire.messages.offset_delete_response import OffsetDeleteResponse
from kproxy.wire.messages.streams_group_heartbeat_response import StreamsGroupHeartbeatResponse
from kproxy.wire.messages.sync_group_response import SyncGroupResponse

DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
WORDS: Final = "Not authorized to access group: Group authorization failed."


def deny_group(request: DecodedRequest, closed: ClosedTopics) -> Message | None:
    """Return the answer to a request of `GROUP_KEYS` about a group that is closed; None of any other group.

    Source: `KafkaApis.handleJoinGroupRequest` and its neighbours.
    """
    message: Any = request.message
    if message.group_id not in closed.groups:
        return None
    closed.on_group_refused(request.api_key)
    return _DENIALS[request.api_key](message)


def committed_nothing(request: Any, error_code: ErrorCode) -> Message:
    """Return the answer to an OffsetCommit of which each partition failed."""
    return committed.OffsetCommitResponse(
        topics=[
            committed.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    committed.OffsetCommitResponsePartition(partition.partition_index, error_code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def took_nothing(request: Any, error_code: ErrorCode) -> Message:
    """Return the answer to a TxnOffsetCommit of which each partition failed."""
    return transacted.TxnOffsetCommitResponse(
        topics=[
            transacted.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    transacted.TxnOffsetCommitResponsePartition(partition.partition_index, error_code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


_DENIALS: Final[Mapping[int, Callable[[Any], Message]]] = {
    ApiKey.OFFSET_COMMIT: lambda request: committed_nothing(request, DENIED),
    ApiKey.JOIN_GROUP: lambda _: JoinGroupResponse(error_code=DENIED),
    ApiKey.HEARTBEAT: lambda _: HeartbeatResponse(error_code=DENIED),
    ApiKey.LEAVE_GROUP: lambda _: LeaveGroupResponse(error_code=DENIED),
    ApiKey.SYNC_GROUP: lambda _: SyncGroupResponse(error_code=DENIED),
    ApiKey.TXN_OFFSET_COMMIT: lambda request: took_nothing(request, DENIED),
    ApiKey.OFFSET_DELETE: lambda _: OffsetDeleteResponse(error_code=DENIED),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: lambda _: ConsumerGroupHeartbeatResponse(
        error_code=DENIED, error_message=WORDS
    ),
    ApiKey.STREAMS_GROUP_HEARTBEAT: lambda _: StreamsGroupHeartbeatResponse(
        error_code=DENIED, error_message=WORDS, status=[]
    ),
}

GROUP_KEYS: Final = frozenset(map(int, _DENIALS))
"""The requests that act on one group, which they name among their first fields (`wire.group_ids`)."""
