"""Which rights administrators of share groups need, and what they are answered without.

tests/kafka/test_authorization.py asks Kafka itself.
"""

from dataclasses import replace

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.security.principal import Principal
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages import alter_share_group_offsets_request as alterations
from kproxy.wire.messages import describe_share_group_offsets_request as descriptions
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.alter_configs_request import AlterConfigsResource as LegacyResource
from kproxy.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.read_share_group_state_request import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadStateData,
)
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.in_memory.in_memory_share_state_store import InMemoryShareStateStore
from tests.in_memory.scripted_authorizer import ScriptedAuthorizer
from tests.worlds.authorized_world import (
    DELETE,
    DESCRIBE,
    GROUP,
    NO_CLUSTER,
    NO_GROUP,
    NO_TOPIC,
    READ,
    a_world,
    ask,
    emptied,
    with_a_group,
)
from tests.worlds.divided_fleet import DividedFleet, a_context, a_group_with_a_member
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    acknowledge_errors,
    partitions_of,
)


async def test_to_describe_a_group_wants_describe_on_it_and_on_every_topic_of_its_members() -> None:
    # Given
    world, authorizer = await with_a_group()
    request = ShareGroupDescribeRequest(["g"], include_authorized_operations=True)

    # When
    [nobody] = (await ask(world, ApiKey.SHARE_GROUP_DESCRIBE, 1, request)).groups
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(DESCRIBE, "orders")
    [half] = (await ask(world, ApiKey.SHARE_GROUP_DESCRIBE, 1, request)).groups
    authorizer.allow_topic(DESCRIBE, "payments")
    [whole] = (await ask(world, ApiKey.SHARE_GROUP_DESCRIBE, 1, request)).groups

    # Then
    assert (nobody.error_code, half.error_code, whole.error_code) == (NO_GROUP, NO_TOPIC, ErrorCode.NONE)
    assert (half.members, len(whole.members)) == ([], 1)
    assert whole.authorized_operations == 1 << READ | 1 << DESCRIBE
    assert half.authorized_operations == -(1 << 31)


def described(*, is_named: bool) -> descriptions.DescribeShareGroupOffsetsRequest:
    topics = [
        descriptions.DescribeShareGroupOffsetsRequestTopic(name, [0]) for name in ("orders", "payments")
    ]
    group = descriptions.DescribeShareGroupOffsetsRequestGroup("g", topics if is_named else None)
    return descriptions.DescribeShareGroupOffsetsRequest([group])


async def test_offsets_are_described_of_topics_that_may_be_seen() -> None:
    # Given
    world, authorizer = await with_a_group()
    key = ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS

    # When
    [nobody] = (await ask(world, key, 0, described(is_named=True))).groups
    authorizer.allow_group(DESCRIBE, "g")
    authorizer.allow_topic(DESCRIBE, "orders")
    [named] = (await ask(world, key, 0, described(is_named=True))).groups
    [every] = (await ask(world, key, 0, described(is_named=False))).groups

    # Then
    assert (nobody.error_code, nobody.topics) == (NO_GROUP, [])
    seen, hidden = named.topics
    assert [part.error_code for part in (*seen.partitions, *hidden.partitions)] == [ErrorCode.NONE, NO_TOPIC]
    assert (hidden.topic_id, hidden.partitions[0].start_offset, hidden.partitions[0].lag) == (
        bytes(16),
        -1,
        -1,
    )
    assert [topic.topic_name for topic in every.topics] == ["orders"]


async def test_to_alter_offsets_wants_read_on_the_group_and_on_each_topic() -> None:
    # Given
    world, authorizer = await emptied()
    part = alterations.AlterShareGroupOffsetsRequestPartition(0, 1)
    topics = [alterations.AlterShareGroupOffsetsRequestTopic(name, [part]) for name in ("orders", "payments")]
    request = alterations.AlterShareGroupOffsetsRequest("g", topics)

    # When
    nobody = await ask(world, ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, request)
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    half = await ask(world, ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, request)

    # Then
    assert nobody.error_code == NO_GROUP
    assert [topic.partitions[0].error_code for topic in half.responses] == [ErrorCode.NONE, NO_TOPIC]


async def test_to_delete_offsets_wants_delete_on_the_group_and_read_on_each_topic() -> None:
    # Given
    world, authorizer = await emptied()
    topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in ("orders", "payments")]
    request = DeleteShareGroupOffsetsRequest("g", topics)

    # When
    nobody = await ask(world, ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, request)
    authorizer.allow_group(DELETE, "g")
    none_of_them = await ask(world, ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, request)
    authorizer.allow_topic(READ, "orders")
    half = await ask(world, ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, request)

    # Then
    assert nobody.error_code == NO_GROUP
    assert {topic.topic_name: topic.error_code for topic in none_of_them.responses} == {
        "orders": NO_TOPIC,
        "payments": NO_TOPIC,
    }
    assert {topic.topic_name: topic.error_code for topic in half.responses} == {
        "orders": ErrorCode.NONE,
        "payments": NO_TOPIC,
    }


async def test_to_delete_a_group_wants_delete_on_it() -> None:
    # Given
    world, authorizer = await emptied()

    # When
    [nobody] = (await ask(world, ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(["g", "unknown"]))).results
    authorizer.allow_group(DELETE, "g")
    [allowed] = (await ask(world, ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(["g"]))).results

    # Then
    assert (nobody.error_code, allowed.error_code) == (NO_GROUP, ErrorCode.NONE)


