"""Groups on their way to the log: nothing is answered before it is durable, and doubt forgets the group."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    StateLogUnavailable,
    StateNotWritten,
    UnwritableStateRecord,
)
from kproxy.handlers.groups.group_writes import GroupWrites
from kproxy.handlers.ports import GroupLog
from kproxy.share.identifiers import GroupId
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupImage
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.waiting import until_all_wait

GROUP = GroupId("g")


async def a_joined_world() -> tuple[ShareGroupWorld, GroupWrites]:
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    return world, writes_of(world, world.group_log)


def writes_of(world: ShareGroupWorld, group_log: GroupLog) -> GroupWrites:
    """Return writes of the groups of `world`; those that are restored have a session timeout of 1 s."""
    coordinator = world.groups.coordinator

    def restore(image: ShareGroupImage, _replaced: ShareGroup) -> None:
        coordinator.restore(image, limits=GroupLimits(session_timeout_ms=1_000), now_ms=world.clock.now_ms())

    return GroupWrites(coordinator, group_log, restore=restore, on_given_up=lambda _: None)


def change(world: ShareGroupWorld) -> None:
    """Change the group in memory."""
    group = world.groups.coordinator.find(GROUP)
    assert group is not None
    group._raise_group_epoch()


async def test_a_group_that_is_durable_is_not_written_again() -> None:
    # Given
    world, writes = await a_joined_world()
    count_before = len(world.group_log.images)

    # When
    await writes.begin(GROUP).settle()

    # Then
    assert len(world.group_log.images) == count_before


async def test_a_group_that_does_not_exist_needs_no_write() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    await writes_of(world, world.group_log).begin(GROUP).settle()

    # Then
    assert world.group_log.images == []


async def test_what_another_still_waits_for_is_waited_for_again() -> None:
    # Given
    world, writes = await a_joined_world()
    world.group_log.hold_writes = asyncio.Event()
    change(world)
    first = writes.begin(GROUP)

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(first.settle())
        second = tasks.create_task(writes.begin(GROUP).settle())
        await until_all_wait()
        was_done = second.done()
        world.group_log.hold_writes.set()

    # Then
    assert not was_done
    group = world.groups.coordinator.find(GROUP)
    assert group is not None
    assert not group.has_undurable_changes


async def test_a_write_that_fails_forgets_the_group() -> None:
    # Given
    world, writes = await a_joined_world()
    world.group_log.persist_failure = StateLogUnavailable("no quorum")
    change(world)

    # When
    with pytest.raises(StateLogUnavailable):
        await writes.begin(GROUP).settle()

    # Then
    assert world.groups.coordinator.find(GROUP) is None


async def test_a_write_that_fails_after_the_group_was_restored_spares_the_restored_one() -> None:
    # Given
    world, writes = await a_joined_world()
    world.group_log.persist_failure = StateLogUnavailable("no quorum")
    change(world)
    write = writes.begin(GROUP)
    world.restore_groups()

    # When
    with pytest.raises(StateLogUnavailable):
        await write.settle()

    # Then
    assert world.groups.coordinator.find(GROUP) is not None


async def test_nothing_is_said_of_a_group_that_was_restored_meanwhile() -> None:
    # Given
    world, writes = await a_joined_world()
    change(world)
    write = writes.begin(GROUP)
    world.restore_groups()

    # When
    with pytest.raises(CoordinatorNotAvailable, match="restored") as refusal:
        await write.settle()

    # Then
    assert type(refusal.value) is CoordinatorNotAvailable


async def test_a_wait_that_is_cut_short_leaves_the_group_to_be_written_again() -> None:
    # Given
    world, writes = await a_joined_world()
    world.group_log.hold_writes = asyncio.Event()
    change(world)

    # When
    async with asyncio.TaskGroup() as tasks:
        settling = tasks.create_task(writes.begin(GROUP).settle())
        await until_all_wait()
        settling.cancel()

    # Then
    group = world.groups.coordinator.find(GROUP)
    assert group is not None
    assert group.has_undurable_changes


@pytest.mark.parametrize(
    "refusal",
    [UnwritableStateRecord("a record of 2000000 bytes"), StateNotWritten("MESSAGE_TOO_LARGE")],
    ids=["alone", "with its append"],
)
async def test_a_group_that_cannot_be_written_is_what_is_durable_of_it_again(refusal: ApiError) -> None:
    # Given
    world, writes = await a_joined_world()
    group = world.groups.coordinator.find(GROUP)
    assert group is not None
    durable = group.image()
    world.group_log.persist_failure = refusal
    change(world)
    both = [writes.begin(GROUP), writes.begin(GROUP)]

    # When
    for write in both:
        with pytest.raises(type(refusal)):
            await write.settle()

    # Then
    restored = world.groups.coordinator.find(GROUP)
    assert restored is not None
    assert restored is not group
    assert restored.image() == durable
    assert not restored.has_undurable_changes


async def test_a_group_that_cannot_be_written_and_whose_slot_is_gone_is_left_to_be_restored() -> None:
    # Given
    world, writes = await a_joined_world()
    world.group_log.persist_failure = UnwritableStateRecord("a record of 2000000 bytes")
    change(world)
    write = writes.begin(GROUP)
    world.group_log.unreadiness = CoordinatorLoadInProgress("replaying")

    # When
    with pytest.raises(UnwritableStateRecord):
        await write.settle()

    # Then
    assert world.groups.coordinator.find(GROUP) is None


async def test_a_new_group_that_cannot_be_written_does_not_exist() -> None:
    # Given
    world = ShareGroupWorld()
    world.group_log.persist_failure = UnwritableStateRecord("a record of 2000000 bytes")

    # When
    answer = await world.member().heartbeat(0, ["orders"])

    # Then
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.groups.coordinator.find(GROUP) is None
