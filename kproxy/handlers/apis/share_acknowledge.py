"""ShareAcknowledge (79), versions 1-2, KIP-932.

Behaviour: the acknowledgements are answered when they are durable; the last request of a session (epoch -1)
also releases what the member still holds of the session's partitions. Version notes: 2 adds RENEW
acknowledgements and AcquisitionLockTimeoutMs (KIP-1222). Known differences from a stock broker:
acknowledgements are taken on the port of any virtual broker, also after the partition's leader moved; a write
whose outcome is unknown discards the share-partition, so that what was in flight is delivered again, where a stock
broker puts back the records of that request only, as is done here when the write is certainly not in the log.
"""

from collections.abc import Mapping

from kproxy.handlers.groups.effective_limits import EffectiveLimits
from kproxy.handlers.live.acknowledgements import (
    Acknowledgements,
    Acknowledger,
    Applied,
    requested_partitions,
)
from kproxy.handlers.live.leadership import PartitionRefusal
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.live.share_session_requests import (
    require_own_session,
    require_readable_group,
    session_claim,
)
from kproxy.handlers.ports import PartitionLeader
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import TopicIdPartition
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_acknowledge_response import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)


class ShareAcknowledgeHandler:
    """Serves ShareAcknowledge."""

    __slots__ = ("_acknowledgements", "_limits", "_services")

    def __init__(
        self,
        services: ShareServices,
        acknowledgements: Acknowledgements,
        limits: EffectiveLimits,
    ) -> None:
        self._services = services
        self._acknowledgements = acknowledgements
        self._limits = limits

    async def serve(
        self, request: ShareAcknowledgeRequest, context: RequestContext
    ) -> ShareAcknowledgeResponse:
        """Answer per partition.

        Raises:
            GroupAuthorizationFailed: the sender may not read the group.
            CoordinatorNotAvailable: it cannot be told what the sender may do.
            InvalidRequest: no group id, no usable member id, or more partitions than a session may have.
            ShareSessionNotFound: the session is not open, or is of another connection and the client is gone.
            InvalidShareSessionEpoch: the epoch is 0, or not the expected one.
        """
        await require_readable_group(self._services.authorization, request, context)
        claim = session_claim(request, context)
        requested = requested_partitions(request.topics)
        self._services.sessions.require_possible(len(requested))
        require_own_session(self._services.sessions, claim, context)
        if claim.closes:
            session = self._services.sessions.find(claim.key)
        else:
            session = self._services.sessions.acknowledge(claim.key, claim.share_session_epoch)
        session.use(self._services.clock.now_ms())
        readable = await self._services.authorization.readable_topics(
            context, lambda: (each.topic_id for each in requested)
        )
        acknowledger = Acknowledger(
            claim.key, is_renew_ack=request.is_renew_ack, context=context, readable=readable
        )
        applied = await self._acknowledgements.apply(
            acknowledger, requested, closing=session if claim.closes else None
        )
        response = self._response(applied, await applied.settle(), names_endpoints=not context.is_relayed)
        response.acquisition_lock_timeout_ms = self._limits.of(claim.key.group_id).record_lock_duration_ms
        return response

    def _response(
        self,
        applied: Applied,
        refusals: Mapping[TopicIdPartition, PartitionRefusal],
        *,
        names_endpoints: bool,
    ) -> ShareAcknowledgeResponse:
        topics: dict[bytes, ShareAcknowledgeTopicResponse] = {}
        leaders: list[PartitionLeader] = []
        for partition in applied.partitions:
            result = PartitionData(partition_index=partition.partition)
            refusal = refusals.get(partition)
            if refusal is not None:
                result.error_code, result.error_message = refusal.error_code, refusal.message
                leader = self._services.leadership.leader_for(partition, refusal.error_code)
                if leader is not None:
                    leaders.append(leader)
                    result.current_leader = LeaderIdAndEpoch(leader.leader_id, leader.leader_epoch)
            topic = topics.setdefault(
                partition.topic_id, ShareAcknowledgeTopicResponse(topic_id=partition.topic_id)
            )
            topic.partitions.append(result)
        endpoints = [
            NodeEndpoint(point.node_id, point.host, point.port, point.rack)
            for point in self._services.leadership.endpoints_of(leaders if names_endpoints else ())
        ]
        return ShareAcknowledgeResponse(responses=list(topics.values()), node_endpoints=endpoints)
