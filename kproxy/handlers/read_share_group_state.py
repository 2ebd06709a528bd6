"""ReadShareGroupState (84), version 0, KIP-932.

Behaviour: the state is answered to the leader of the share-partition, whose epoch is stored first.
Known differences from a stock broker: negative epochs are refused as in Kafka 4.4; partitions are answered in turn,
as often as named.
"""

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError
from kproxy.handlers.ports import RequestContext
from kproxy.handlers.share_state_requests import ShareStateServices, share_partition_key
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.messages.read_share_group_state_request import PartitionData, ReadShareGroupStateRequest
from kproxy.wire.messages.read_share_group_state_response import (
    PartitionResult,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)


class ReadShareGroupStateHandler:
    """Serves ReadShareGroupState."""

    __slots__ = ("_services",)

    def __init__(self, services: ShareStateServices) -> None:
        self._services = services

    async def serve(
        self, request: ReadShareGroupStateRequest, context: RequestContext
    ) -> ReadShareGroupStateResponse:
        """Answer per partition, one after the other; a request without a group id is answered with nothing."""
        results: list[ReadStateResult] = []
        for topic in request.topics if request.group_id else ():
            partitions = [
                await self._answer(
                    share_partition_key(request.group_id, topic.topic_id, data.partition), data, context
                )
                for data in topic.partitions
            ]
            results.append(ReadStateResult(topic.topic_id, partitions))
        return ReadShareGroupStateResponse(results)

    async def _answer(
        self, key: SharePartitionKey, data: PartitionData, context: RequestContext
    ) -> PartitionResult:
        answer = await self._services.answer(
            key,
            lambda named: self._services.store.read_state(named, leader_epoch=data.leader_epoch),
            context,
            needs_state=True,
        )
        if isinstance(answer, ApiError):
            return PartitionResult(key.partition, answer.error_code, str(answer))
        batches = [
            StateBatch(batch.first_offset, batch.last_offset, batch.state, batch.delivery_count)
            for batch in answer.state_batches
        ]
        return PartitionResult(
            key.partition,
            state_epoch=answer.state_epoch,
            start_offset=answer.start_offset,
            state_batches=batches,
        )


def refuse_read_share_group_state(
    request: ReadShareGroupStateRequest, error_code: ErrorCode, error_message: str | None
) -> ReadShareGroupStateResponse:
    """Say no to every partition of `request`."""
    return ReadShareGroupStateResponse(
        [
            ReadStateResult(
                topic.topic_id,
                [PartitionResult(data.partition, error_code, error_message) for data in topic.partitions],
            )
            for topic in request.topics
        ]
    )
