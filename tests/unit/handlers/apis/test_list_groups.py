"""ListGroups: the share groups of the broker that was asked, by state and type."""

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator
from kproxy.handlers.authorization import Authorizer, Permissions
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.handlers.request_context import UnlimitedAnswers
from kproxy.security.acls import ResourceType
from kproxy.security.principal import Principal
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID, AssignmentEpoch, GroupEpoch, GroupId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tests.in_memory.scripted_authorizer import ScriptedAuthorizer
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


GROUP_COUNT = 2 * MOST_AT_ONCE


def world_of_very_many_groups(authorizer: Authorizer) -> ShareGroupWorld:
    world = ShareGroupWorld(authorizer=authorizer)
    images = (
        ShareGroupImage(
            GroupId(f"group-{number}"),
            group_epoch=GroupEpoch(1),
            assignment_epoch=AssignmentEpoch(1),
            members={},
            target={},
            initializing={},
            initialized={},
            deleting={},
        )
        for number in range(GROUP_COUNT)
    )
    world.groups.restore_groups(images, {})
    return world


class Counting(ScriptedAuthorizer):
    """Everybody may see every group, and each look at one is counted. `on_look` is told how many there were."""

    def __init__(self) -> None:
        super().__init__()
        self.look_count = 0
        self.on_look: Callable[[int], None] = lambda _: None

    def permissions_of(self, principal: Principal, client_host: str) -> Permissions:
        super().permissions_of(principal, client_host)
        return self

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        del operation, name
        if resource_type != ResourceType.GROUP:
            return False
        self.look_count += 1
        self.on_look(self.look_count)
        return True


async def test_others_have_a_turn_while_very_many_groups_are_listed() -> None:
    # Given
    authorizer = Counting()
    world = world_of_very_many_groups(authorizer)
    counts = [0]

    # When
    listing = asyncio.get_running_loop().create_task(listed(world, [], []))
    while not listing.done():
        await asyncio.sleep(0)
        counts.append(authorizer.look_count)

    # Then
    assert max(after - before for before, after in pairwise(counts)) <= MOST_AT_ONCE
    assert len((await listing).groups) == GROUP_COUNT


@pytest.mark.parametrize("unreadiness", [CoordinatorLoadInProgress("loading"), NotCoordinator("moved")])
async def test_groups_that_are_lost_in_the_middle_are_not_passed_over_in_silence(
    unreadiness: ApiError,
) -> None:
    # Given
    authorizer = Counting()
    world = world_of_very_many_groups(authorizer)

    def lose(look_count: int) -> None:
        if look_count == 1:
            world.group_log.unreadiness = unreadiness

    authorizer.on_look = lose

    # When
    answer = await listed(world, [], ["share"])

    # Then
    assert answer == ListGroupsResponse(error_code=unreadiness.error_code)


async def test_a_right_that_ends_in_the_middle_ends_the_list() -> None:
    # Given
    authorizer = Counting()
    world = world_of_very_many_groups(authorizer)

    def forget(look_count: int) -> None:
        if look_count == 1:
            authorizer.problem = "nobody knows"

    authorizer.on_look = forget

    # When
    answer = await listed(world, [], [])

    # Then
    assert answer == ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)


class CountedAnswers(UnlimitedAnswers):
    """An `AnswerBudget` that remembers what is kept."""

    def __init__(self) -> None:
        self.kept: list[int] = []

    def keep(self, more_bytes: int) -> None:
        self.kept.append(more_bytes)


async def test_a_list_counts_as_it_grows() -> None:
    # Given
    world = world_of_very_many_groups(Counting())
    world.answer_budget = budget = CountedAnswers()

    # When
    await listed(world, [], [])

    # Then
    assert len(budget.kept) == 1 + GROUP_COUNT // MOST_AT_ONCE
    assert sum(budget.kept) == 88 * GROUP_COUNT
