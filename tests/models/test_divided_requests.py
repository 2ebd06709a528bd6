"""Requests to a process of a fleet, divided by the owners of groups: the answers are those of one process with all.

Hypothesis chooses how many processes there are, whose each group is, what has befallen it, and a sequence of requests,
each to any of the processes; another process, which has all groups, is asked the same.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.interception.rewrites.share_group_answers import merge_deletions
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages import (
    alter_configs_request,
    alter_share_group_offsets_request,
    delete_share_group_offsets_request,
    delete_share_group_state_request,
    describe_share_group_offsets_request,
    incremental_alter_configs_request,
    initialize_share_group_state_request,
    read_share_group_state_request,
    read_share_group_state_summary_request,
    share_acknowledge_request,
    share_fetch_request,
    write_share_group_state_request,
)
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeleteGroupsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ListConfigResourcesResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.worlds.divided_fleet import NOBODY, PASTS, DividedFleet, bytes_of
from tests.worlds.share_group_world import NO_SUCH_TOPIC, ORDERS

Request: TypeAlias = tuple[int, int, Message]
"""API key, version and message."""

GROUPS: Final = ("a", "b", "c", "d", "e")
NAMES: Final = (*GROUPS, "ghost", "classic", "")
"""`classic` is a group of another type, and nobody has heard of the last two."""
GROUP_RESOURCE: Final = 32

group_ids = st.sampled_from(NAMES)
partition_numbers = st.lists(st.sampled_from([0, 1, 1, 0, 9, -1]), min_size=1, max_size=3)
topic_names = st.sampled_from(["orders", "payments", "nothing"])
topic_ids = st.sampled_from([ORDERS, ORDERS, NO_SUCH_TOPIC])


def descriptions() -> SearchStrategy[Request]:
    message = st.builds(
        ShareGroupDescribeRequest,
        group_ids=st.lists(group_ids, max_size=9),
        include_authorized_operations=st.booleans(),
    )
    return message.map(lambda each: (ApiKey.SHARE_GROUP_DESCRIBE, 1, each))


def described_offsets() -> SearchStrategy[Request]:
    module = describe_share_group_offsets_request
    topic = st.builds(
        module.DescribeShareGroupOffsetsRequestTopic, topic_name=topic_names, partitions=partition_numbers
    )
    group = st.builds(
        module.DescribeShareGroupOffsetsRequestGroup,
        group_id=group_ids,
        topics=st.none() | st.lists(topic, max_size=3),
    )
    message = st.builds(module.DescribeShareGroupOffsetsRequest, groups=st.lists(group, max_size=7))
    return st.tuples(st.just(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS), st.sampled_from([0, 1]), message)


def altered_offsets() -> SearchStrategy[Request]:
    module = alter_share_group_offsets_request
    partition = st.builds(
        module.AlterShareGroupOffsetsRequestPartition,
        partition_index=st.sampled_from([0, 1, 9, -1]),
        start_offset=st.integers(-2, 12),
    )
    topic = st.builds(
        module.AlterShareGroupOffsetsRequestTopic,
        topic_name=topic_names,
        partitions=st.lists(partition, min_size=1, max_size=2),
    )
    message = st.builds(
        module.AlterShareGroupOffsetsRequest, group_id=group_ids, topics=st.lists(topic, max_size=2)
    )
    return message.map(lambda each: (ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, each))


def deleted_offsets() -> SearchStrategy[Request]:
    module = delete_share_group_offsets_request
    topics = st.lists(
        st.builds(module.DeleteShareGroupOffsetsRequestTopic, topic_name=topic_names), max_size=3
    )
    message = st.builds(module.DeleteShareGroupOffsetsRequest, group_id=group_ids, topics=topics)
    return message.map(lambda each: (ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, each))


def deletions() -> SearchStrategy[Request]:
    message = st.builds(DeleteGroupsRequest, groups_names=st.lists(group_ids, max_size=7))
    return st.tuples(st.just(ApiKey.DELETE_GROUPS), st.sampled_from([2, 3]), message)


def listings() -> SearchStrategy[Request]:
    message = st.builds(
        ListGroupsRequest,
        states_filter=st.sampled_from([[], ["Empty"], ["stable", "dead"]]),
        types_filter=st.sampled_from([[], ["share"], ["Classic"], ["consumer", "Share"]]),
    )
    return message.map(lambda each: (ApiKey.LIST_GROUPS, 5, each))


def config_listings() -> SearchStrategy[Request]:
    types = st.sampled_from([[], [GROUP_RESOURCE], [GROUP_RESOURCE, 16]])
    message = st.builds(ListConfigResourcesRequest, resource_types=types)
    return message.map(lambda each: (ApiKey.LIST_CONFIG_RESOURCES, 1, each))


def described_configs() -> SearchStrategy[Request]:
    resource = st.builds(
        DescribeConfigsResource,
        resource_type=st.just(GROUP_RESOURCE),
        resource_name=group_ids,
        configuration_keys=st.sampled_from([None, ["share.record.lock.duration.ms"], ["share.nothing"]]),
    )
    message = st.builds(
        DescribeConfigsRequest, resources=st.lists(resource, max_size=6), include_synonyms=st.booleans()
    )
    return st.tuples(st.just(ApiKey.DESCRIBE_CONFIGS), st.sampled_from([1, 4]), message)


def altered_configs() -> SearchStrategy[Request]:
    module = incremental_alter_configs_request
    config = st.builds(
        module.AlterableConfig,
        name=st.sampled_from(["share.record.lock.duration.ms", "share.auto.offset.reset", "share.nothing"]),
        config_operation=st.sampled_from([0, 1, 2]),
        value=st.sampled_from(["20000", "latest", "5", None]),
    )
    resource = st.builds(
        module.AlterConfigsResource,
        resource_type=st.just(GROUP_RESOURCE),
        resource_name=group_ids,
        configs=st.lists(config, min_size=1, max_size=2),
    )
    message = st.builds(
        module.IncrementalAlterConfigsRequest,
        resources=st.lists(resource, max_size=6),
        validate_only=st.booleans(),
    )
    return message.map(lambda each: (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, each))


def altered_the_elder_way() -> SearchStrategy[Request]:
    module = alter_configs_request
    config = module.AlterableConfig("share.auto.offset.reset", "latest")
    resource = st.builds(
        module.AlterConfigsResource,
        resource_type=st.just(GROUP_RESOURCE),
        resource_name=group_ids,
        configs=st.just([config]),
    )
    message = st.builds(module.AlterConfigsRequest, resources=st.lists(resource, max_size=4))
    return message.map(lambda each: (ApiKey.ALTER_CONFIGS, 1, each))


def share_states() -> SearchStrategy[Request]:
    initialize, read, write = (
        initialize_share_group_state_request,
        read_share_group_state_request,
        write_share_group_state_request,
    )
    delete, summarize = delete_share_group_state_request, read_share_group_state_summary_request
    number = st.sampled_from([0, 1, 9, -1])
    epochs = st.integers(-1, 3)
    kinds = [
        _states(
            ApiKey.INITIALIZE_SHARE_GROUP_STATE,
            initialize.InitializeShareGroupStateRequest,
            initialize.InitializeStateData,
            st.builds(initialize.PartitionData, number, epochs, st.integers(-1, 9)),
        ),
        _states(
            ApiKey.READ_SHARE_GROUP_STATE,
            read.ReadShareGroupStateRequest,
            read.ReadStateData,
            st.builds(read.PartitionData, number, epochs),
        ),
        _states(
            ApiKey.WRITE_SHARE_GROUP_STATE,
            write.WriteShareGroupStateRequest,
            write.WriteStateData,
            st.builds(write.PartitionData, number, epochs, epochs, st.integers(-1, 9)),
        ),
        _states(
            ApiKey.DELETE_SHARE_GROUP_STATE,
            delete.DeleteShareGroupStateRequest,
            delete.DeleteStateData,
            st.builds(delete.PartitionData, number),
        ),
        _states(
            ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
            summarize.ReadShareGroupStateSummaryRequest,
            summarize.ReadStateSummaryData,
            st.builds(summarize.PartitionData, number, epochs),
        ),
    ]
    return st.one_of(kinds)


def _states(
    api_key: ApiKey, request: type[Message], topic: type, partition: SearchStrategy
) -> SearchStrategy[Request]:
    topics = st.lists(
        st.builds(topic, topic_ids, st.lists(partition, min_size=1, max_size=2)), min_size=1, max_size=2
    )
    return st.builds(request, group_id=group_ids, topics=topics).map(lambda each: (api_key, 0, each))


def requests_of_members() -> SearchStrategy[Request]:
    members = st.sampled_from(["m1", "m2"])
    heartbeat = st.builds(
        ShareGroupHeartbeatRequest,
        group_id=group_ids,
        member_id=members,
        member_epoch=st.sampled_from([0, -1, 1]),
        subscribed_topic_names=st.sampled_from([["orders"], None]),
    )
    fetched = [share_fetch_request.FetchTopic(ORDERS, [share_fetch_request.FetchPartition(0)])]
    fetch = st.builds(
        share_fetch_request.ShareFetchRequest,
        group_id=group_ids,
        member_id=members,
        share_session_epoch=st.sampled_from([0, -1, 1]),
        max_wait_ms=st.just(0),
        max_bytes=st.just(1 << 20),
        max_records=st.just(2),
        batch_size=st.just(2),
        topics=st.just(fetched),
    )
    acknowledge = st.builds(
        share_acknowledge_request.ShareAcknowledgeRequest,
        group_id=group_ids,
        member_id=members,
        share_session_epoch=st.sampled_from([-1, 1]),
    )
    return st.one_of(
        heartbeat.map(lambda each: (ApiKey.SHARE_GROUP_HEARTBEAT, 1, each)),
        fetch.map(lambda each: (ApiKey.SHARE_FETCH, 2, each)),
        acknowledge.map(lambda each: (ApiKey.SHARE_ACKNOWLEDGE, 2, each)),
    )


ANY_REQUEST: Final = st.one_of(
    descriptions(),
    described_offsets(),
    altered_offsets(),
    deleted_offsets(),
    deletions(),
    listings(),
    config_listings(),
    described_configs(),
    altered_configs(),
    altered_the_elder_way(),
    share_states(),
    requests_of_members(),
)


@dataclass(frozen=True, slots=True)
class Story:
    """What is asked of so many processes: each request goes to the one whose number stands before it."""

    process_count: int
    owner_of: Mapping[str, int]
    pasts: Sequence[int]
    requests: Sequence[tuple[int, Request]]
    bounds: AdministrationBounds


@st.composite
def stories(draw: st.DrawFn) -> Story:
    process_count = draw(st.integers(2, 4))
    owners = st.integers(0, process_count - 1)
    owner_of = {name: draw(owners) for name in NAMES}
    if draw(st.integers(0, 3)) == 0:
        owner_of[draw(st.sampled_from(GROUPS))] = NOBODY
    few = AdministrationBounds(most_named=draw(st.integers(5, 9)), most_told=draw(st.integers(1, 6)))
    return Story(
        process_count,
        owner_of,
        draw(st.lists(st.integers(0, len(PASTS) - 1), min_size=len(GROUPS), max_size=len(GROUPS))),
        draw(st.lists(st.tuples(owners, ANY_REQUEST), min_size=1, max_size=8)),
        draw(st.sampled_from([AdministrationBounds(), few])),
    )


@given(stories())
def test_a_fleet_answers_every_request_as_one_process_that_has_all_groups(story: Story) -> None:
    async def run() -> None:
        fleet = DividedFleet(story.process_count, story.owner_of, story.bounds)
        for group_id, past in zip(GROUPS, story.pasts, strict=True):
            for world in fleet.worlds_of(group_id):
                await PASTS[past](world, group_id)
        for via, (api_key, version, message) in story.requests:
            answer, expected = await fleet.answers(message, api_key, version, via=via)
            found, wanted = (as_told(message, each) for each in (answer, expected))
            assert bytes_of(found, api_key, version) == bytes_of(wanted, api_key, version), (found, wanted)

    asyncio.run(run())


def as_told(request: Message, answer: Message) -> Message:
    """Return what the client is told, listings in the order of the alphabet: processes have no order among them."""
    match answer:
        case DeleteGroupsResponse():
            assert isinstance(request, DeleteGroupsRequest)
            return merge_deletions(request, answer, None)
        case ListGroupsResponse():
            return replace(answer, groups=sorted(answer.groups, key=lambda each: each.group_id))
        case ListConfigResourcesResponse():
            resources = sorted(answer.config_resources, key=lambda each: each.resource_name)
            return replace(answer, config_resources=resources)
        case _:
            return answer
