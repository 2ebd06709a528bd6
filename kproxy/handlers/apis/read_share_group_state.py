"""ReadShareGroupState (84), version 0, KIP-932.

Behaviour: the state is answered to the leader of the share-partition, whose epoch is stored first.
Known differences from a stock broker: negative epochs are refused as in Kafka 4.4; partitions are answered in turn,
as often as named.
"""

from kproxy.errors import ApiError
from kproxy.handlers.apis.share_state_requests import PartitionsInTurn, ShareStateServices
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.read_share_group_state_request import PartitionData
from kproxy.wire.messages.read_share_group_state_response import (
    PartitionResult,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)


def read_share_group_state(services: ShareStateServices) -> ServedApi:
    """Return the entry of ReadShareGroupState in the registry."""

    async def answer(key: SharePartitionKey, data: PartitionData, context: RequestContext) -> PartitionResult:
        state = await services.answer(
            key,
            lambda named: services.store.read_state(named, leader_epoch=data.leader_epoch),
            context,
            needs_state=True,
        )
        if isinstance(state, ApiError):
            return PartitionResult(key.partition, state.error_code, str(state))
        batches = [
            StateBatch(batch.first_offset, batch.last_offset, batch.state, batch.delivery_count)
            for batch in state.state_batches
        ]
        return PartitionResult(
            key.partition,
            state_epoch=state.state_epoch,
            start_offset=state.start_offset,
            state_batches=batches,
        )

    turns = PartitionsInTurn(answer, PartitionResult, ReadStateResult, ReadShareGroupStateResponse)
    return ServedApi(ApiKey.READ_SHARE_GROUP_STATE, 0, 0, turns.serve, refuse_parts=turns.refuse)
