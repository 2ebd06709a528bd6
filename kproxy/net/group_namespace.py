"""`GroupNamespace`: whether an id is a group of another type already, as the backing cluster's coordinators know it."""

from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.broker_client import BrokerClient
from kproxy.net.broker_connections import BrokerConnections
from kproxy.net.cluster_metadata import ClusterMetadataCache
from kproxy.net.leader_doubts import known_code
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse

_SHARE_TYPE: Final = "share"
"""The type of a group that the cluster itself serves as a share group (`Group.GroupType`)."""

_FIRST_BATCHED: Final = 4
"""FindCoordinator: the version from which on it asks for a list of keys."""


class ClusterGroupNamespace:
    """Implements `GroupNamespace`: the group's coordinator is sought, and asked for the groups that it has.

    A list of all of them is the one question that brokers of every version answer for groups of every type.
    """

    def __init__(self, *, metadata: ClusterMetadataCache, connections: BrokerConnections) -> None:
        self._metadata = metadata
        self._connections = connections

    async def is_foreign(self, group_id: str) -> bool:
        """Tell whether `group_id` is a group in the backing cluster, and no share group.

        Raises:
            BrokerUnavailable: the coordinator cannot be found, or does not answer.
        """
        node_id = await self._metadata.ask(lambda client: _coordinator_of(group_id, client))
        client = await self._connections.control(node_id)
        response = await client.request(ApiKey.LIST_GROUPS, ListGroupsRequest())
        assert isinstance(response, ListGroupsResponse)
        _require_success(response.error_code, f"ListGroups of {client.peer}")
        return any(
            group.group_id == group_id and group.group_type.lower() != _SHARE_TYPE
            for group in response.groups
        )


async def _coordinator_of(group_id: str, client: BrokerClient) -> int:
    version = client.version_for(ApiKey.FIND_COORDINATOR)
    is_batched = version >= _FIRST_BATCHED
    request = (
        FindCoordinatorRequest(coordinator_keys=[group_id])
        if is_batched
        else FindCoordinatorRequest(group_id)
    )
    response = await client.request(ApiKey.FIND_COORDINATOR, request, version)
    assert isinstance(response, FindCoordinatorResponse)
    found: list[FindCoordinatorResponse | Coordinator] = (
        [*response.coordinators] if is_batched else [response]
    )
    if len(found) != 1:
        raise BrokerUnavailable(f"{client.peer} named {len(found)} coordinators of group {group_id!r}")
    _require_success(found[0].error_code, f"FindCoordinator of {client.peer}")
    return found[0].node_id


def _require_success(error_code: int, what: str) -> None:
    code = known_code(error_code)
    if code is not ErrorCode.NONE:
        raise BrokerUnavailable(f"{what}: {code.name}")
