"""DescribeConfigs (32) for group configurations, versions 1-4, KIP-133, KIP-226, KIP-569 and KIP-932.

Behaviour: lists the keys asked for, or all of them; a key that does not exist is left out without an error.
Version notes: types and documentation from version 3 on; the encoder drops what an older version lacks.
Known differences from a real broker: only the keys of `group_configs` are listed.
"""

from enum import IntEnum

from kproxy.errors import ApiError
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.groups.group_configs import GroupConfigEntry, GroupConfigs, require_few_groups
from kproxy.handlers.ports import GroupLog, Observer
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


class ConfigSource(IntEnum):
    """Where a value comes from (`DescribeConfigsResponse.ConfigSource`)."""

    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    GROUP_CONFIG = 8


class DescribeConfigsHandler:
    """Serves the part of a request that `rewrites.group_config_requests.split_describe` leaves to kproxy."""

    __slots__ = ("_authorization", "_configs", "_group_log", "_observer")

    def __init__(
        self, configs: GroupConfigs, group_log: GroupLog, observer: Observer, *, authorization: Authorization
    ) -> None:
        self._authorization = authorization
        self._configs = configs
        self._group_log = group_log
        self._observer = observer

    async def serve(
        self, request: DescribeConfigsRequest, context: RequestContext
    ) -> DescribeConfigsResponse:
        """Answer one result per resource, in order. Raises InvalidRequest when there are too many."""
        require_few_groups(request.resources)
        names = [resource.resource_name for resource in request.resources]
        await self._authorization.learn(
            context, AclOperation.DESCRIBE_CONFIGS, ResourceType.GROUP, lambda: names
        )
        report = RefusalReport(self._observer, context)
        results = [self._describe(resource, request, report, context) for resource in request.resources]
        report.tell()
        return DescribeConfigsResponse(results=results)

    def _describe(
        self,
        resource: DescribeConfigsResource,
        request: DescribeConfigsRequest,
        report: RefusalReport,
        context: RequestContext,
    ) -> DescribeConfigsResult:
        result = DescribeConfigsResult(
            error_message=None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        try:
            self._authorization.require_group(context, AclOperation.DESCRIBE_CONFIGS, resource.resource_name)
            self._group_log.require_ready(resource.resource_name)
            entries = self._configs.describe(resource.resource_name)
        except ApiError as refusal:
            result.error_code, result.error_message = refusal.error_code, str(refusal)
            report.add(refusal.error_code, str(refusal))
            return result
        wanted = resource.configuration_keys
        result.configs = [
            _entry(entry, request) for entry in entries if not wanted or entry.definition.name in wanted
        ]
        return result


def _entry(entry: GroupConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = _synonyms(entry)
    return DescribeConfigsResourceResult(
        name=entry.definition.name,
        value=entry.value,
        read_only=False,
        config_source=synonyms[0].source,
        is_sensitive=False,
        synonyms=synonyms if request.include_synonyms else [],
        config_type=entry.definition.config_type,
        documentation=entry.definition.documentation if request.include_documentation else None,
    )


def _synonyms(entry: GroupConfigEntry) -> list[DescribeConfigsSynonym]:
    """Return what the value could come from, the one in effect first (KIP-226)."""
    definition = entry.definition
    synonyms: list[DescribeConfigsSynonym] = []
    if entry.own_value is not None:
        synonyms.append(_synonym(definition.name, entry.own_value, ConfigSource.GROUP_CONFIG))
    default_name = definition.name if definition.operator_key is None else definition.operator_key
    if entry.operator_default != definition.built_in_default:
        synonyms.append(_synonym(default_name, entry.operator_default, ConfigSource.STATIC_BROKER_CONFIG))
    synonyms.append(_synonym(default_name, definition.built_in_default, ConfigSource.DEFAULT_CONFIG))
    return synonyms


def _synonym(name: str, value: str, source: ConfigSource) -> DescribeConfigsSynonym:
    return DescribeConfigsSynonym(name=name, value=value, source=source)
