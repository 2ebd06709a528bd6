"""What would make a share group a group of another type: refused, as by a coordinator that knows groups of all types.

The backing cluster's coordinator does not know of share groups, so that it would let their ids be used twice. Only
requests with the id of a share group come here (`Disposition.GUARD`). The answers are those of Kafka 4.3.1, in which a
group keeps its type as long as it exists, with members or without.
"""

from typing import NoReturn

from kproxy.error_codes import ErrorCode
from kproxy.errors import GroupIdNotFound, InconsistentGroupProtocol
from kproxy.handlers.ports import RequestContext
from kproxy.handlers.registry import ServedApi
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kproxy.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.join_group_response import JoinGroupResponse
from kproxy.wire.messages.offset_commit_request import OffsetCommitRequest
from kproxy.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kproxy.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from kproxy.wire.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


def guarded_apis() -> tuple[ServedApi, ...]:
    """Return the refusals. Versions are those that kproxy knows the messages of, both ends inclusive."""
    return (
        ServedApi(ApiKey.JOIN_GROUP, 0, 9, _refuse_join, refuse_parts=_joined_nothing),
        ServedApi(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, _refuse_heartbeat, refuse=ConsumerGroupHeartbeatResponse
        ),
        ServedApi(ApiKey.OFFSET_COMMIT, 2, 10, _refuse_commit, refuse_parts=_committed_nothing),
        ServedApi(ApiKey.TXN_OFFSET_COMMIT, 0, 5, _refuse_commit, refuse_parts=_took_nothing),
    )


async def _refuse_join(request: JoinGroupRequest, _context: RequestContext) -> NoReturn:
    raise InconsistentGroupProtocol(_reason(request.group_id))


async def _refuse_heartbeat(request: ConsumerGroupHeartbeatRequest, _context: RequestContext) -> NoReturn:
    raise GroupIdNotFound(_reason(request.group_id))


async def _refuse_commit(
    request: OffsetCommitRequest | TxnOffsetCommitRequest, _context: RequestContext
) -> NoReturn:
    raise GroupIdNotFound(_reason(request.group_id))


def _reason(group_id: str) -> str:
    return f"group {group_id!r} is a share group"


def _joined_nothing(
    request: JoinGroupRequest, error_code: ErrorCode, _error_message: str | None
) -> JoinGroupResponse:
    del request
    return JoinGroupResponse(error_code=error_code)


def _committed_nothing(
    request: OffsetCommitRequest, error_code: ErrorCode, _error_message: str | None
) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition.partition_index, error_code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _took_nothing(
    request: TxnOffsetCommitRequest, error_code: ErrorCode, _error_message: str | None
) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition.partition_index, error_code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
