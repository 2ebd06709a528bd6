"""Whether a group id is taken by a group of another type: its coordinator is asked."""

import asyncio
from collections.abc import Awaitable

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.group_namespace import ClusterGroupNamespace
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tests.in_memory.answering_broker import Answer, Reply
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import Backing
from tests.worlds.waiting import until

COORDINATOR = 2
NEW, OLD = (0, 6), (0, 2)
"""Versions of FindCoordinator: Kafka 4's and Kafka 2.0's."""


def namespace(backing: Backing, *, patience_seconds: float = 5.0) -> ClusterGroupNamespace:
    return ClusterGroupNamespace(
        metadata=backing.metadata, connections=backing.connections, patience_seconds=patience_seconds
    )


def cluster_with(
    *groups: ListedGroup,
    find_versions: tuple[int, int] = NEW,
    found: ErrorCode = ErrorCode.NONE,
    listed: ErrorCode = ErrorCode.NONE,
) -> ScriptedCluster:
    """Two brokers, of which the second coordinates every group and has `groups`."""
    cluster = ScriptedCluster((1, COORDINATOR))
    flat = FindCoordinatorResponse(error_code=found, node_id=COORDINATOR)
    batched = FindCoordinatorResponse(
        coordinators=[Coordinator(key="g", error_code=found, node_id=COORDINATOR)]
    )
    for broker in cluster.brokers.values():
        broker.version_ranges[ApiKey.FIND_COORDINATOR] = find_versions
        broker.version_ranges[ApiKey.LIST_GROUPS] = (0, 5)
        broker.answers[ApiKey.FIND_COORDINATOR] = lambda _: batched if find_versions == NEW else flat
        broker.answers[ApiKey.LIST_GROUPS] = lambda _: ListGroupsResponse()
    answer = ListGroupsResponse(error_code=listed, groups=list(groups))
    cluster.brokers[COORDINATOR].answers[ApiKey.LIST_GROUPS] = lambda _: answer
    return cluster


