"""AlterConfigs (33) for group configurations, versions 0-2, KIP-133.

Behaviour: every resource is refused, with the API to use instead. Version notes: 2 is the flexible encoding of 1. Known
differences from a real broker: Kafka's own replaces all configurations of the group by those of the request; here that
would have to undo what kproxy and the backing broker each hold, in two steps, with nothing to gain: every admin client
since Kafka 2.3 has IncrementalAlterConfigs.
"""

from kproxy.error_codes import ErrorCode
from kproxy.errors import told
from kproxy.handlers.administration_bounds import told_why
from kproxy.handlers.authorization import GROUP_DENIED, Authorization
from kproxy.handlers.ports import Observer
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse


class AlterConfigsHandler:
    """Refuses the part of a request that `rewrites.group_config_requests.split_legacy_alter` leaves to kproxy."""

    __slots__ = ("_authorization", "_observer")

    def __init__(self, observer: Observer, authorization: Authorization) -> None:
        self._authorization = authorization
        self._observer = observer

    async def serve(self, request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
        """Answer one refusal per resource, in order, in words for the first `MOST_TOLD_WHY`."""
        names = [resource.resource_name for resource in request.resources]
        await self._authorization.learn(
            context, AclOperation.ALTER_CONFIGS, ResourceType.GROUP, lambda: names
        )
        report = RefusalReport(self._observer, context)
        responses: list[AlterConfigsResourceResponse] = []
        for resource, text in zip(request.resources, told_why(""), strict=False):
            reason = told(
                f"AlterConfigs does not change the configurations of share group '{resource.resource_name}': "
                "use IncrementalAlterConfigs (kafka-configs.sh does)"
            )
            error_code = ErrorCode.INVALID_REQUEST
            if not self._authorization.allows_group(
                context, AclOperation.ALTER_CONFIGS, resource.resource_name
            ):
                error_code, reason = ErrorCode.GROUP_AUTHORIZATION_FAILED, GROUP_DENIED
            report.add(error_code, reason)
            responses.append(
                AlterConfigsResourceResponse(
                    error_code=error_code,
                    error_message=None if text is None else reason,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
            )
        report.tell()
        return AlterConfigsResponse(responses=responses)
