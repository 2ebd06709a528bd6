"""One list of resources that have configurations (ListConfigResources, 74), from kproxy's groups and the broker's.

Of groups that have `share.` configurations only kproxy knows; the broker knows groups that have others, and all other
resources. Brokers before 4.1 list client metrics alone (version 0), those before 3.7 nothing. There groups are listed
all the same, and any other type is refused as types are that a broker does not list.
Source: KIP-1142 and `KafkaApis.handleListConfigResources`.
"""

from dataclasses import replace
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ListConfigResourcesResponse

GROUP_RESOURCE_TYPE: Final = 32
"""`ConfigResource.Type.GROUP` (KIP-848)."""

CLIENT_METRICS_RESOURCE_TYPE: Final = 16
"""`ConfigResource.Type.CLIENT_METRICS` (KIP-714): all that version 0 lists."""


def wants_groups(request: ListConfigResourcesRequest) -> bool:
    """Whether groups are among the resources that `request` asks for; who names no type asks for all."""
    return not request.resource_types or GROUP_RESOURCE_TYPE in request.resource_types


def merge_resources(
    request: ListConfigResourcesRequest,
    local: ListConfigResourcesResponse | None,
    upstream: ListConfigResourcesResponse | None,
) -> ListConfigResourcesResponse:
    """Return kproxy's groups, and behind them what else the broker lists; an error of either is that of the whole.

    None is a half that was not asked: a broker is not when it has no such API, or kproxy's answer is an error.
    """
    if local is not None and local.error_code:
        return local
    if upstream is None:
        upstream = _listed_by_nobody(request, frozenset({GROUP_RESOURCE_TYPE}))
    if upstream.error_code or local is None:
        return upstream
    ours = {(resource.resource_type, resource.resource_name) for resource in local.config_resources}
    others = [
        resource
        for resource in upstream.config_resources
        if (resource.resource_type, resource.resource_name) not in ours
    ]
    return replace(upstream, config_resources=[*local.config_resources, *others])


def client_metrics_of(
    request: ListConfigResourcesRequest, response: ListConfigResourcesResponse
) -> ListConfigResourcesResponse:
    """Return the answer to `request`, as far as it is not about groups, of a broker that knows version 0 alone."""
    refused = _listed_by_nobody(request, frozenset({GROUP_RESOURCE_TYPE, CLIENT_METRICS_RESOURCE_TYPE}))
    if response.error_code or refused.error_code:
        return replace(response, error_code=response.error_code or refused.error_code, config_resources=[])
    is_wanted = not request.resource_types or CLIENT_METRICS_RESOURCE_TYPE in request.resource_types
    return response if is_wanted else replace(response, config_resources=[])


def _listed_by_nobody(
    request: ListConfigResourcesRequest, supported: frozenset[int]
) -> ListConfigResourcesResponse:
    """Return an empty list, or the refusal of a request that names a type which is not `supported`."""
    is_supported = supported.issuperset(request.resource_types)
    return ListConfigResourcesResponse(
        error_code=ErrorCode.NONE if is_supported else ErrorCode.UNSUPPORTED_VERSION
    )