async def test_groups_are_listed_to_who_may_describe_them_or_the_cluster() -> None:
    # Given
    world, authorizer = await with_a_group()
    request = ListGroupsRequest(types_filter=["share"])

    # When
    nobody = await ask(world, ApiKey.LIST_GROUPS, 5, request)
    authorizer.allow_group(DESCRIBE, "g")
    one = await ask(world, ApiKey.LIST_GROUPS, 5, request)
    authorizer.take_away("g")
    authorizer.allow(DESCRIBE, ResourceType.CLUSTER)
    every = await ask(world, ApiKey.LIST_GROUPS, 5, request)

    # Then
    assert [[group.group_id for group in answer.groups] for answer in (nobody, one, every)] == [
        [],
        ["g"],
        ["g"],
    ]


async def test_who_may_not_read_a_share_group_is_not_told_that_it_is_one() -> None:
    # Given
    world, authorizer = await with_a_group()
    topics = [TxnOffsetCommitRequestTopic("orders", [TxnOffsetCommitRequestPartition(0)])]
    committed = TxnOffsetCommitRequest(transactional_id="t", group_id="g", topics=topics)

    # When
    joined = await ask(world, ApiKey.JOIN_GROUP, 9, JoinGroupRequest(group_id="g"))
    beaten = await ask(world, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, ConsumerGroupHeartbeatRequest(group_id="g"))
    first = await ask(world, ApiKey.TXN_OFFSET_COMMIT, 5, committed)
    authorizer.allow(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "t")
    second = await ask(world, ApiKey.TXN_OFFSET_COMMIT, 5, committed)

    # Then
    assert (joined.error_code, beaten.error_code) == (NO_GROUP, NO_GROUP)
    assert [answer.topics[0].partitions[0].error_code for answer in (first, second)] == [
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        NO_GROUP,
    ]


@pytest.mark.parametrize(
    ("api_key", "version", "request_", "right"),
    [
        (32, 4, DescribeConfigsRequest([DescribeConfigsResource(GROUP, "g")]), AclOperation.DESCRIBE_CONFIGS),
        (33, 2, AlterConfigsRequest([LegacyResource(GROUP, "g")]), AclOperation.ALTER_CONFIGS),
        (
            44,
            1,
            IncrementalAlterConfigsRequest([AlterConfigsResource(GROUP, "g")]),
            AclOperation.ALTER_CONFIGS,
        ),
    ],
)
async def test_configurations_of_a_group_want_rights_of_their_own(
    api_key: int, version: int, request_: Message, right: AclOperation
) -> None:
    # Given
    world, authorizer = await a_world()

    # When
    answers = [await ask(world, api_key, version, request_)]
    authorizer.allow_group(right, "g")
    answers.append(await ask(world, api_key, version, request_))

    # Then
    [before], [after] = (getattr(each, "results", None) or each.responses for each in answers)
    assert before.error_code == NO_GROUP
    assert after.error_code != NO_GROUP


async def test_to_list_what_is_configured_wants_a_right_on_the_cluster() -> None:
    # Given
    world, authorizer = await a_world()
    request = ListConfigResourcesRequest([GROUP])

    # When
    nobody = await ask(world, ApiKey.LIST_CONFIG_RESOURCES, 1, request)
    authorizer.allow(AclOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
    allowed = await ask(world, ApiKey.LIST_CONFIG_RESOURCES, 1, request)

    # Then
    assert (nobody.error_code, allowed.error_code) == (NO_CLUSTER, ErrorCode.NONE)


async def test_states_are_read_and_written_by_those_who_may_act_as_a_broker() -> None:
    # Given
    world, authorizer = await a_world()
    world.share_state_store = InMemoryShareStateStore()
    world.groups = world.new_process()
    request = ReadShareGroupStateRequest("g", [ReadStateData(ORDERS, [PartitionData(0, 0)])])

    # When
    nobody = await ask(world, ApiKey.READ_SHARE_GROUP_STATE, 0, request)
    authorizer.allow(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER)
    allowed = await ask(world, ApiKey.READ_SHARE_GROUP_STATE, 0, request)

    # Then
    assert nobody.results[0].partitions[0].error_code == NO_CLUSTER
    assert allowed.results[0].partitions[0].error_code != NO_CLUSTER


async def test_where_topics_cannot_be_named_nothing_is_delivered_or_acknowledged() -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    member: Member = world.member()
    await member.open((ORDERS, 0), max_records=10, max_wait_ms=500)

    # When
    world.metadata.is_unavailable = True
    acknowledged = await member.acknowledge({(ORDERS, 0): [(0, 2, [1])]})
    fetched = await member.fetch()

    # Then
    assert acknowledge_errors(acknowledged) == {(ORDERS, 0): ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert partitions_of(fetched)[ORDERS, 0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_client_is_listed_the_groups_of_all_processes_that_it_may_describe_and_no_others() -> None:
    # Given
    owner_of = {"ours": 0, "theirs": 1, "theirs too": 1}
    authorizer, alice = ScriptedAuthorizer(), Principal("User", "alice")
    fleet = DividedFleet(2, owner_of, authorizer=authorizer)
    authorizer.allow_group(READ, *owner_of)
    authorizer.allow_topic(DESCRIBE, "orders")
    for group_id, owner in owner_of.items():
        await a_group_with_a_member(fleet.processes[owner], group_id)
    authorizer.allow(DESCRIBE, ResourceType.GROUP, "theirs", principal=alice)
    context = replace(a_context(ApiKey.LIST_GROUPS, 5), principal=alice)

    # When
    request = ListGroupsRequest(types_filter=["share"])
    answer = await fleet.answer(request, ApiKey.LIST_GROUPS, 5, context=context)

    # Then
    assert isinstance(answer, ListGroupsResponse)
    assert [group.group_id for group in answer.groups] == ["theirs"]
