"""The administration of offsets in the registry."""

from kproxy.error_codes import ErrorCode
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.share_offset_requests import alter, delete, describe_all


async def test_while_share_groups_are_away_each_group_and_each_request_is_told_so() -> None:
    # Given
    world = ShareGroupWorld()
    world.groups.apis.set_unavailable("the state log is being loaded")

    # When
    described = await describe_all(world, {"g": None, "h": {}})
    altered, deleted = await alter(world, {"orders": {0: 1}}), await delete(world, "orders")

    # Then
    assert [group.error_code for group in described] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert [altered.error_code, deleted.error_code] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
