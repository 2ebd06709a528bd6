"""ListGroups (16) for share groups, versions 0-5, KIP-518, KIP-848 and KIP-932.

Behaviour: lists the share groups that the broker of this port coordinates, all of them on the bootstrap port; the
others are the backing cluster's (`rewrites.share_group_answers`). States and types are compared without case.
Version notes: 4 brings states, 5 types; before that nobody can ask for share groups alone, and gets them with the rest.
Known differences from a stock broker: groups that are restored at this moment are an error for whoever may want them,
as there; but where share groups cannot be served for longer, only who asks for share groups hears of it.
"""

from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorLoadInProgress
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.groups.group_coordinators import GroupCoordinators
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.ports import GroupLog
from kproxy.handlers.request_context import RequestContext
from kproxy.interception.rewrites.share_group_answers import SHARE_TYPE, wants_share_groups
from kproxy.security.acls import CLUSTER_NAME, AclOperation, ResourceType
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse

_ENTRY_BYTES: Final = 88
"""What an entry takes beside its texts, which the group has anyway: 72 bytes, and its place in a list that grows."""


class ListGroupsHandler:
    """Serves the part of ListGroups that is about share groups."""

    __slots__ = ("_authorization", "_coordinator", "_coordinators", "_group_log")

    def __init__(
        self,
        coordinator: GroupCoordinator,
        *,
        coordinators: GroupCoordinators,
        group_log: GroupLog,
        authorization: Authorization,
    ) -> None:
        self._authorization = authorization
        self._coordinator = coordinator
        self._coordinators = coordinators
        self._group_log = group_log

    async def serve(self, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
        """Answer the share groups that are wanted of this port, or why they are not known."""
        if not wants_share_groups(request) or not self._is_served(request):
            return ListGroupsResponse()
        return ListGroupsResponse(groups=await self._listed(request, context))

    def _is_served(self, request: ListGroupsRequest) -> bool:
        """Tell whether all groups are there; False where they are not and whoever asks need not hear of it."""
        try:
            self._group_log.require_all_ready()
        except ApiError as unreadiness:
            if not request.types_filter and not isinstance(unreadiness, CoordinatorLoadInProgress):
                return False
            raise
        return True

    async def _listed(self, request: ListGroupsRequest, context: RequestContext) -> list[ListedGroup]:
        wanted = {state.strip().lower() for state in request.states_filter}
        listed: list[ListedGroup] = []
        coordinated = await self._coordinators.coordinated_at(self._coordinator.group_ids, context.node_id)
        describe = AclOperation.DESCRIBE
        await self._authorization.learn_cluster(context, describe)
        permissions = self._authorization.of(context)
        sees_all = permissions.allows(describe, ResourceType.CLUSTER, CLUSTER_NAME)
        if not sees_all:
            await self._authorization.learn(context, describe, ResourceType.GROUP, lambda: coordinated)
        pace, counted = Pace(), 0
        for group_id in coordinated:
            if pace.is_pause_due():
                context.answer_budget.keep((len(listed) - counted) * _ENTRY_BYTES)
                counted = len(listed)
                await let_others_go_on()
                permissions = self._authorization.of(context)
                sees_all = permissions.allows(describe, ResourceType.CLUSTER, CLUSTER_NAME)
                if not self._is_served(request):
                    return []
            if not sees_all and not permissions.allows(describe, ResourceType.GROUP, group_id):
                continue
            state = self._coordinator.known.state_of(group_id)
            if state is not None and (not wanted or state.value.lower() in wanted):
                listed.append(ListedGroup(group_id, SHARE_TYPE, state.value, SHARE_TYPE))
        context.answer_budget.keep((len(listed) - counted) * _ENTRY_BYTES)
        return listed


def refuse_listing(
    request: ListGroupsRequest, error_code: ErrorCode, error_message: str | None
) -> ListGroupsResponse:
    """Say no as a whole; there is no place for words."""
    del request, error_message
    return ListGroupsResponse(error_code=error_code)
