"""FindCoordinator (10), key type SHARE, version 6, KIP-932: where the share coordinator of share-partitions is.

Behaviour: those may ask who may act as a broker; to all others every key is CLUSTER_AUTHORIZATION_FAILED. Where it is
stands in the answer that `interception.rewrites.find_coordinator` has made.
Known differences from a stock broker: none.
"""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse


def find_share_coordinator(authorization: Authorization) -> ServedApi:
    """Return the entry of FindCoordinator in the registry."""

    async def serve(_request: FindCoordinatorRequest, context: RequestContext) -> Message:
        await authorization.learn_cluster(context, AclOperation.CLUSTER_ACTION)
        authorization.require_cluster(context, AclOperation.CLUSTER_ACTION)
        assert context.answer_if_allowed is not None
        return context.answer_if_allowed

    return ServedApi(ApiKey.FIND_COORDINATOR, 6, 6, serve, refuse_parts=_refuse)


def _refuse(
    request: FindCoordinatorRequest, error_code: ErrorCode, error_message: str | None
) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key, node_id=-1, port=-1, error_code=error_code, error_message=error_message)
            for key in request.coordinator_keys
        ]
    )
