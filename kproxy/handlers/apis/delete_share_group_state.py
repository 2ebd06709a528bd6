"""DeleteShareGroupState (86), version 0, KIP-932.

Behaviour: the state ends; where there is none, that is a success.
Known differences from a stock broker: partitions are answered in turn, as often as named.
"""

from kproxy.handlers.apis.share_state_requests import PartitionsInTurn, ShareStateServices
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.delete_share_group_state_request import PartitionData
from kproxy.wire.messages.delete_share_group_state_response import (
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)


def delete_share_group_state(services: ShareStateServices) -> ServedApi:
    """Return the entry of DeleteShareGroupState in the registry."""

    async def answer(key: SharePartitionKey, data: PartitionData, context: RequestContext) -> PartitionResult:
        del data  # names nothing but the partition
        return await services.answer_change(
            key, services.store.delete_state, context, result_class=PartitionResult
        )

    turns = PartitionsInTurn(answer, PartitionResult, DeleteStateResult, DeleteShareGroupStateResponse)
    return ServedApi(ApiKey.DELETE_SHARE_GROUP_STATE, 0, 0, turns.serve, refuse_parts=turns.refuse)
