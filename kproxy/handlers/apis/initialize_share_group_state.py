"""InitializeShareGroupState (83), version 0, KIP-932.

Behaviour: the state begins anew under the given state epoch; repeating an initialization changes nothing.
Known differences from a stock broker: see `statelog.share_coordinator`; partitions are answered in turn, as often as
named.
"""

from kproxy.handlers.apis.share_state_requests import PartitionsInTurn, ShareStateServices
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.initialize_share_group_state_request import PartitionData
from kproxy.wire.messages.initialize_share_group_state_response import (
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionResult,
)


def initialize_share_group_state(services: ShareStateServices) -> ServedApi:
    """Return the entry of InitializeShareGroupState in the registry."""

    async def answer(key: SharePartitionKey, data: PartitionData, context: RequestContext) -> PartitionResult:
        return await services.answer_change(
            key,
            lambda named: services.store.initialize_state(
                named, state_epoch=data.state_epoch, start_offset=data.start_offset
            ),
            context,
            result_class=PartitionResult,
        )

    turns = PartitionsInTurn(
        answer, PartitionResult, InitializeStateResult, InitializeShareGroupStateResponse
    )
    return ServedApi(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, 0, turns.serve, refuse_parts=turns.refuse)
