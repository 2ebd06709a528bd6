"""WriteShareGroupState (85), versions 0-1, KIP-932.

Behaviour: the batches are laid over the state; a late write moves nothing back. Version notes: 1 adds
DeliveryCompleteCount; version 0 leaves it unknown (-1).
Known differences from a stock broker: as Kafka 4.4, not 4.3.1, where they differ; delivery states that are never
durable are refused, and so is a partition with more than `MOST_BATCHES`; partitions are answered in turn, as often as
named.
"""

from collections.abc import Sequence
from typing import Final

from kproxy.errors import InvalidRequest
from kproxy.handlers.apis.share_state_requests import PartitionsInTurn, ShareStateServices
from kproxy.handlers.live.pauses import work_on
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages import write_share_group_state_request
from kproxy.wire.messages.write_share_group_state_request import PartitionData
from kproxy.wire.messages.write_share_group_state_response import (
    PartitionResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)

MOST_BATCHES: Final = 10_000
"""Batches that one write may lay over a state: no more records of a share-partition can be in flight
(`partition.max.record.locks` at its highest). With those of the state there may be twice as many, which takes 25 ms."""


def write_share_group_state(services: ShareStateServices) -> ServedApi:
    """Return the entry of WriteShareGroupState in the registry."""

    async def require_few(key: SharePartitionKey, data: PartitionData) -> None:
        before = await services.store.read_summary(key)
        _require_few(data.state_batches, 0 if before is None else len(before.state_batches))

    async def write(key: SharePartitionKey, data: PartitionData) -> None:
        await services.store.write_state(
            key,
            state_epoch=data.state_epoch,
            leader_epoch=data.leader_epoch,
            start_offset=data.start_offset,
            delivery_complete_count=data.delivery_complete_count,
            batches=_state_batches(data.state_batches),
        )

    async def answer(key: SharePartitionKey, data: PartitionData, context: RequestContext) -> PartitionResult:
        return await services.answer_change(
            key,
            lambda named: write(named, data),
            context,
            result_class=PartitionResult,
            require=lambda named: require_few(named, data),
        )

    turns = PartitionsInTurn(
        answer,
        PartitionResult,
        WriteStateResult,
        WriteShareGroupStateResponse,
        work=lambda data: work_on(len(data.state_batches)),
    )
    return ServedApi(ApiKey.WRITE_SHARE_GROUP_STATE, 0, 1, turns.serve, refuse_parts=turns.refuse)


def _require_few(batches: Sequence[write_share_group_state_request.StateBatch], stored_count: int) -> None:
    most = min(MOST_BATCHES, 2 * MOST_BATCHES - stored_count)
    if len(batches) > max(most, 0):
        raise InvalidRequest(
            f"state batches of one share-partition: {len(batches)}, expected {max(most, 0)} at most, "
            f"for its state has {stored_count}"
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
