"""What admin clients ask of a share group; each answer is noted."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages import alter_share_group_offsets_request as alterations
from kproxy.wire.messages import delete_share_group_offsets_request as deletions
from kproxy.wire.messages import describe_share_group_offsets_request as descriptions
from kproxy.wire.messages.alter_share_group_offsets_response import AlterShareGroupOffsetsResponse
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeleteGroupsResponse
from kproxy.wire.messages.delete_share_group_offsets_response import DeleteShareGroupOffsetsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse
from tests.conformance import kio_requests
from tests.conformance.member import Topic
from tests.conformance.preparation import CONFIGS_VERSION, GROUP_RESOURCE, SET
from tests.conformance.scenario import Play

DESCRIBE_VERSION: Final = 1
OFFSETS_VERSION: Final = 1
LIST_VERSION: Final = 5
DELETE_VERSION: Final = 2
DELETE: Final = 1
SHARE_CONFIGS: Final = (
    "share.assignment.interval.ms",
    "share.auto.offset.reset",
    "share.delivery.count.limit",
    "share.heartbeat.interval.ms",
    "share.isolation.level",
    "share.partition.max.record.locks",
    "share.record.lock.duration.ms",
    "share.renew.acknowledge.enable",
    "share.session.timeout.ms",
)


def describe_group(play: Play, *groups: str) -> ShareGroupDescribeResponse:
    """Ask who is in the groups."""
    request = ShareGroupDescribeRequest(group_ids=list(groups))
    return play.ask(
        "describe", ApiKey.SHARE_GROUP_DESCRIBE, DESCRIBE_VERSION, request, ShareGroupDescribeResponse
    )


def alter_offsets(play: Play, group: str, topic: Topic, offset: int) -> AlterShareGroupOffsetsResponse:
    """Let partition 0 begin at this offset."""
    partition = alterations.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=offset)
    request = alterations.AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[
            alterations.AlterShareGroupOffsetsRequestTopic(topic_name=topic.name, partitions=[partition])
        ],
    )
    key = ApiKey.ALTER_SHARE_GROUP_OFFSETS
    return play.ask("alter offsets", key, 0, request, AlterShareGroupOffsetsResponse)


def delete_offsets(play: Play, group: str, topic: Topic) -> DeleteShareGroupOffsetsResponse:
    """Forget where the group is in a topic."""
    request = deletions.DeleteShareGroupOffsetsRequest(
        group_id=group, topics=[deletions.DeleteShareGroupOffsetsRequestTopic(topic_name=topic.name)]
    )
    key = ApiKey.DELETE_SHARE_GROUP_OFFSETS
    return play.ask("delete offsets", key, 0, request, DeleteShareGroupOffsetsResponse)


def describe_offsets(
    play: Play, groups: Mapping[str, Mapping[str, list[int]] | None]
) -> DescribeShareGroupOffsetsResponse:
    """Ask where groups are: in the partitions that are named, or (None) in all that they have."""
    request = descriptions.DescribeShareGroupOffsetsRequest(
        groups=[
            descriptions.DescribeShareGroupOffsetsRequestGroup(
                group_id=group,
                topics=None
                if topics is None
                else [
                    descriptions.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=partitions)
                    for name, partitions in topics.items()
                ],
            )
            for group, topics in groups.items()
        ]
    )
    key = ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS
    return play.ask("describe offsets", key, OFFSETS_VERSION, request, DescribeShareGroupOffsetsResponse)


def described_as_classic(play: Play, group: str, version: int) -> Any:
    """What DescribeGroups says of it; the codec is kio's, and nothing is noted."""
    request = kio_requests.kio_module("describe_groups", version, "request")
    response = kio_requests.kio_module("describe_groups", version, "response")
    asked = request.DescribeGroupsRequest(groups=(group,), include_authorized_operations=False)
    [described] = kio_requests.ask(play.helper, asked, response.DescribeGroupsResponse).groups
    return described


def delete_groups(play: Play, *groups: str) -> DeleteGroupsResponse:
    """Delete groups."""
    request = DeleteGroupsRequest(groups_names=list(groups))
    return play.ask("delete groups", ApiKey.DELETE_GROUPS, DELETE_VERSION, request, DeleteGroupsResponse)


def listed(
    play: Play, groups: Sequence[str], *, types: Sequence[str] = (), states: Sequence[str] = ()
) -> list[tuple[str, str, str, str]]:
    """Those of `groups` that are listed; those of other cases are nobody's business."""
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    answer = play.helper.ask(ApiKey.LIST_GROUPS, LIST_VERSION, request, ListGroupsResponse)
    assert answer.error_code == ErrorCode.NONE
    return sorted(_row(each) for each in answer.groups if each.group_id in groups)


def _row(listed: ListedGroup) -> tuple[str, str, str, str]:
    return listed.group_id, listed.protocol_type, listed.group_state, listed.group_type


def alter_config(play: Play, group: str, key: str, value: str | None) -> int:
    """Set a configuration of the group, or take back what was set (None); the error code of the answer."""
    operation = SET if value is not None else DELETE
    config = AlterableConfig(name=key, config_operation=operation, value=value)
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group, configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource])
    answer = play.ask(
        f"set {key}={value}",
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        CONFIGS_VERSION,
        request,
        IncrementalAlterConfigsResponse,
    )
    return answer.responses[0].error_code


def describe_configs(play: Play, group: str) -> DescribeConfigsResponse:
    """Ask for all `share.*` configurations of the group, and where each value comes from.

    By name: clusters without share groups have fewer others than the reference.
    """
    resource = DescribeConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=group, configuration_keys=list(SHARE_CONFIGS)
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    key = ApiKey.DESCRIBE_CONFIGS
    return play.ask("describe configs", key, CONFIGS_VERSION, request, DescribeConfigsResponse)
