"""The administration of offsets in the registry."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld
from tests.worlds.share_offset_requests import alter, delete, describe_all
from tests.worlds.waiting import turns_during


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


async def test_others_have_turns_while_very_many_offsets_are_altered() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=5 * MOST_AT_ONCE)
    offsets = dict.fromkeys(range(10 * MOST_AT_ONCE), 3)

    # When
    turn_count = await turns_during(alter(world, {"orders": offsets}))

    # Then
    assert turn_count >= 20
