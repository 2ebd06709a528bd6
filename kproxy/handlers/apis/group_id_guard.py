"""What would make a share group a group of another type: refused, as by a coordinator that knows groups of all types.

The backing cluster's coordinator does not know of share groups, so that it would let their ids be used twice. Only
requests with the id of a share group come here (`Disposition.GUARD`). The answers are those of Kafka 4.3.1, in which a
group keeps its type as long as it exists, with members or without. Whoever asks on the port of a broker that does not
coordinate the group has to look for its coordinator first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    GroupIdNotFound,
    InconsistentGroupProtocol,
    TransactionalIdAuthorizationFailed,
)
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.groups.group_coordinators import GroupCoordinators
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.interception.closed_groups import committed_nothing, took_nothing
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kproxy.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.join_group_response import JoinGroupResponse
from kproxy.wire.messages.offset_commit_request import OffsetCommitRequest
from kproxy.wire.messages.streams_group_heartbeat_request import StreamsGroupHeartbeatRequest
from kproxy.wire.messages.streams_group_heartbeat_response import StreamsGroupHeartbeatResponse
from kproxy.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest

_TYPES: Final[Mapping[int, str]] = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "consumer",
    ApiKey.STREAMS_GROUP_HEARTBEAT: "streams",
}
"""What groups are called that these are about."""


GUARDED_KEYS: Final = frozenset(
    {
        ApiKey.JOIN_GROUP,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        ApiKey.OFFSET_COMMIT,
        ApiKey.TXN_OFFSET_COMMIT,
    }
)
"""What is refused here; each names one group."""


def guarded_apis(coordinators: GroupCoordinators, authorization: Authorization) -> tuple[ServedApi, ...]:
    """Return the refusals. Versions are those that kproxy knows the messages of, both ends inclusive."""
    guard = _Guard(coordinators, authorization)
    return (
        ServedApi(ApiKey.JOIN_GROUP, 0, 9, guard.refuse_join, refuse_parts=_joined_nothing),
        ServedApi(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, guard.refuse, refuse=ConsumerGroupHeartbeatResponse),
        ServedApi(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, 0, guard.refuse, refuse_parts=_no_streams),
        ServedApi(ApiKey.OFFSET_COMMIT, 2, 10, guard.refuse, refuse_parts=_committed_nothing),
        ServedApi(ApiKey.TXN_OFFSET_COMMIT, 0, 5, guard.refuse, refuse_parts=_took_nothing),
    )


@dataclass(frozen=True, slots=True)
class _Guard:
    """Refuses, on the port of a group's coordinator; elsewhere that is what is said.

    Who may not read the group hears that first, and nothing of what it is.
    """

    coordinators: GroupCoordinators
    authorization: Authorization

    async def refuse_join(self, request: JoinGroupRequest, context: RequestContext) -> NoReturn:
        await self.authorization.learn_group(context, AclOperation.READ, request.group_id)
        self.authorization.require_group(context, AclOperation.READ, request.group_id)
        await self.coordinators.require(request.group_id, context.node_id)
        raise InconsistentGroupProtocol(f"Group {request.group_id} is a share group.")

    async def refuse(
        self,
        request: ConsumerGroupHeartbeatRequest
        | StreamsGroupHeartbeatRequest
        | OffsetCommitRequest
        | TxnOffsetCommitRequest,
        context: RequestContext,
    ) -> NoReturn:
        if isinstance(request, TxnOffsetCommitRequest):
            self._require_transaction(request, context)
        await self.authorization.learn_group(context, AclOperation.READ, request.group_id)
        self.authorization.require_group(context, AclOperation.READ, request.group_id)
        await self.coordinators.require(request.group_id, context.node_id)
        raise GroupIdNotFound(
            f"Group {request.group_id} is not a {_TYPES.get(context.api_key, 'classic')} group."
        )

    def _require_transaction(self, request: TxnOffsetCommitRequest, context: RequestContext) -> None:
        permissions, name = self.authorization.of(context), request.transactional_id
        if not permissions.allows(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, name):
            raise TransactionalIdAuthorizationFailed("Transactional Id authorization failed.")


def _no_streams(
    _request: StreamsGroupHeartbeatRequest, error_code: ErrorCode, error_message: str | None
) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=error_code, error_message=error_message, status=[])


def _joined_nothing(
    request: JoinGroupRequest, error_code: ErrorCode, _error_message: str | None
) -> JoinGroupResponse:
    del request
    return JoinGroupResponse(error_code=error_code)


def _committed_nothing(
    request: OffsetCommitRequest, error_code: ErrorCode, _error_message: str | None
) -> Message:
    return committed_nothing(request, error_code)


def _took_nothing(
    request: TxnOffsetCommitRequest, error_code: ErrorCode, _error_message: str | None
) -> Message:
    return took_nothing(request, error_code)
