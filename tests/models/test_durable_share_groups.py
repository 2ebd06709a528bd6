"""Share groups that outlive the process: what members are told is durable, and a restart changes nothing for them."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorLoadInProgress, NotCoordinator, StateLogUnavailable
from kproxy.share.identifiers import GroupId, MemberId
from tests.in_memory.unchecked_group_namespace import UncheckedGroupNamespace
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, assigned
from tests.worlds.waiting import until_all_wait


async def test_a_member_is_answered_when_all_that_it_is_told_is_durable() -> None:
    # Given
    world = ShareGroupWorld()
    world.group_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        joining = tasks.create_task(world.member().heartbeat(0, ["orders"]))
        await until_all_wait()
        was_answered = joining.done()
        world.group_log.hold_writes.set()

    # Then
    image = world.group_log.replayed().durable_images()[GroupId("g")]
    assert not was_answered
    assert image.members[MemberId("alice")].member_epoch == joining.result().member_epoch


async def test_a_group_says_durably_what_it_initializes_before_it_does_and_after_it_did() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    await world.member().heartbeat(0, ["orders"])

    # Then
    stages = [(set(image.initializing), set(image.initialized)) for image in world.group_log.images]
    assert stages == [({ORDERS}, set()), (set(), {ORDERS})]


async def test_a_steady_heartbeat_writes_nothing() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    count_before = len(world.group_log.records)

    # When
    await alice.heartbeat(1)

    # Then
    assert len(world.group_log.records) == count_before


async def test_members_notice_nothing_of_a_restart() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    world.restart()

    # When
    answer = await alice.heartbeat(1)

    # Then
    assert (answer.error_code, answer.member_epoch, assigned(answer)) == (ErrorCode.NONE, 1, None)
    assert world.groups.coordinator.describe(GroupId("g")).group_epoch == 1


async def test_a_share_partition_that_was_being_initialized_at_the_restart_is_initialized_after_it() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    world.state_log.is_away = True
    joined = await alice.heartbeat(0, ["orders"])
    world.state_log.is_away = False
    world.restart()

    # When
    answer = await alice.heartbeat(joined.member_epoch)

    # Then
    assert assigned(joined) == {}
    assert assigned(answer) == {ORDERS: [0]}


@pytest.mark.parametrize(
    "refusal", [CoordinatorLoadInProgress("replaying"), NotCoordinator("moved")], ids=["loading", "moved"]
)
@pytest.mark.parametrize("epoch", [0, 1, -1])
async def test_while_the_group_is_not_here_members_hear_so_and_nothing_is_done(
    refusal: ApiError, epoch: int
) -> None:
    # Given
    world = ShareGroupWorld()
    world.group_log.unreadiness = refusal

    # When
    answer = await world.member().heartbeat(epoch, ["orders"])

    # Then
    assert answer.error_code == refusal.error_code
    assert world.groups.coordinator.group_ids == ()


async def test_a_group_that_is_lost_during_a_heartbeat_is_not_joined() -> None:
    # Given
    world = ShareGroupWorld()

    class LosingNamespace(UncheckedGroupNamespace):
        async def is_foreign(self, group_id: str) -> bool:
            del group_id
            world.group_log.unreadiness = NotCoordinator("moved")
            return False

    world.groups = world.new_process(LosingNamespace())

    # When
    answer = await world.member().heartbeat(0, ["orders"])

    # Then
    assert answer.error_code == ErrorCode.NOT_COORDINATOR
    assert world.groups.coordinator.group_ids == ()


@pytest.mark.parametrize("does_land", [True, False], ids=["landed", "lost"])
async def test_a_join_that_may_not_be_durable_is_refused_and_succeeds_when_repeated(does_land: bool) -> None:  # noqa: FBT001  # a parameter of the test
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    world.group_log.persist_failure = StateLogUnavailable("no quorum")
    world.group_log.does_land = does_land
    refused = await alice.heartbeat(0, ["orders"])
    world.group_log.persist_failure = None
    world.restore_groups()

    # When
    answer = await alice.heartbeat(0, ["orders"])

    # Then
    assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (answer.error_code, assigned(answer)) == (ErrorCode.NONE, {ORDERS: [0]})


async def test_a_heartbeat_whose_group_is_restored_while_it_initializes_is_sent_again() -> None:
    # Given
    world = ShareGroupWorld()
    world.state_log.hold_initializations = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        joining = tasks.create_task(world.member().heartbeat(0, ["orders"]))
        await until_all_wait()
        world.restore_groups()
        world.state_log.hold_initializations.set()

    # Then
    again = await world.member().heartbeat(0, ["orders"])
    assert joining.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (again.error_code, assigned(again)) == (ErrorCode.NONE, {ORDERS: [0]})


async def test_an_initialization_that_is_cut_short_is_begun_again_by_the_next_heartbeat() -> None:
    # Given
    world = ShareGroupWorld()
    world.state_log.hold_initializations = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        joining = tasks.create_task(world.member().heartbeat(0, ["orders"]))
        await until_all_wait()
        joining.cancel()
    world.state_log.hold_initializations.set()

    # When
    answer = await world.member().heartbeat(0, ["orders"])

    # Then
    assert assigned(answer) == {ORDERS: [0]}


async def test_a_partition_that_fails_alone_is_assigned_later_and_begins_like_the_others() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    late = world.key(partition=1)
    world.state_log.refusals[late] = CoordinatorLoadInProgress("replaying")
    alice = world.member()
    joined = await alice.heartbeat(0, ["orders"])
    del world.state_log.refusals[late]
    world.clock.advance(1_000)

    # When
    answer = await alice.heartbeat(joined.member_epoch)

    # Then
    state = world.state_log.state(late)
    assert assigned(joined) == {ORDERS: [0]}
    assert assigned(answer) == {ORDERS: [0, 1]}
    assert state is not None
    assert state.start_offset == -1


async def test_an_expired_member_is_gone_after_a_restart_too() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    world.clock.advance(45_000)
    await world.expire()
    world.restart()

    # When
    answer = await world.member().heartbeat(1)

    # Then
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_member_that_left_is_gone_after_a_restart_too() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    await world.member().heartbeat(-1)
    world.restart()

    # When
    answer = await world.member().heartbeat(1)

    # Then
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_member_that_says_more_than_a_record_can_hold_is_refused() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answer = await world.member().heartbeat(0, ["t" * 249] * 2_100)

    # Then
    assert answer.error_code == ErrorCode.INVALID_REQUEST
