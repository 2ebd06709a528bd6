"""Cases 83 to 90: what admin clients ask and change."""

from collections.abc import Mapping
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
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.conformance import kio_requests, preparation
from tests.conformance.case import case
from tests.conformance.grounds import Ground
from tests.conformance.member import ACCEPT, BRIEF, Topic, ack, acknowledge_errors, acquired
from tests.conformance.membership import JOINING
from tests.conformance.preparation import GROUP_RESOURCE, SET
from tests.conformance.scenario import Play

DESCRIBE_VERSION: Final = 1
OFFSETS_VERSION: Final = 1
LIST_VERSION: Final = 5
DELETE_VERSION: Final = 2
CLASSIC_DESCRIBE_VERSIONS: Final = (5, 6)
NO_ERROR_VERSION: Final = 5
"""Of DescribeGroups: the last one that says Dead of a group that is not there, and no error."""


@case(83)
def offsets_are_altered_only_of_a_group_without_members(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    play.produce_batches(topic, 5)
    refused = _alter_offsets(play, group.group_id, topic, 3)
    assert refused.error_code == ErrorCode.NON_EMPTY_GROUP
    group.founder_leaves()
    assert _alter_offsets(play, group.group_id, topic, 3).error_code == ErrorCode.NONE
    group.founder_returns()
    assert acquired(group.member().fetch_records()) == [(3, 4, 1)]
    missing = play.new_name("missing")
    assert _alter_offsets(play, missing, topic, 2).error_code == ErrorCode.NONE
    _describe_offsets(play, {missing: None})


@case(84)
def a_group_without_offsets_begins_as_a_new_one(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    play.produce_batches(topic, 5)
    member = group.member()
    assert acquired(member.fetch()) == [(0, 4, 1)]
    assert acknowledge_errors(member.acknowledge(ack(0, 4, ACCEPT))) == [ErrorCode.NONE]
    member.drop()
    assert _delete_offsets(play, group.group_id, topic).error_code == ErrorCode.NON_EMPTY_GROUP
    group.founder_leaves()
    assert _delete_offsets(play, group.group_id, topic).error_code == ErrorCode.NONE
    again = _delete_offsets(play, group.group_id, topic)
    assert again.responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    missing = _delete_offsets(play, play.new_name("missing"), topic)
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    group.founder_returns()
    assert acquired(group.member().fetch_records()) == [(0, 4, 1)]


@case(85)
def a_group_is_deleted_when_it_has_no_members(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    unknown = play.new_name("unknown")
    refused = _delete_groups(play, group.group_id, unknown)
    assert {each.group_id: each.error_code for each in refused.results} == {
        group.group_id: ErrorCode.NON_EMPTY_GROUP,
        unknown: ErrorCode.GROUP_ID_NOT_FOUND,
    }
    group.founder_leaves()
    play.say("before", _listed(play, [group.group_id]))
    deleted = _delete_groups(play, group.group_id)
    assert [each.error_code for each in deleted.results] == [ErrorCode.NONE]
    play.say("after", _listed(play, [group.group_id]))


@case(86)
def offsets_are_described_of_what_is_initialized_with_their_lag(play: Play) -> None:
    topic, other = play.topic(2), play.topic()
    group = play.group(topic)
    play.produce_batches(topic, 6)
    member = group.member()
    assert acquired(member.fetch_records()) == [(0, 5, 1)]
    answer = member.acknowledge(ack(0, 1, ACCEPT), ack(4, 4, ACCEPT))
    assert acknowledge_errors(answer) == [ErrorCode.NONE]
    _describe_offsets(play, {group.group_id: None})
    named = {topic.name: [0, 1], other.name: [0], play.new_name("unknown"): [0]}
    _describe_offsets(play, {group.group_id: named})
    _describe_offsets(play, {play.new_name("unknown"): None, group.group_id: {}})


@case(87)
def as_a_classic_group_a_share_group_is_dead(play: Play) -> None:
    """3.9.2 has no version 6, which says it with an error too: such a client asks in version 5."""
    group = play.group(play.topic(), is_loaded=False)
    newest = play.newest_version(ApiKey.DESCRIBE_GROUPS)
    for version in CLASSIC_DESCRIBE_VERSIONS:
        described = _described_as_classic(play, group.group_id, min(version, newest))
        error_code = (
            ErrorCode.GROUP_ID_NOT_FOUND if min(version, newest) > NO_ERROR_VERSION else ErrorCode.NONE
        )
        assert (described.group_state, described.error_code) == ("Dead", error_code)
        assert described.members == ()


@case(88)
def share_groups_are_listed_by_their_type_and_state(play: Play) -> None:
    topic = play.topic()
    stable, empty = play.group(topic), play.group(topic)
    empty.founder_leaves()
    classic = play.new_name("classic")
    preparation.commit_offset(play.helper, classic, topic)
    groups = [stable.group_id, empty.group_id, classic]
    play.say("all", _listed(play, groups))
    play.say("share groups", _listed(play, groups, types=["share"]))
    play.say("classic groups", _listed(play, groups, types=["Classic"]))
    play.say("share groups in capitals", _listed(play, groups, types=["SHARE"]))
    play.say("empty share groups", _listed(play, groups, types=["share"], states=["Empty"]))
    play.say("stable groups", _listed(play, groups, states=["stable"]))
    request = ShareGroupDescribeRequest(group_ids=[stable.group_id, empty.group_id, classic])
    described = play.ask(
        "describe", ApiKey.SHARE_GROUP_DESCRIBE, DESCRIBE_VERSION, request, ShareGroupDescribeResponse
    )
    assert len(described.groups) == len(groups)


@case(89)
def a_configuration_out_of_range_or_unknown_is_refused(play: Play) -> None:
    group = play.new_name("group")
    for key, value in (
        ("share.delivery.count.limit", "99"),
        ("share.no.such.key", "1"),
        ("share.record.lock.duration.ms", "999"),
        ("share.record.lock.duration.ms", "soon"),
        ("share.auto.offset.reset", "sometime"),
        ("errors.deadletterqueue.topic.name", "letters"),
    ):
        assert _alter_config(play, group, key, value) == ErrorCode.INVALID_CONFIG


@case(90, ground=Ground.DISABLED)
def where_share_groups_are_switched_off_their_apis_are_answered_unsupported_version(play: Play) -> None:
    topic = play.topic()
    member = play.member(play.new_name("group"), (topic,), member_id="member")
    request = ShareGroupHeartbeatRequest(
        group_id=member.group or "", member_id="member", subscribed_topic_names=[topic.name]
    )
    joined = member.ask("heartbeat", ApiKey.SHARE_GROUP_HEARTBEAT, 1, request, ShareGroupHeartbeatResponse)
    codes = [
        joined.error_code,
        member.fetch(terms=BRIEF).error_code,
        member.acknowledge().error_code,
        member.heartbeat(JOINING, topics=[topic.name]).error_code,
    ]
    assert codes == [ErrorCode.UNSUPPORTED_VERSION] * len(codes)


@case(104)
def a_group_that_altering_offsets_created_is_listed(play: Play) -> None:
    group, topic = play.new_group_id(), play.topic()
    play.group(topic)  # with a member that the topic was assigned to: the coordinator has heard of it
    assert _alter_offsets(play, group, topic, 0).error_code == ErrorCode.NONE
    play.say("listed", _listed(play, [group]))


@case(102, ground=Ground.DISABLED)
def where_share_groups_are_switched_off_admin_clients_are_told_so(play: Play) -> None:
    """The other half of case 90."""
    topic, group = play.topic(), play.new_name("group")
    request = ShareGroupDescribeRequest(group_ids=[group])
    described = play.ask(
        "describe", ApiKey.SHARE_GROUP_DESCRIBE, DESCRIBE_VERSION, request, ShareGroupDescribeResponse
    )
    codes = [
        described.groups[0].error_code,
        _describe_offsets(play, {group: None}).groups[0].error_code,
        _alter_offsets(play, group, topic, 0).error_code,
        _delete_offsets(play, group, topic).error_code,
    ]
    assert codes == [ErrorCode.UNSUPPORTED_VERSION] * len(codes)


# ------------------------------------------------ requests


def _alter_offsets(play: Play, group: str, topic: Topic, offset: int) -> AlterShareGroupOffsetsResponse:
    partition = alterations.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=offset)
    request = alterations.AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[
            alterations.AlterShareGroupOffsetsRequestTopic(topic_name=topic.name, partitions=[partition])
        ],
    )
    key = ApiKey.ALTER_SHARE_GROUP_OFFSETS
    return play.ask("alter offsets", key, 0, request, AlterShareGroupOffsetsResponse)


def _delete_offsets(play: Play, group: str, topic: Topic) -> DeleteShareGroupOffsetsResponse:
    request = deletions.DeleteShareGroupOffsetsRequest(
        group_id=group, topics=[deletions.DeleteShareGroupOffsetsRequestTopic(topic_name=topic.name)]
    )
    key = ApiKey.DELETE_SHARE_GROUP_OFFSETS
    return play.ask("delete offsets", key, 0, request, DeleteShareGroupOffsetsResponse)


def _describe_offsets(
    play: Play, groups: Mapping[str, Mapping[str, list[int]] | None]
) -> DescribeShareGroupOffsetsResponse:
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


def _described_as_classic(play: Play, group: str, version: int) -> Any:
    request = kio_requests.kio_module("describe_groups", version, "request")
    response = kio_requests.kio_module("describe_groups", version, "response")
    asked = request.DescribeGroupsRequest(groups=(group,), include_authorized_operations=False)
    [described] = kio_requests.ask(play.helper, asked, response.DescribeGroupsResponse).groups
    return described


def _delete_groups(play: Play, *groups: str) -> DeleteGroupsResponse:
    request = DeleteGroupsRequest(groups_names=list(groups))
    return play.ask("delete groups", ApiKey.DELETE_GROUPS, DELETE_VERSION, request, DeleteGroupsResponse)


def _listed(
    play: Play, groups: list[str], *, types: list[str] | None = None, states: list[str] | None = None
) -> list[tuple[str, str, str, str]]:
    """Those of `groups` that are listed; those of other cases are nobody's business."""
    request = ListGroupsRequest(states_filter=states or [], types_filter=types or [])
    answer = play.helper.ask(ApiKey.LIST_GROUPS, LIST_VERSION, request, ListGroupsResponse)
    assert answer.error_code == ErrorCode.NONE
    return sorted(_row(each) for each in answer.groups if each.group_id in groups)


def _row(listed: ListedGroup) -> tuple[str, str, str, str]:
    return listed.group_id, listed.protocol_type, listed.group_state, listed.group_type


def _alter_config(play: Play, group: str, key: str, value: str) -> int:
    config = AlterableConfig(name=key, config_operation=SET, value=value)
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group, configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource])
    answer = play.ask(
        f"set {key}={value}", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request, IncrementalAlterConfigsResponse
    )
    return answer.responses[0].error_code
