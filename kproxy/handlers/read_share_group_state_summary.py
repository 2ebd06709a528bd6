"""ReadShareGroupStateSummary (87), versions 0-1, KIP-932.

Behaviour: what is known of each share-partition without its batches; where there is no state, start offset -1. The
leader epoch of the request is not looked at, as in stock brokers. Version notes: 1 adds DeliveryCompleteCount.
Known differences from a stock broker: partitions are answered in turn, as often as named.
"""

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError
from kproxy.handlers.ports import RequestContext
from kproxy.handlers.share_state_requests import ShareStateServices, share_partition_key
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.messages.read_share_group_state_summary_request import (
    PartitionData,
    ReadShareGroupStateSummaryRequest,
)
from kproxy.wire.messages.read_share_group_state_summary_response import (
    PartitionResult,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)


class ReadShareGroupStateSummaryHandler:
    """Serves ReadShareGroupStateSummary."""

    __slots__ = ("_services",)

    def __init__(self, services: ShareStateServices) -> None:
        self._services = services

    async def serve(
        self, request: ReadShareGroupStateSummaryRequest, context: RequestContext
    ) -> ReadShareGroupStateSummaryResponse:
        """Answer per partition, one after the other; a request without a group id is answered with nothing."""
        results: list[ReadStateSummaryResult] = []
        for topic in request.topics if request.group_id else ():
            partitions = [
                await self._answer(
                    share_partition_key(request.group_id, topic.topic_id, data.partition), data, context
                )
                for data in topic.partitions
            ]
            results.append(ReadStateSummaryResult(topic.topic_id, partitions))
        return ReadShareGroupStateSummaryResponse(results)

    async def _answer(
        self, key: SharePartitionKey, data: PartitionData, context: RequestContext
    ) -> PartitionResult:
        del data  # the leader epoch decides nothing
        answer = await self._services.answer(key, self._services.store.read_summary, context)
        if isinstance(answer, ApiError):
            return PartitionResult(key.partition, answer.error_code, str(answer))
        if answer is None:
            return PartitionResult(key.partition, start_offset=-1)
        return PartitionResult(
            key.partition,
            state_epoch=answer.state_epoch,
            leader_epoch=answer.leader_epoch,
            start_offset=answer.start_offset,
            delivery_complete_count=answer.delivery_complete_count,
        )


def refuse_read_share_group_state_summary(
    request: ReadShareGroupStateSummaryRequest, error_code: ErrorCode, error_message: str | None
) -> ReadShareGroupStateSummaryResponse:
    """Say no to every partition of `request`."""
    return ReadShareGroupStateSummaryResponse(
        [
            ReadStateSummaryResult(
                topic.topic_id,
                [PartitionResult(data.partition, error_code, error_message) for data in topic.partitions],
            )
            for topic in request.topics
        ]
    )
