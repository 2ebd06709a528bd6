"""ReadShareGroupStateSummary (87), versions 0-1, KIP-932.

Behaviour: what is known of each share-partition without its batches; where there is no state, start offset -1. The
leader epoch of the request is not looked at, as in stock brokers. Version notes: 1 adds DeliveryCompleteCount.
Known differences from a stock broker: partitions are answered in turn, as often as named.
"""

from kproxy.errors import ApiError
from kproxy.handlers.apis.share_state_requests import PartitionsInTurn, ShareStateServices
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.read_share_group_state_summary_request import PartitionData
from kproxy.wire.messages.read_share_group_state_summary_response import (
    PartitionResult,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)


def read_share_group_state_summary(services: ShareStateServices) -> ServedApi:
    """Return the entry of ReadShareGroupStateSummary in the registry."""

    async def answer(key: SharePartitionKey, data: PartitionData, context: RequestContext) -> PartitionResult:
        del data  # the leader epoch decides nothing
        state = await services.answer(key, services.store.read_summary, context)
        if isinstance(state, ApiError):
            return PartitionResult(key.partition, state.error_code, str(state))
        if state is None:
            return PartitionResult(key.partition, start_offset=-1)
        return PartitionResult(
            key.partition,
            state_epoch=state.state_epoch,
            leader_epoch=state.leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.delivery_complete_count,
        )

    turns = PartitionsInTurn(
        answer, PartitionResult, ReadStateSummaryResult, ReadShareGroupStateSummaryResponse
    )
    return ServedApi(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 0, 1, turns.serve, refuse_parts=turns.refuse)
