"""Fetches under way when their slot goes to another process."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import NotCoordinator
from kproxy.share.identifiers import GroupId, MemberId
from tests.models.test_first_moment import a_cluster, acquired_offsets, holding, slot_of
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, loaded, partitions_of
from tests.worlds.sharing_process import KEY, SharingProcess
from tests.worlds.state_log_requests import error_codes, fetch
from tests.worlds.state_logs import StateLogBacking
from tests.worlds.waiting import until, until_all_wait


async def test_records_are_not_delivered_once_another_process_may_deliver_them_but_acknowledgements_count() -> (
    None
):
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.produce(5)
    alice = world.member()
    await alice.open(max_records=5)
    world.produce(5)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(acks={(ORDERS, 0): [(0, 4, [1])]}))
        await until_all_wait()
        world.group_log.unreadiness = NotCoordinator("its lease has ended")
        world.state_log.hold_writes.set()

    # Then
    [told] = partitions_of(fetch.result()).values()
    assert (told.error_code, told.records, told.acquired_records) == (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        b"",
        [],
    )
    assert told.acknowledge_error_code == ErrorCode.NONE


@pytest.mark.parametrize("ended_by", ["an operator", "the group's move"])
async def test_who_is_still_connected_hears_what_became_of_acknowledgements_though_its_session_ended(
    ended_by: str,
) -> None:
    """Stock clients take all acknowledgements of an answer with an error of its own for failed."""
    # Given: acknowledgements that are durable, carried by a fetch that sleeps
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.produce(5)
    alice = world.member()
    await alice.open()
    await loaded(world.groups.directory, world.key())
    await alice.fetch()
    async with asyncio.TaskGroup() as tasks:
        fetching = tasks.create_task(alice.fetch(acks={(ORDERS, 0): [(0, 4, [1])]}, max_wait_ms=60_000))
        await until_all_wait(50)

        # When
        if ended_by == "an operator":
            sessions = world.groups.operators.sessions_of(GroupId("g"), MemberId(alice.member_id))
            await world.groups.operators.end(sessions, reason="it hangs")
        else:
            world.groups.end_sessions(list(world.groups.sessions.sessions()))

    # Then
    answer = fetching.result()
    [told] = partitions_of(answer).values()
    assert (answer.error_code, told.acknowledge_error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert (await alice.fetch()).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


@pytest.mark.parametrize("is_wanted_elsewhere", [False, True])
async def test_records_acquired_before_a_slot_was_lost_or_handed_over_are_not_delivered_after_it(
    *, is_wanted_elsewhere: bool
) -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = await holding(cluster, backing, KEY)
        await cluster.append(KEY.topic_id, KEY.partition, [b"more"] * 2)
        slots, slot = process.service.slots, slot_of(process, KEY)
        assert slots is not None
        cluster.may_land.clear()
        before = len(cluster.produced())
        request = fetch(KEY, epoch=1, acknowledges=True, max_wait_ms=60_000)
        fetching = asyncio.ensure_future(process.serve(request))  # noqa: TID251 - awaited below
        await until(lambda: len(cluster.produced()) > before)
        await until_all_wait()

        # When
        if is_wanted_elsewhere:
            slots.give_up(frozenset({slot.number}))
            await until(lambda: slot.number in process.fleet.given_up)
        else:
            slots.slots_lost(frozenset({slot.number}), "nothing was heard of the group's coordinator in time")

        # Then
        answer = await asyncio.wait_for(fetching, 5)
        assert acquired_offsets(answer) == []
        assert set(error_codes(answer)) == {ErrorCode.NOT_LEADER_OR_FOLLOWER}
        cluster.may_land.set()


async def test_a_member_whose_group_moved_is_told_that_its_share_session_is_not_there_and_opens_another() -> (
    None
):
    """Its connection may have been to a process that did not stop: what it asks is relayed to the group's owner."""
    async with a_cluster() as cluster:
        # Given
        async with StateLogBacking(cluster) as backing:
            process = await holding(cluster, backing, KEY)
            slots, slot = process.service.slots, slot_of(process, KEY)
            assert slots is not None
            slots.give_up(frozenset({slot.number}))
            await until(lambda: slot.number in process.fleet.given_up)
        async with StateLogBacking(cluster) as next_backing:
            owner = await SharingProcess(next_backing).serves()

            # When
            refused = await owner.serve(fetch(KEY, epoch=1, max_wait_ms=100))
            begun_anew = await owner.serve(fetch(KEY, epoch=0, max_wait_ms=60_000))

            # Then
            assert set(error_codes(refused)) == {ErrorCode.SHARE_SESSION_NOT_FOUND}
            assert (error_codes(begun_anew), acquired_offsets(begun_anew)) == (set(), [0, 1, 2])