@pytest.mark.parametrize("find_versions", [NEW, OLD])
@pytest.mark.parametrize(
    ("group", "is_foreign"),
    [
        (ListedGroup(group_id="g", protocol_type="consumer", group_type="Classic"), True),
        (ListedGroup(group_id="g", protocol_type="consumer", group_type="Consumer"), True),
        (ListedGroup(group_id="g", protocol_type="consumer"), True),
        (ListedGroup(group_id="g", protocol_type="share", group_type="Share"), False),
        (ListedGroup(group_id="another", protocol_type="consumer", group_type="Consumer"), False),
    ],
)
async def test_an_id_is_foreign_when_its_coordinator_has_a_group_of_another_type(
    group: ListedGroup, find_versions: tuple[int, int], *, is_foreign: bool
) -> None:
    async with (
        cluster_with(group, find_versions=find_versions) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        await backing.metadata.refresh()

        assert await namespace(backing).is_foreign("g") is is_foreign


@pytest.mark.parametrize("find_versions", [NEW, OLD])
async def test_the_coordinator_of_a_group_is_whom_the_cluster_names(find_versions: tuple[int, int]) -> None:
    async with (
        cluster_with(find_versions=find_versions) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        await backing.metadata.refresh()

        assert await namespace(backing).coordinators_of(["g"]) == {"g": COORDINATOR}


@pytest.mark.parametrize(
    ("found", "listed", "text"),
    [
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE, "FindCoordinator.*COORDINATOR_NOT_AVAILABLE"),
        (ErrorCode.NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "ListGroups.*COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
async def test_a_coordinator_that_cannot_say_leaves_it_open(
    found: ErrorCode, listed: ErrorCode, text: str
) -> None:
    async with (
        cluster_with(found=found, listed=listed) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        await backing.metadata.refresh()

        with pytest.raises(BrokerUnavailable, match=text):
            await namespace(backing, patience_seconds=0).is_foreign("g")


@pytest.mark.parametrize(
    "error_code",
    [
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    ],
)
@pytest.mark.parametrize("api_key", [ApiKey.FIND_COORDINATOR, ApiKey.LIST_GROUPS])
async def test_a_coordinator_that_is_not_there_yet_is_waited_for(
    api_key: ApiKey, error_code: ErrorCode
) -> None:
    # Given
    group = ListedGroup(group_id="g", protocol_type="consumer", group_type="Consumer")
    async with cluster_with(group) as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.refresh()
        refuse_twice(cluster, api_key, error_code)

        # When
        is_foreign = await namespace(backing).is_foreign("g")

        # Then
        assert is_foreign
        assert len(cluster.asked(api_key)) == 3


async def test_a_refusal_that_does_not_pass_is_told_at_once() -> None:
    # Given
    async with (
        cluster_with(found=ErrorCode.GROUP_AUTHORIZATION_FAILED) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        await backing.metadata.refresh()

        # When
        with pytest.raises(BrokerUnavailable, match="GROUP_AUTHORIZATION_FAILED"):
            await namespace(backing).is_foreign("g")

        # Then
        assert len(cluster.asked(ApiKey.FIND_COORDINATOR)) == 1


def refuse_twice(cluster: ScriptedCluster, api_key: ApiKey, error_code: ErrorCode) -> None:
    """Let every broker answer the first two requests of an API, between them, with an error."""
    left = [error_code] * 2
    for broker in cluster.brokers.values():
        honest = broker.answers[api_key]

        def answer(request: DecodedRequest, honest: Answer = honest) -> Reply | Awaitable[Reply]:
            if not left:
                return honest(request)
            refusal = left.pop()
            if api_key is ApiKey.LIST_GROUPS:
                return ListGroupsResponse(error_code=refusal)
            return FindCoordinatorResponse(coordinators=[Coordinator(key="g", error_code=refusal)])

        broker.answers[api_key] = answer


async def test_joins_at_the_same_time_share_one_list_of_a_coordinator_s_groups() -> None:
    # Given
    group = ListedGroup(group_id="g", protocol_type="consumer", group_type="Consumer")
    async with cluster_with(group) as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.refresh()
        asked, may_answer = namespace(backing), asyncio.Event()

        async def answer(_: DecodedRequest) -> Reply:
            await may_answer.wait()
            return ListGroupsResponse(groups=[group])

        cluster.brokers[COORDINATOR].answers[ApiKey.LIST_GROUPS] = answer

        # When
        async with asyncio.TaskGroup() as tasks:
            joins = [tasks.create_task(asked.is_foreign(group_id)) for group_id in ["g", "new"] * 20]
            await until(lambda: asked.waiting_count == len(joins))
            may_answer.set()

        # Then
        assert [join.result() for join in joins] == [True, False] * 20
        assert len(cluster.asked(ApiKey.LIST_GROUPS)) <= 2
        assert asked.waiting_count == 0


async def test_ids_of_one_coordinator_are_looked_for_in_one_list_of_its_groups() -> None:
    # Given
    taken = ListedGroup(group_id="g", protocol_type="consumer", group_type="Consumer")
    async with cluster_with(taken) as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.refresh()

        # When
        found = await namespace(backing).foreign_among(
            ["new", "g", *(f"new-{number}" for number in range(8))]
        )

        # Then
        assert found == {"g"}
        assert len(cluster.asked(ApiKey.LIST_GROUPS)) == 1


async def test_a_join_is_not_told_of_a_list_that_was_asked_for_before_it_came() -> None:
    # Given
    async with cluster_with() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.refresh()
        asked, may_answer = namespace(backing), asyncio.Event()
        group = ListedGroup(group_id="g", protocol_type="consumer", group_type="Consumer")
        listed = [ListGroupsResponse(), ListGroupsResponse(groups=[group])]

        async def answer(_: DecodedRequest) -> Reply:
            response = listed.pop(0)
            await may_answer.wait()
            return response

        cluster.brokers[COORDINATOR].answers[ApiKey.LIST_GROUPS] = answer
        async with asyncio.TaskGroup() as tasks:
            early = tasks.create_task(asked.is_foreign("g"))
            await cluster.brokers[COORDINATOR].until_asked(ApiKey.LIST_GROUPS, 1)

            # When
            late = tasks.create_task(asked.is_foreign("g"))
            await until(lambda: asked.waiting_count == 2)
            may_answer.set()

        # Then
        assert (early.result(), late.result()) == (False, True)
