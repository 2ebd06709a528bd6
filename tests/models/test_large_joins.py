"""A member's first heartbeat that initializes very many share-partitions: what others do in between."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.worlds.lost_slots import lose_groups
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, assigned
from tests.worlds.waiting import turns_during, until_all_wait

VERY_MANY = 2 * MOST_AT_ONCE + 1
ALL = {ORDERS: list(range(VERY_MANY))}


def world_with_very_many_partitions() -> ShareGroupWorld:
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=VERY_MANY)
    return world


def begun_join(world: ShareGroupWorld) -> asyncio.Task[ShareGroupHeartbeatResponse]:
    """Begin the first heartbeat of a member."""
    return asyncio.get_running_loop().create_task(world.member().heartbeat(0, ["orders"]))


async def until_states_are_begun(world: ShareGroupWorld) -> None:
    """Return when all states are there, and others have a turn before the group takes note of it."""
    while not world.state_log.memory.fold.states:  # noqa: ASYNC110 - the scenario is bounded
        await asyncio.sleep(0)


def durable_group(world: ShareGroupWorld) -> ShareGroupImage:
    return world.group_log.replayed().durable_images()[GroupId("g")]


async def deletion_refusal(world: ShareGroupWorld) -> ErrorCode | None:
    """Delete the group; return why it is not gone."""
    deletions = world.groups._group_deletions
    refusal = (await deletions.delete([GroupId("g")])).get(GroupId("g"))
    return None if refusal is None else refusal.error_code


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_join_that_initializes_very_many_share_partitions_lets_others_go_on_in_between(
    *, is_away: bool
) -> None:
    # Given
    few, many = ShareGroupWorld(), world_with_very_many_partitions()
    few.state_log.is_away = many.state_log.is_away = is_away

    # When
    turn_counts = [await turns_during(world.member().heartbeat(0, ["orders"])) for world in (few, many)]

    # Then
    assert turn_counts[1] - turn_counts[0] >= VERY_MANY // MOST_AT_ONCE


async def test_whoever_joins_in_between_is_answered_and_has_a_share_with_the_next_heartbeats() -> None:
    # Given
    world = world_with_very_many_partitions()
    alice = begun_join(world)
    await until_states_are_begun(world)
    bob = world.member("bob")

    # When
    joined = await bob.heartbeat(0, ["orders"])
    epoch = (await alice).member_epoch
    world.clock.advance(1_000)
    of_bob = assigned(await bob.heartbeat(joined.member_epoch))
    of_alice = assigned(await world.member().heartbeat(epoch))

    # Then
    assert (joined.error_code, assigned(joined)) == (ErrorCode.NONE, {})
    assert of_alice is not None
    assert of_bob is not None
    assert sorted(of_alice[ORDERS] + of_bob[ORDERS]) == ALL[ORDERS]


async def test_a_group_that_is_restored_in_between_takes_nothing_of_before_for_initialized() -> None:
    # Given
    world = world_with_very_many_partitions()
    alice = begun_join(world)
    await until_states_are_begun(world)

    # When
    world.restore_groups()
    answer = await alice
    restored = durable_group(world)
    rejoined = await world.member().heartbeat(0, ["orders"])

    # Then
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (len(restored.initializing[ORDERS].partitions), restored.initialized) == (VERY_MANY, {})
    assert assigned(rejoined) == ALL


async def test_states_of_a_group_that_is_gone_are_not_begun() -> None:
    """They would be nobody's: the group was deleted, or is another one."""
    # Given
    world = ShareGroupWorld()
    world.state_log.hold_initializations = asyncio.Event()
    alice = begun_join(world)
    await until_all_wait()

    # When
    lose_groups(world.groups, world.groups.coordinator.group_ids)
    world.state_log.hold_initializations.set()
    answer = await alice

    # Then
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.state_log.memory.fold.states == {}


async def test_a_group_whose_share_partitions_are_initialized_bit_by_bit_is_not_deleted_in_between() -> None:
    # Given
    world = world_with_very_many_partitions()
    alice = begun_join(world)
    await until_states_are_begun(world)
    await world.member().heartbeat(-1)

    # When
    early = await deletion_refusal(world)
    await alice
    late = await deletion_refusal(world)

    # Then
    assert (early, late) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None)
    assert world.state_log.memory.fold.states == {}


@pytest.mark.parametrize("is_begun", [False, True])
async def test_what_a_join_that_is_cancelled_began_is_assigned_by_the_next_one(*, is_begun: bool) -> None:
    # Given
    world = world_with_very_many_partitions()
    world.state_log.hold_initializations = None if is_begun else asyncio.Event()
    alice = begun_join(world)
    await (until_states_are_begun(world) if is_begun else until_all_wait())

    # When
    alice.cancel()
    with pytest.raises(asyncio.CancelledError):
        await alice
    world.state_log.hold_initializations = None
    answer = await world.member().heartbeat(0, ["orders"])

    # Then
    assert assigned(answer) == ALL
    assert durable_group(world).initializing == {}
