"""Who may ask where the share coordinator is."""

from dataclasses import replace
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ClusterAuthorizationFailed
from kproxy.handlers.apis.find_share_coordinator import find_share_coordinator
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import CLUSTER_NAME, AclOperation, ResourceType
from kproxy.security.principal import ANONYMOUS
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.in_memory.scripted_authorizer import ScriptedAuthorizer

SEARCH: Final = FindCoordinatorRequest(key_type=2, coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAQ:0", "other"])
FOUND: Final = FindCoordinatorResponse(
    coordinators=[Coordinator("g:AAAAAAAAAAAAAAAAAAAAAQ:0", 1, "kproxy", 9092)]
)
CONTEXT: Final = replace(RequestContext(7, 1, 10, 6, "client", "/10.0.0.7"), answer_if_allowed=FOUND)


async def test_who_may_act_as_a_broker_is_told() -> None:
    # Given
    authorizer = ScriptedAuthorizer()
    authorizer.allow(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME, principal=ANONYMOUS)
    api = find_share_coordinator(Authorization(authorizer, InMemoryClusterMetadata()))

    # When, then
    assert await api.serve(SEARCH, CONTEXT) == FOUND


async def test_to_all_others_every_key_is_denied() -> None:
    # Given
    api = find_share_coordinator(Authorization(ScriptedAuthorizer(), InMemoryClusterMetadata()))

    # When
    with pytest.raises(ClusterAuthorizationFailed) as denied:
        await api.serve(SEARCH, CONTEXT)
    answer = api.refusal_of(SEARCH, denied.value.error_code, str(denied.value))

    # Then
    assert isinstance(answer, FindCoordinatorResponse)
    assert [
        (each.key, each.error_code, each.node_id, each.host, each.port) for each in answer.coordinators
    ] == [(key, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, -1, "", -1) for key in SEARCH.coordinator_keys]
