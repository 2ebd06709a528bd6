"""WriteShareGroupState (85), versions 0-1, KIP-932.

Behaviour: the batches are laid over the state; a late write moves nothing back. Version notes: 1 adds
DeliveryCompleteCount; version 0 leaves it unknown (-1).
Known differences from a stock broker: as Kafka 4.4, not 4.3.1, where they differ; delivery states that are never
durable are refused; partitions are answered in turn, as often as named.
"""

from collections.abc import Sequence

from kproxy.error_codes import ErrorCode
from kproxy.errors import InvalidRequest
from kproxy.handlers.ports import RequestContext
from kproxy.handlers.share_state_requests import ShareStateServices, share_partition_key
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.wire.messages import write_share_group_state_request
from kproxy.wire.messages.write_share_group_state_request import PartitionData, WriteShareGroupStateRequest
from kproxy.wire.messages.write_share_group_state_response import (
    PartitionResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)


class WriteShareGroupStateHandler:
    """Serves WriteShareGroupState."""

    __slots__ = ("_services",)

    def __init__(self, services: ShareStateServices) -> None:
        self._services = services

    async def serve(
        self, request: WriteShareGroupStateRequest, context: RequestContext
    ) -> WriteShareGroupStateResponse:
        """Answer per partition, one after the other; a request without a group id is answered with nothing."""
        results: list[WriteStateResult] = []
        for topic in request.topics if request.group_id else ():
            partitions = [
                await self._answer(
                    share_partition_key(request.group_id, topic.topic_id, data.partition), data, context
                )
                for data in topic.partitions
            ]
            results.append(WriteStateResult(topic.topic_id, partitions))
        return WriteShareGroupStateResponse(results)

    async def _answer(
        self, key: SharePartitionKey, data: PartitionData, context: RequestContext
    ) -> PartitionResult:
        refusal = await self._services.answer_change(
            key, lambda named: self._write(named, data), context, needs_state=True
        )
        if refusal is not None:
            return PartitionResult(key.partition, refusal.error_code, str(refusal))
        return PartitionResult(key.partition)

    async def _write(self, key: SharePartitionKey, data: PartitionData) -> None:
        await self._services.store.write_state(
            key,
            state_epoch=data.state_epoch,
            leader_epoch=data.leader_epoch,
            start_offset=data.start_offset,
            delivery_complete_count=data.delivery_complete_count,
            batches=_state_batches(data.state_batches),
        )


def refuse_write_share_group_state(
    request: WriteShareGroupStateRequest, error_code: ErrorCode, error_message: str | None
) -> WriteShareGroupStateResponse:
    """Say no to every partition of `request`."""
    return WriteShareGroupStateResponse(
        [
            WriteStateResult(
                topic.topic_id,
                [PartitionResult(data.partition, error_code, error_message) for data in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _state_batches(
    batches: Sequence[write_share_group_state_request.StateBatch],
) -> list[StateBatch]:
    """Return the batches as the coordinator has them. Raises InvalidRequest for a state that is none."""
    try:
        return [
            StateBatch(
                batch.first_offset,
                batch.last_offset,
                RecordState(batch.delivery_state),
                batch.delivery_count,
            )
            for batch in batches
        ]
    except ValueError as unknown:
        raise InvalidRequest(f"a delivery state that cannot be: {unknown}") from None
