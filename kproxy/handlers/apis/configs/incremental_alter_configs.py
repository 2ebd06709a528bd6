"""IncrementalAlterConfigs (44) for group configurations, versions 0-1, KIP-339 and KIP-932.

Behaviour: each resource is changed as a whole or not at all, and what it sets is in effect when it is durable; SET and
DELETE only, for no key is a list.
Version notes: 1 is the flexible encoding of 0.
Known differences from a real broker: only the keys of `group_configs` are known, a DELETE of any other key is
refused too, and a group that is not restored within 15 s is answered COORDINATOR_LOAD_IN_PROGRESS.
"""

from collections import Counter
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import TypeAlias

from kproxy.errors import ApiError, InvalidRequest
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.groups.group_configs import ConfigChange, GroupConfigs, require_few_groups
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.ports import GroupLog, Observer
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

_Outcome: TypeAlias = Awaitable[None] | ApiError | None
"""A write under way, why there is none, or that none was asked for."""


class IncrementalAlterConfigsHandler:
    """Serves the part of a request that `rewrites.group_config_requests.split_alter` leaves to kproxy."""

    __slots__ = ("_authorization", "_configs", "_group_log", "_observer")

    def __init__(
        self, configs: GroupConfigs, group_log: GroupLog, observer: Observer, *, authorization: Authorization
    ) -> None:
        self._authorization = authorization
        self._configs = configs
        self._group_log = group_log
        self._observer = observer

    async def serve(
        self, request: IncrementalAlterConfigsRequest, context: RequestContext
    ) -> IncrementalAlterConfigsResponse:
        """Answer one result per resource, in order, when all that was altered is durable and in effect.

        Raises:
            InvalidRequest: there are too many; nothing is altered.
        """
        require_few_groups(request.resources)
        report = RefusalReport(self._observer, context)
        outcomes = await self._begin_all(request, context)
        responses: list[AlterConfigsResourceResponse] = []
        for resource, outcome in zip(request.resources, outcomes, strict=True):
            result = AlterConfigsResourceResponse(
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            refusal = await _refusal_of(outcome)
            if refusal is not None:
                result.error_code, result.error_message = refusal.error_code, str(refusal)
                report.add(refusal.error_code, f"group '{resource.resource_name}': {refusal}")
            responses.append(result)
        report.tell()
        return IncrementalAlterConfigsResponse(responses=responses)

    async def _begin_all(
        self, request: IncrementalAlterConfigsRequest, context: RequestContext
    ) -> Sequence[_Outcome]:
        """Queue what every group is to have, before any is waited for: many become durable together."""
        names = [resource.resource_name for resource in request.resources]
        await self._authorization.learn(
            context, AclOperation.ALTER_CONFIGS, ResourceType.GROUP, lambda: names
        )
        counts = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
        outcomes: list[_Outcome] = []
        pace = Pace()
        for resource in request.resources:
            try:
                if counts[resource.resource_type, resource.resource_name] > 1:
                    raise InvalidRequest("each resource must appear at most once")
                self._authorization.require_group(context, AclOperation.ALTER_CONFIGS, resource.resource_name)
                outcomes.append(self._begin(resource, validate_only=request.validate_only))
            except ApiError as refusal:
                outcomes.append(refusal)
            if pace.is_pause_due(max(len(resource.configs), 1)):
                await let_others_go_on()
        return outcomes

    def _begin(self, resource: AlterConfigsResource, *, validate_only: bool) -> Awaitable[None] | None:
        """Queue what the group is to have, and return what is to be waited for."""
        group_id = resource.resource_name
        self._group_log.require_ready(group_id)
        changes = [
            ConfigChange(config.name, config.config_operation, config.value) for config in resource.configs
        ]
        if validate_only:
            self._configs.values_after(group_id, changes)
            return None
        begun = self._configs.begin(group_id, changes)
        return self._group_log.persist_configs(
            group_id,
            begun.values,
            on_durable=partial(self._configs.come_into_effect, begun),
            on_refused=lambda _: self._configs.give_up(begun),
        )


async def _refusal_of(outcome: _Outcome) -> ApiError | None:
    if outcome is None or isinstance(outcome, ApiError):
        return outcome
    try:
        await outcome
    except ApiError as refusal:
        return refusal
    return None
