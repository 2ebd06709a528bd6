"""ListConfigResources (74) for configurations of groups, version 1, KIP-1142.

Behaviour: lists every group that has `share.` configurations of its own, on whatever port, whether or not it exists;
what else there is, is the backing broker's (`interception.listed_resources`).
Version notes: 0 lists client metrics alone, and is the broker's.
Known differences from a stock broker: configurations that are restored at this moment are an error for whoever may want
them; where share groups cannot be served for longer, only who asks for groups hears of it. Very many are not told.
"""

from collections.abc import Collection
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorLoadInProgress
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.groups.group_configs import GroupConfigs
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.ports import GroupLog
from kproxy.handlers.request_context import RequestContext
from kproxy.interception.listed_resources import GROUP_RESOURCE_TYPE
from kproxy.security.acls import AclOperation
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse

_ENTRY_BYTES: Final = 72
"""What an entry takes beside its name, which is there anyway: 56 bytes, and its place in a list that grows."""


class ListConfigResourcesHandler:
    """Serves the part of ListConfigResources that is about groups."""

    __slots__ = ("_authorization", "_bounds", "_configs", "_group_log")

    def __init__(
        self,
        configs: GroupConfigs,
        group_log: GroupLog,
        authorization: Authorization,
        *,
        bounds: AdministrationBounds,
    ) -> None:
        self._bounds = bounds
        self._authorization = authorization
        self._configs = configs
        self._group_log = group_log

    async def serve(
        self, request: ListConfigResourcesRequest, context: RequestContext
    ) -> ListConfigResourcesResponse:
        """Answer the groups that have configurations, or why they are not known. Very many take several turns.

        Raises:
            ClusterAuthorizationFailed: the client may not describe the configurations of the cluster.
            InvalidRequest: there are more of them than an answer may tell of.
        """
        await self._authorization.learn_cluster(context, AclOperation.DESCRIBE_CONFIGS)
        self._authorization.require_cluster(context, AclOperation.DESCRIBE_CONFIGS)
        listed: list[ConfigResource] = []
        pace = Pace()
        for group_id in self._group_ids(request):
            self._bounds.require_room(len(listed))
            listed.append(ConfigResource(group_id, GROUP_RESOURCE_TYPE))
            if pace.is_pause_due():
                await let_others_go_on()
        context.answer_budget.keep(len(listed) * _ENTRY_BYTES)
        return ListConfigResourcesResponse(config_resources=listed)

    def _group_ids(self, request: ListConfigResourcesRequest) -> Collection[str]:
        """Return the groups that have configurations now; none where these are not known, and nobody asked for them."""
        try:
            self._group_log.require_all_ready()
        except ApiError as unreadiness:
            if not request.resource_types and not isinstance(unreadiness, CoordinatorLoadInProgress):
                return ()
            raise
        return tuple(self._configs.group_ids)


def refuse_resources(
    request: ListConfigResourcesRequest, error_code: ErrorCode, error_message: str | None
) -> ListConfigResourcesResponse:
    """Say no as a whole; there is no place for words."""
    del request, error_message
    return ListConfigResourcesResponse(error_code=error_code)
