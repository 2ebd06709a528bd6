"""`GroupNamespace`: whether an id is a group of another type already, as the backing cluster's coordinators know it."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.net.cluster.broker_answers import BrokerRefusal, answer_of_any_length, require_success
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.coordinators import CoordinatorKind, coordinators_of, find_coordinator
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.cluster.shared_question import SharedQuestion
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse

PATIENCE_SECONDS: Final = 5.0
"""How long to go on asking: the first question makes a cluster create `__consumer_offsets`, and that takes a moment."""

FIRST_PAUSE_SECONDS: Final = 0.05
LAST_PAUSE_SECONDS: Final = 0.4

_NOT_YET: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""What passes by itself."""

_SHARE_TYPE: Final = "share"
"""The type of a group that the cluster itself serves as a share group (`Group.GroupType`)."""


class ClusterGroupNamespace:
    """Implements `GroupNamespace`: the group's coordinator is sought, and asked for the groups that it has.

    A list of all of them is the one question that brokers of every version answer for groups of every type. It is long
    where there are many groups, so those who ask one coordinator at the same time share it, and it is read beside the
    event loop.
    """

    def __init__(
        self,
        *,
        metadata: ClusterMetadataCache,
        connections: BrokerConnections,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._metadata = metadata
        self._connections = connections
        self._patience_seconds = patience_seconds
        self._lists: dict[int, SharedQuestion[frozenset[str]]] = {}

    @property
    def waiting_count(self) -> int:
        """How many joins wait for the groups of a coordinator."""
        return sum(foreign_ids.waiting_count for foreign_ids in self._lists.values())

    async def is_foreign(self, group_id: str) -> bool:
        """Tell whether `group_id` is a group in the backing cluster, and no share group.

        Raises:
            BrokerUnavailable: the coordinator cannot be found, or does not answer; one that is not there yet is
                waited for.
        """
        return group_id in await self.foreign_among((group_id,))

    async def foreign_among(self, group_ids: Collection[str]) -> frozenset[str]:
        """Return those of `group_ids` that are groups in the backing cluster, and no share groups.

        Each of their coordinators is asked once.

        Raises:
            BrokerUnavailable: a coordinator cannot be found, or does not answer; one that is not there yet is
                waited for.
        """
        loop = asyncio.get_running_loop()
        ends_at, pause_seconds = loop.time() + self._patience_seconds, FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self._foreign_now(group_ids)
            except BrokerRefusal as refusal:
                if refusal.error_code not in _NOT_YET or loop.time() + pause_seconds > ends_at:
                    raise
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, LAST_PAUSE_SECONDS)

    async def coordinators_of(self, group_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the node ids of the brokers that coordinate these groups, of those that the cluster tells.

        Raises:
            BrokerUnavailable: nobody answers.
        """
        return await coordinators_of(self._metadata, CoordinatorKind.GROUP, group_ids)

    async def _foreign_now(self, group_ids: Collection[str]) -> frozenset[str]:
        coordinated: defaultdict[int, list[str]] = defaultdict(list)
        for group_id in group_ids:
            node_id = await find_coordinator(self._metadata, CoordinatorKind.GROUP, group_id)
            coordinated[node_id].append(group_id)
        found = [(await self._listed_at(node_id)).intersection(ids) for node_id, ids in coordinated.items()]
        return frozenset().union(*found)

    async def _listed_at(self, node_id: int) -> frozenset[str]:
        foreign_ids = self._lists.get(node_id)
        if foreign_ids is None:
            foreign_ids = self._lists[node_id] = SharedQuestion(partial(self._list_foreign_ids, node_id))
        try:
            return await foreign_ids.answer()
        finally:
            if foreign_ids.waiting_count == 0:
                self._lists.pop(node_id, None)

    async def _list_foreign_ids(self, node_id: int) -> frozenset[str]:
        client = await self._connections.control(node_id)
        version = client.version_for(ApiKey.LIST_GROUPS)
        error_code, foreign_ids = await answer_of_any_length(
            client, ApiKey.LIST_GROUPS, ListGroupsRequest(), version, _foreign_ids_in
        )
        require_success(error_code, f"ListGroups of {client.peer}")
        return foreign_ids


def _foreign_ids_in(response: Message) -> tuple[int, frozenset[str]]:
    """Return the error code of an answer, and the groups in it that are no share groups."""
    assert isinstance(response, ListGroupsResponse)
    foreign_ids = [each.group_id for each in response.groups if each.group_type.lower() != _SHARE_TYPE]
    return response.error_code, frozenset(foreign_ids)
