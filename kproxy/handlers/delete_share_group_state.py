"""DeleteShareGroupState (86), version 0, KIP-932.

Behaviour: the state ends; where there is none, that is a success.
Known differences from a stock broker: partitions are answered in turn, as often as named.
"""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import RequestContext
from kproxy.handlers.share_state_requests import ShareStateServices, share_partition_key
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.messages.delete_share_group_state_request import DeleteShareGroupStateRequest, PartitionData
from kproxy.wire.messages.delete_share_group_state_response import (
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)


class DeleteShareGroupStateHandler:
    """Serves DeleteShareGroupState."""

    __slots__ = ("_services",)

    def __init__(self, services: ShareStateServices) -> None:
        self._services = services

    async def serve(
        self, request: DeleteShareGroupStateRequest, context: RequestContext
    ) -> DeleteShareGroupStateResponse:
        """Answer per partition, one after the other; a request without a group id is answered with nothing."""
        results: list[DeleteStateResult] = []
        for topic in request.topics if request.group_id else ():
            partitions = [
                await self._answer(
                    share_partition_key(request.group_id, topic.topic_id, data.partition), data, context
                )
                for data in topic.partitions
            ]
            results.append(DeleteStateResult(topic.topic_id, partitions))
        return DeleteShareGroupStateResponse(results)

    async def _answer(
        self, key: SharePartitionKey, data: PartitionData, context: RequestContext
    ) -> PartitionResult:
        del data  # names nothing but the partition
        refusal = await self._services.answer_change(key, self._services.store.delete_state, context)
        if refusal is not None:
            return PartitionResult(key.partition, refusal.error_code, str(refusal))
        return PartitionResult(key.partition)


def refuse_delete_share_group_state(
    request: DeleteShareGroupStateRequest, error_code: ErrorCode, error_message: str | None
) -> DeleteShareGroupStateResponse:
    """Say no to every partition of `request`."""
    return DeleteShareGroupStateResponse(
        [
            DeleteStateResult(
                topic.topic_id,
                [PartitionResult(data.partition, error_code, error_message) for data in topic.partitions],
            )
            for topic in request.topics
        ]
    )
