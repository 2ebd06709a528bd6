"""ListGroups: the share groups of the broker that was asked, by state and type."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tests.worlds.group_coordinators import coordinate_groups_at
from tests.worlds.share_group_world import ShareGroupWorld

STABLE, EMPTY = (
    ListedGroup("busy", "share", "Stable", "share"),
    ListedGroup("left", "share", "Empty", "share"),
)


async def world_with_groups(*, node_ids: tuple[int, ...] = (1,)) -> ShareGroupWorld:
    """A group with a member, and one whose member left; broker 1 coordinates them where there is another one."""
    world = ShareGroupWorld(node_ids=node_ids)
    if len(node_ids) > 1:
        coordinate_groups_at(world, 1)
    await world.member(group_id="busy").heartbeat(0, ["orders"])
    await world.member(group_id="left").heartbeat(0, ["orders"])
    await world.member(group_id="left").heartbeat(-1)
    return world


async def listed(
    world: ShareGroupWorld, states: list[str], types: list[str], *, node_id: int = 1
) -> ListGroupsResponse:
    answer = await world.serve(ListGroupsRequest(states, types), ApiKey.LIST_GROUPS, 5, node_id=node_id)
    assert isinstance(answer, ListGroupsResponse)
    return answer


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        ([], [], [STABLE, EMPTY]),
        ([], ["Share"], [STABLE, EMPTY]),
        ([], ["classic", "SHARE"], [STABLE, EMPTY]),
        ([], ["consumer"], []),
        ([], ["nonsense"], []),
        (["empty"], ["share"], [EMPTY]),
        ([" STABLE "], [], [STABLE]),
        (["Dead"], [], []),
        (["nonsense"], ["share"], []),
    ],
)
async def test_groups_are_listed_by_state_and_type_whatever_their_case(
    states: list[str], types: list[str], found: list[ListedGroup]
) -> None:
    assert await listed(await world_with_groups(), states, types) == ListGroupsResponse(groups=found)


async def test_a_group_is_listed_by_its_coordinator_alone_and_at_the_bootstrap_port() -> None:
    world = await world_with_groups(node_ids=(1, 2))

    found = [await listed(world, [], [], node_id=node_id) for node_id in (1, 2, BOOTSTRAP_NODE_ID)]

    assert [answer.groups for answer in found] == [[STABLE, EMPTY], [], [STABLE, EMPTY]]


@pytest.mark.parametrize("types", [[], ["share"]], ids=["all types", "share groups"])
async def test_groups_that_are_being_restored_are_not_passed_over_in_silence(types: list[str]) -> None:
    world = await world_with_groups()
    world.group_log.unreadiness = CoordinatorLoadInProgress("loading")

    assert (await listed(world, [], types)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("unreadiness", [CoordinatorNotAvailable("no topics"), NotCoordinator("moved")])
async def test_who_asks_for_groups_of_all_types_is_not_hindered_by_share_groups_that_are_not_served(
    unreadiness: ApiError,
) -> None:
    world = await world_with_groups()
    world.group_log.unreadiness = unreadiness

    everything, share_groups = [await listed(world, [], types) for types in ([], ["share"])]

    assert everything == ListGroupsResponse()
    assert share_groups == ListGroupsResponse(error_code=unreadiness.error_code)


async def test_who_asks_for_other_groups_hears_nothing_of_share_groups() -> None:
    world = await world_with_groups()
    world.group_log.unreadiness = CoordinatorLoadInProgress("loading")

    assert await listed(world, [], ["consumer"]) == ListGroupsResponse()
