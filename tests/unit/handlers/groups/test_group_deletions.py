"""What becomes of a share group that is deleted: its states, its records, what is live of it, and its id."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    GroupIdNotFound,
    NonEmptyGroup,
    StateLogUnavailable,
    StateNotWritten,
)
from kproxy.handlers.groups.group_deletions import GroupDeletions
from kproxy.share.identifiers import GroupId
from tests.worlds.share_group_world import (
    ORDERS,
    ShareGroupWorld,
    acquired,
    assigned,
    partitions_of,
)
from tests.worlds.share_offset_requests import alter, altered
from tests.worlds.waiting import turns_during, until_all_wait

GROUP = GroupId("g")


async def left_group(world: ShareGroupWorld) -> None:
    """A group with the state of two share-partitions, whose member has left."""
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    member = world.member()
    await member.heartbeat(0, ["orders"])
    await member.heartbeat(-1)


def deletions(world: ShareGroupWorld) -> GroupDeletions:
    return world.groups._group_deletions


async def delete(world: ShareGroupWorld) -> type[ApiError] | None:
    """Delete the group; return why it is not gone."""
    refusal = (await deletions(world).delete([GROUP])).get(GROUP)
    return None if refusal is None else type(refusal)


def remains(world: ShareGroupWorld) -> tuple[bool, int]:
    """Whether there are records of the group, and how many states."""
    return GROUP in world.group_log.replayed().durable_images(), len(world.state_log.memory.fold.states)


async def test_a_deleted_group_leaves_nothing_behind() -> None:
    world = ShareGroupWorld()
    await left_group(world)

    refusal = await delete(world)

    assert refusal is None
    assert remains(world) == (False, 0)
    assert world.groups.coordinator.find(GROUP) is None


async def test_what_the_group_has_configured_stays() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    await world.group_log.persist_configs("g", {"share.auto.offset.reset": "earliest"})

    await delete(world)

    assert world.group_log.replayed().configs() == {"g": {"share.auto.offset.reset": "earliest"}}


async def test_a_new_group_of_the_same_id_begins_anew() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    await world.initialize("g", start_offset=5)
    await delete(world)

    answer = await world.member("bob").heartbeat(0, ["orders"])

    state = world.state_log.state(world.key())
    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, 1)
    assert assigned(answer) == {ORDERS: [0, 1]}
    assert state is not None
    assert (state.start_offset, state.state_epoch) == (-1, 1)


async def test_a_group_with_members_stays_as_it_is() -> None:
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])

    refusal = await delete(world)

    assert refusal is NonEmptyGroup
    assert remains(world) == (True, 1)
    assert (await world.member().heartbeat(1)).error_code == ErrorCode.NONE


async def test_there_is_nothing_to_delete_of_a_group_that_nobody_knows() -> None:
    assert await delete(ShareGroupWorld()) is GroupIdNotFound


async def test_a_group_that_is_being_loaded_stays_whole() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    world.group_log.unreadiness = CoordinatorLoadInProgress("loading")

    refusal = await delete(world)

    world.group_log.unreadiness = None
    assert refusal is CoordinatorLoadInProgress
    assert remains(world) == (True, 2)
    assert (await world.member().heartbeat(0, ["orders"])).error_code == ErrorCode.NONE


async def test_a_group_of_which_it_cannot_be_written_that_it_goes_stays_whole() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    world.group_log.persist_failure = StateNotWritten("refused")

    refusal = await delete(world)

    world.group_log.persist_failure = None
    assert refusal is StateNotWritten
    assert remains(world) == (True, 2)
    assert (await world.member().heartbeat(0, ["orders"])).error_code == ErrorCode.NONE


async def test_a_deletion_that_meets_states_that_are_away_is_finished_by_the_next_one() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    world.state_log.is_away = True
    first = await delete(world)
    world.state_log.is_away = False

    second = await delete(world)

    assert (first, second) == (StateLogUnavailable, None)
    assert remains(world) == (False, 0)


async def test_nobody_joins_a_group_on_its_way_out_and_a_join_finishes_what_was_left_to_do() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    world.state_log.is_away = True
    await delete(world)

    refused = await world.member().heartbeat(0, ["orders"])
    world.state_log.is_away = False
    admitted = await world.member().heartbeat(0, ["orders"])

    assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (admitted.error_code, admitted.member_epoch) == (ErrorCode.NONE, 1)


async def test_what_was_interrupted_goes_on_when_topics_are_tended_and_when_its_slot_was_loaded() -> None:
    for go_on in ("tend", "load"):
        world = ShareGroupWorld()
        await left_group(world)
        world.state_log.is_away = True
        await delete(world)
        world.state_log.is_away = False

        if go_on == "tend":
            await world.groups.tend_topics()
        else:
            world.restart()
            await until_all_wait()

        assert remains(world) == (False, 0), go_on


async def test_a_deletion_of_topics_leaves_a_group_on_its_way_out_alone() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    world.state_log.is_away = True
    await delete(world)

    pause_ms = await world.groups.tend_topics()

    assert pause_ms is not None
    assert remains(world) == (True, 2)


async def test_two_deletions_at_once_both_find_the_group_gone() -> None:
    world = ShareGroupWorld()
    await left_group(world)

    world.state_log.hold_deletions = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(delete(world)) for _ in range(2)]
        await until_all_wait()
        world.state_log.hold_deletions.set()

    assert [deletion.result() for deletion in both] == [None, None]
    assert remains(world) == (False, 0)


async def test_a_deletion_that_comes_last_does_not_write_the_group_once_more() -> None:
    """The records of the group are on their way out when somebody else wants to delete it."""
    world = ShareGroupWorld()
    await left_group(world)
    world.state_log.hold_deletions = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(delete(world))
        await until_all_wait()
        world.group_log.hold_writes = asyncio.Event()
        world.state_log.hold_deletions.set()
        await until_all_wait()
        images_before = len(world.group_log.images)
        last = tasks.create_task(delete(world))
        await until_all_wait()
        world.group_log.hold_writes.set()

    assert last.result() is None
    assert len(world.group_log.images) == images_before
    assert remains(world) == (False, 0)


async def test_a_deletion_during_which_the_group_was_restored_is_not_called_done() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    world.group_log.hold_writes = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        deletion = tasks.create_task(delete(world))
        await until_all_wait()
        world.restore_groups()
        world.group_log.hold_writes.set()

    refusal = deletion.result()
    assert refusal is not None
    assert refusal.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_states_that_are_being_initialized_are_waited_for() -> None:
    """The member has left while its first heartbeat initializes: the state would come after its deletion."""
    world = ShareGroupWorld()
    world.state_log.hold_initializations = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.member().heartbeat(0, ["orders"]))
        await until_all_wait()
        await world.member().heartbeat(-1)
        early = await delete(world)
        world.state_log.hold_initializations.set()
    late = await delete(world)

    assert (early, late) == (CoordinatorLoadInProgress, None)
    assert remains(world) == (False, 0)


async def test_what_is_live_of_a_deleted_group_is_let_go_of() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    await world.initialize(start_offset=0)
    world.produce(3)
    lingering = world.member()
    await lingering.open()
    assert acquired(await lingering.fetch()) == [(0, 2, 1)]

    await delete(world)

    assert len(world.groups.directory) == 0
    assert world.groups.session_count == 0
    assert (await lingering.fetch()).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    lingering.session_epoch = 0
    reopened = await lingering.open(max_records=1)
    assert partitions_of(reopened)[ORDERS, 0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR


async def test_a_fetch_that_waits_for_records_of_a_deleted_group_ends() -> None:
    world = ShareGroupWorld(passes_time=False)
    await left_group(world)
    await world.initialize(start_offset=0)
    lingering = world.member()
    await lingering.open()
    async with asyncio.TaskGroup() as tasks, asyncio.timeout(5):
        fetch = tasks.create_task(lingering.fetch(max_wait_ms=60_000))
        await until_all_wait()
        await delete(world)
        answer = await fetch

    assert answer.error_code in {ErrorCode.NONE, ErrorCode.SHARE_SESSION_NOT_FOUND}


async def test_share_sessions_of_other_groups_go_on() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    await world.initialize("h", start_offset=0)
    other = world.member(group_id="h")
    await other.open()

    await delete(world)

    assert (await other.fetch()).error_code == ErrorCode.NONE


async def test_a_share_session_that_was_opened_during_the_deletion_ends_with_the_group() -> None:
    world = ShareGroupWorld()
    await left_group(world)
    await world.initialize(start_offset=0)
    lingering = world.member()
    world.group_log.hold_removals[GROUP] = release = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(delete(world))
        await until_all_wait()
        await lingering.open()
        release.set()

    assert world.groups.session_count == 0
    assert len(world.groups.directory) == 0


async def test_a_new_group_keeps_what_is_live_while_a_deletion_waits_for_others() -> None:
    """The id of the first group is free, by its own removal or by a join, before the second is gone."""
    for held in ("removals", "states"):
        world = ShareGroupWorld()
        await left_groups(world, "g", "slow")
        release = asyncio.Event()
        hold(world, held, GroupId("slow"), release)
        async with asyncio.TaskGroup() as tasks:
            deletion = tasks.create_task(deletions(world).delete([GROUP, GroupId("slow")]))
            await until_all_wait()
            member = world.member("new")
            await member.heartbeat(0, ["orders"])
            await world.initialize(start_offset=0)
            world.produce(3)
            await member.open()
            assert acquired(await member.fetch()) == [(0, 2, 1)]
            release.set()

        acknowledged = await member.acknowledge({(ORDERS, 0): [(0, 2, [1])]})
        assert deletion.result() == {}, held
        assert (acknowledged.error_code, world.groups.session_count) == (ErrorCode.NONE, 1), held
        assert world.groups.directory.keys() == (world.key(),), held


async def test_a_group_that_was_deleted_is_called_gone_though_there_is_a_new_one() -> None:
    """Else the client would try again, and delete the new one."""
    world = ShareGroupWorld()
    await left_groups(world, "g", "slow")
    release = asyncio.Event()
    hold(world, "states", GroupId("slow"), release)
    async with asyncio.TaskGroup() as tasks:
        deletion = tasks.create_task(deletions(world).delete([GROUP, GroupId("slow")]))
        await until_all_wait()
        assert altered(await alter(world, {"orders": {0: 3}})) == {("orders", 0): ErrorCode.NONE}
        release.set()

    state = world.state_log.state(world.key())
    assert deletion.result() == {}
    assert state is not None
    assert state.start_offset == 3


async def test_others_have_turns_while_large_groups_are_deleted() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=2_500)
    group_ids = [GroupId(f"group-{number}") for number in range(6)]
    await left_groups(world, *group_ids)

    # When
    turn_count = await turns_during(deletions(world).delete(group_ids))

    # Then
    assert world.state_log.memory.fold.states == {}
    assert turn_count >= 3


async def left_groups(world: ShareGroupWorld, *group_ids: str) -> None:
    """Groups with the state of one share-partition each, whose members have left."""
    world.log()
    for group_id in group_ids:
        member = world.member(group_id=group_id)
        await member.heartbeat(0, ["orders"])
        await member.heartbeat(-1)


def hold(world: ShareGroupWorld, step: str, group_id: GroupId, release: asyncio.Event) -> None:
    held = world.group_log.hold_removals if step == "removals" else world.state_log.hold_deletions_of
    held[group_id] = release
