"""What each request needs of the state log before it is served."""

import pytest

from kproxy.handlers.readiness import PATIENCE_MS, AlwaysReady, StateNeed, state_need
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.read_share_group_state_request import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadStateData,
)
from kproxy.wire.messages.share_acknowledge_request import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest

ORDERS = TopicId(b"topic-id-orders.")


def key(partition: int) -> SharePartitionKey:
    return SharePartitionKey(GroupId("g"), ORDERS, partition)


def test_a_heartbeat_needs_its_group_and_waits_for_fifteen_seconds_at_most() -> None:
    need = state_need(ApiKey.SHARE_GROUP_HEARTBEAT, ShareGroupHeartbeatRequest("g"))

    assert need == StateNeed(("g",))
    assert PATIENCE_MS == StateNeed().patience_ms == 15_000


def test_a_deletion_needs_every_group_that_is_named() -> None:
    assert state_need(ApiKey.DELETE_GROUPS, DeleteGroupsRequest(["g", "h"])) == StateNeed(("g", "h"))


def test_a_list_needs_everything_unless_share_groups_are_not_wanted() -> None:
    assert state_need(ApiKey.LIST_GROUPS, ListGroupsRequest()) == StateNeed(is_everything=True)
    assert state_need(ApiKey.LIST_GROUPS, ListGroupsRequest(types_filter=["classic"])) is None


def test_a_list_of_resources_needs_everything_unless_groups_are_not_wanted() -> None:
    asked = [ListConfigResourcesRequest(types) for types in ([], [32], [2])]

    needs = [state_need(ApiKey.LIST_CONFIG_RESOURCES, request) for request in asked]

    assert needs == [StateNeed(is_everything=True), StateNeed(is_everything=True), None]


def test_a_description_needs_every_group_that_is_named() -> None:
    request = ShareGroupDescribeRequest(["g", "h"])

    assert state_need(ApiKey.SHARE_GROUP_DESCRIBE, request) == StateNeed(("g", "h"))


@pytest.mark.parametrize(
    ("max_wait_ms", "patience_ms"), [(500, 500), (0, 0), (-7, 0), (60_000, 15_000)], ids=str
)
def test_a_fetch_waits_no_longer_than_it_would_for_records(max_wait_ms: int, patience_ms: int) -> None:
    topics = [FetchTopic(ORDERS, [FetchPartition(0)])]
    request = ShareFetchRequest("g", max_wait_ms=max_wait_ms, topics=topics)

    assert state_need(ApiKey.SHARE_FETCH, request) == StateNeed((), patience_ms)


def test_an_acknowledgement_waits_until_the_state_log_is_found_and_for_no_slot_of_it() -> None:
    topics = [AcknowledgeTopic(ORDERS, [AcknowledgePartition(0), AcknowledgePartition(3)])]
    request = ShareAcknowledgeRequest("g", topics=topics)

    assert state_need(ApiKey.SHARE_ACKNOWLEDGE, request) == StateNeed()


def test_requests_to_the_share_coordinator_need_the_group_of_the_states_that_they_name() -> None:
    request = ReadShareGroupStateRequest("g", [ReadStateData(ORDERS, [PartitionData(2)])])

    assert state_need(ApiKey.READ_SHARE_GROUP_STATE, request) == StateNeed(("g",))


def test_configurations_need_every_group_that_is_named() -> None:
    altered = IncrementalAlterConfigsRequest([AlterConfigsResource(32, "g"), AlterConfigsResource(32, "h")])
    described = DescribeConfigsRequest([DescribeConfigsResource(32, "g"), DescribeConfigsResource(32, "h")])

    assert state_need(ApiKey.INCREMENTAL_ALTER_CONFIGS, altered) == StateNeed(("g", "h"))
    assert state_need(ApiKey.DESCRIBE_CONFIGS, described) == StateNeed(("g", "h"))


def test_a_request_without_a_group_waits_for_nothing_because_it_is_refused() -> None:
    topics = [ReadStateData(ORDERS, [PartitionData(0)])]

    assert state_need(ApiKey.READ_SHARE_GROUP_STATE, ReadShareGroupStateRequest("", topics)) == StateNeed()


def test_what_is_refused_because_its_group_is_a_share_group_needs_nothing() -> None:
    assert state_need(ApiKey.JOIN_GROUP, JoinGroupRequest("g")) is None


async def test_nobody_waits_for_what_is_always_ready() -> None:
    ready = AlwaysReady()
    ready.forsake(1)
    ready.end()

    assert await ready.wait(StateNeed(("g",)), 1) == 0


def test_what_administrators_ask_about_offsets_needs_the_groups_that_they_name() -> None:
    described = DescribeShareGroupOffsetsRequest(
        groups=[DescribeShareGroupOffsetsRequestGroup("g"), DescribeShareGroupOffsetsRequestGroup("h")]
    )

    assert state_need(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, described) == StateNeed(("g", "h"))
    for api_key, request in (
        (ApiKey.ALTER_SHARE_GROUP_OFFSETS, AlterShareGroupOffsetsRequest(group_id="g")),
        (ApiKey.DELETE_SHARE_GROUP_OFFSETS, DeleteShareGroupOffsetsRequest(group_id="g")),
    ):
        assert state_need(api_key, request) == StateNeed(("g",))
