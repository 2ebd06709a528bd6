"""Which APIs are divided by owner, and how.

Not divided are those whose answers are the same whichever process is asked: AlterConfigs (33), which is refused, what
the guard of group ids refuses, and where share coordinators are (FindCoordinator, 10).
"""

from collections.abc import Mapping
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError
from kproxy.handlers.administration_bounds import AdministrationBounds, count_of_names
from kproxy.handlers.apis import describe_share_group_offsets, share_group_describe
from kproxy.handlers.fleet.divisions import (
    AnswerRoom,
    ByName,
    Division,
    EntryByEntry,
    OfAllGroups,
    OfOneGroup,
)
from kproxy.handlers.groups.group_configs import are_few_groups
from kproxy.interception.listed_resources import wants_groups
from kproxy.interception.rewrites.share_group_answers import wants_share_groups
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from kproxy.wire.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponseGroup
from kproxy.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kproxy.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

_OF_ONE_GROUP: Final = (
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
)


def divisions(bounds: AdministrationBounds) -> Mapping[int, Division]:
    """Return how each API is divided, by its key. Bounds hold for a request before, and an answer after all."""
    of_one_group = OfOneGroup(lambda request: request.group_id)
    return {
        **dict.fromkeys(_OF_ONE_GROUP, of_one_group),
        ApiKey.SHARE_GROUP_DESCRIBE: EntryByEntry(
            "group_ids",
            "groups",
            group_id_of=lambda group_id: group_id,
            is_too_much=lambda request: count_of_names(request.group_ids) > bounds.most_named,
            room=AnswerRoom(bounds, share_group_describe.entry_count_of, share_group_describe.refused_group),
        ),
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: EntryByEntry(
            "groups",
            "groups",
            group_id_of=lambda group: group.group_id,
            is_too_much=lambda request: (
                describe_share_group_offsets.count_of_described(request) > bounds.most_named
            ),
            room=AnswerRoom(bounds, _told_count, _refused_offsets),
        ),
        ApiKey.DELETE_GROUPS: ByName(
            "groups_names",
            "results",
            is_too_much=lambda request: count_of_names(request.groups_names) > bounds.most_named,
        ),
        **_OF_CONFIGS,
        ApiKey.LIST_GROUPS: OfAllGroups(
            "groups", is_wanted=wants_share_groups, identity_of=lambda group: group.group_id
        ),
        ApiKey.LIST_CONFIG_RESOURCES: OfAllGroups(
            "config_resources",
            is_wanted=wants_groups,
            identity_of=lambda resource: (resource.resource_type, resource.resource_name),
            bounds=bounds,
        ),
    }


def _told_count(group: DescribeShareGroupOffsetsResponseGroup) -> int:
    return sum(1 + len(topic.partitions) for topic in group.topics)


def _refused_offsets(group_id: str, refusal: ApiError) -> DescribeShareGroupOffsetsResponseGroup:
    return describe_share_group_offsets.refused_group(group_id, refusal.error_code, str(refusal))


def _refused_descriptions(
    part: DescribeConfigsRequest, error_code: ErrorCode, error_message: str | None
) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(error_code, error_message, resource.resource_type, resource.resource_name)
            for resource in part.resources
        ]
    )


def _refused_alterations(
    part: IncrementalAlterConfigsRequest, error_code: ErrorCode, error_message: str | None
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code, error_message, resource.resource_type, resource.resource_name
            )
            for resource in part.resources
        ]
    )


_OF_CONFIGS: Final[Mapping[int, Division]] = {
    ApiKey.DESCRIBE_CONFIGS: EntryByEntry(
        "resources",
        "results",
        group_id_of=lambda resource: resource.resource_name,
        is_too_much=lambda request: not are_few_groups(request.resources),
        refuse=_refused_descriptions,
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: EntryByEntry(
        "resources",
        "responses",
        group_id_of=lambda resource: resource.resource_name,
        is_too_much=lambda request: not are_few_groups(request.resources),
        refuse=_refused_alterations,
    ),
}
