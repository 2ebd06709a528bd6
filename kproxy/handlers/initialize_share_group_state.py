"""InitializeShareGroupState (83), version 0, KIP-932.

Behaviour: the state begins anew under the given state epoch; repeating an initialization changes nothing.
Known differences from a stock broker: see `statelog.share_coordinator`; partitions are answered in turn, as often as
named.
"""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import RequestContext
from kproxy.handlers.share_state_requests import ShareStateServices, share_partition_key
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.messages.initialize_share_group_state_request import (
    InitializeShareGroupStateRequest,
    PartitionData,
)
from kproxy.wire.messages.initialize_share_group_state_response import (
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionResult,
)


class InitializeShareGroupStateHandler:
    """Serves InitializeShareGroupState."""

    __slots__ = ("_services",)

    def __init__(self, services: ShareStateServices) -> None:
        self._services = services

    async def serve(
        self, request: InitializeShareGroupStateRequest, context: RequestContext
    ) -> InitializeShareGroupStateResponse:
        """Answer per partition, one after the other; a request without a group id is answered with nothing."""
        results: list[InitializeStateResult] = []
        for topic in request.topics if request.group_id else ():
            partitions = [
                await self._answer(
                    share_partition_key(request.group_id, topic.topic_id, data.partition), data, context
                )
                for data in topic.partitions
            ]
            results.append(InitializeStateResult(topic.topic_id, partitions))
        return InitializeShareGroupStateResponse(results)

    async def _answer(
        self, key: SharePartitionKey, data: PartitionData, context: RequestContext
    ) -> PartitionResult:
        refusal = await self._services.answer_change(
            key,
            lambda named: self._services.store.initialize_state(
                named, state_epoch=data.state_epoch, start_offset=data.start_offset
            ),
            context,
        )
        if refusal is not None:
            return PartitionResult(key.partition, refusal.error_code, str(refusal))
        return PartitionResult(key.partition)


def refuse_initialize_share_group_state(
    request: InitializeShareGroupStateRequest, error_code: ErrorCode, error_message: str | None
) -> InitializeShareGroupStateResponse:
    """Say no to every partition of `request`."""
    return InitializeShareGroupStateResponse(
        [
            InitializeStateResult(
                topic.topic_id,
                [PartitionResult(data.partition, error_code, error_message) for data in topic.partitions],
            )
            for topic in request.topics
        ]
    )
