"""AlterConfigs (33), the elder of IncrementalAlterConfigs, where it names configurations of share groups.

It replaces all configurations of a resource at once. Brokers of Kafka 4 take `share.` keys of the resource type GROUP
and store them where nobody reads them, since kproxy serves these; so a resource with such a key is kproxy's, which
refuses it, and everything else is the broker's.
"""

from dataclasses import dataclass, replace

from kproxy.error_codes import ErrorCode
from kproxy.interception.rewrites.group_configs import (
    GROUP_RESOURCE_TYPE,
    NO_ANSWER,
    SHARE_CONFIG_PREFIXES,
    AnswersByResource,
)
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest, AlterConfigsResource
from kproxy.wire.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse


@dataclass(frozen=True, slots=True)
class LegacyAlterSplit:
    """The two halves of an AlterConfigs request; None where nothing remains."""

    local: AlterConfigsRequest | None
    upstream: AlterConfigsRequest | None


def split_legacy_alter(request: AlterConfigsRequest) -> LegacyAlterSplit:
    """Return what is kproxy's of `request`, and the rest; `request` itself stays as it is."""
    ours = [resource for resource in request.resources if _is_ours(resource)]
    theirs = [resource for resource in request.resources if not _is_ours(resource)]
    return LegacyAlterSplit(
        local=replace(request, resources=ours) if ours else None,
        upstream=replace(request, resources=theirs) if theirs else None,
    )


def merge_legacy_alter(
    request: AlterConfigsRequest,
    local: AlterConfigsResponse | None,
    upstream: AlterConfigsResponse | None,
) -> AlterConfigsResponse:
    """Return one answer to `request` from the answers to its halves; None is a half that was not asked."""
    ours = AnswersByResource([] if local is None else local.responses)
    theirs = AnswersByResource([] if upstream is None else upstream.responses)
    answers = [ours.take(asked) or theirs.take(asked) or _unanswered(asked) for asked in request.resources]
    merged = upstream if upstream is not None else AlterConfigsResponse()
    return replace(merged, responses=[*answers, *theirs.remaining()])


def _is_ours(resource: AlterConfigsResource) -> bool:
    if resource.resource_type != GROUP_RESOURCE_TYPE:
        return False
    return any(config.name.startswith(SHARE_CONFIG_PREFIXES) for config in resource.configs)


def _unanswered(resource: AlterConfigsResource) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.UNKNOWN_SERVER_ERROR,
        error_message=NO_ANSWER,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
