"""ListConfigResources: the groups that have configurations of their own, whether or not they exist."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
)
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.groups.group_configs import ConfigOperation
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.waiting import turns_during

GROUP = 32
RESET = "share.auto.offset.reset"


async def alter(world: ShareGroupWorld, group_id: str, operation: ConfigOperation, value: str | None) -> None:
    resource = AlterConfigsResource(GROUP, group_id, [AlterableConfig(RESET, operation, value)])
    await world.serve(IncrementalAlterConfigsRequest([resource]), ApiKey.INCREMENTAL_ALTER_CONFIGS, 1)


async def world_with_configs(*group_ids: str) -> ShareGroupWorld:
    world = ShareGroupWorld()
    for group_id in group_ids:
        await alter(world, group_id, ConfigOperation.SET, "earliest")
    return world


async def listed(world: ShareGroupWorld, *types: int) -> ListConfigResourcesResponse:
    request = ListConfigResourcesRequest(list(types))
    answer = await world.serve(request, ApiKey.LIST_CONFIG_RESOURCES, 1)
    assert isinstance(answer, ListConfigResourcesResponse)
    return answer


async def test_groups_are_listed_that_have_configurations_and_no_others() -> None:
    world = await world_with_configs("a", "b")
    await world.member(group_id="c").heartbeat(0, ["orders"])

    answers = [await listed(world), await listed(world, GROUP)]

    assert (
        answers
        == [
            ListConfigResourcesResponse(
                config_resources=[ConfigResource("a", GROUP), ConfigResource("b", GROUP)]
            )
        ]
        * 2
    )


async def test_very_many_groups_are_listed_in_several_turns() -> None:
    # Given
    world = ShareGroupWorld()
    ids = [f"group {number}" for number in range(3 * MOST_AT_ONCE)]
    world.groups.restore_groups((), {each: {RESET: "earliest"} for each in ids})

    # When
    turn_count = await turns_during(listed(world, GROUP))

    # Then
    assert turn_count >= 3
    assert [each.resource_name for each in (await listed(world, GROUP)).config_resources] == ids


async def test_more_groups_than_an_answer_may_tell_of_are_not_listed() -> None:
    # Given
    bounds = AdministrationBounds(most_told=2)
    world = ShareGroupWorld(limits=ShareGroupLimits(administration=bounds))
    for group_id in ("a", "b"):
        await alter(world, group_id, ConfigOperation.SET, "earliest")
    two = await listed(world, GROUP)
    await alter(world, "c", ConfigOperation.SET, "earliest")

    # When
    three = await listed(world, GROUP)

    # Then
    assert len(two.config_resources) == 2
    assert (three.error_code, three.config_resources) == (ErrorCode.INVALID_REQUEST, [])


async def test_a_group_whose_last_configuration_is_deleted_is_listed_no_more() -> None:
    world = await world_with_configs("a", "b")

    await alter(world, "a", ConfigOperation.DELETE, None)

    assert (await listed(world)).config_resources == [ConfigResource("b", GROUP)]


@pytest.mark.parametrize("types", [[], [GROUP]], ids=["all types", "groups"])
async def test_configurations_that_are_being_restored_are_not_passed_over_in_silence(
    types: list[int],
) -> None:
    world = await world_with_configs("a")
    world.group_log.unreadiness = CoordinatorLoadInProgress("loading")

    assert (await listed(world, *types)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("unreadiness", [CoordinatorNotAvailable("no topics"), NotCoordinator("moved")])
async def test_who_asks_for_resources_of_all_types_is_not_hindered_by_share_groups_that_are_not_served(
    unreadiness: ApiError,
) -> None:
    world = await world_with_configs("a")
    world.group_log.unreadiness = unreadiness

    everything, groups = await listed(world), await listed(world, GROUP)

    assert everything == ListConfigResourcesResponse()
    assert groups == ListConfigResourcesResponse(error_code=unreadiness.error_code)
