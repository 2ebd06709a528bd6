"""Share-partitions whose state is gone from the log begin anew, and skip nothing."""

from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live import pauses
from kproxy.net.state_log import lost_states
from kproxy.net.state_log.lost_states import LostStates
from kproxy.net.state_log.reports import SlotReports
from kproxy.net.state_log.slot import StateSlot
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import AssignmentEpoch, GroupEpoch, GroupId, SharePartitionKey, StateEpoch
from kproxy.share.share_group_image import ShareGroupImage, StatePartitions
from kproxy.statelog.group_log_fold import GroupLogFold
from kproxy.statelog.group_queue import ImageWrite
from tests.event_loops import async_fixture
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.backing import ORDERS
from tests.worlds.state_log_process import HERE, THERE, Process
from tests.worlds.state_logs import (
    SLOT_COUNT,
    STATE,
    STATE_ID,
    StateLogBacking,
    alarms,
    create_state_topics,
    key_of_slot,
    state_log,
)
from tests.worlds.waiting import until

Scenario = Callable[[ScriptedStateLog], Coroutine[object, object, None]]

NEXT = key_of_slot(1, skip=1)
"""Another share-partition of the group of `THERE`."""


def group_with(*keys: SharePartitionKey) -> ShareGroupImage:
    """Return the group of `keys`, which it has initialized."""
    partitions = StatePartitions("orders", frozenset(key.partition for key in keys))
    return ShareGroupImage(
        keys[0].group_id,
        GroupEpoch(3),
        AssignmentEpoch(3),
        members={},
        target={},
        initializing={},
        initialized={ORDERS: partitions},
        deleting={},
    )


@async_fixture
async def cluster() -> AsyncIterator[ScriptedStateLog]:
    """A cluster in which a process began one share-partition of slot 0 and two of slot 1, and stopped."""
    async with ScriptedStateLog() as cluster:
        create_state_topics(cluster)
        async with StateLogBacking(cluster) as backing:
            process = await Process(backing).serves()
            for key in (HERE, THERE, NEXT):
                wanted = [PartitionInitialization(key, StateEpoch(3), -1)]
                assert await process.service.states.initialize(wanted) == {}
            for image in (group_with(HERE), group_with(THERE, NEXT)):
                process.directory.of_group(image.group_id).submit_group(ImageWrite(image))
            await process.service.drain(10)
        yield cluster


async def start_offsets(process: Process) -> list[int | None]:
    """Return where the share-partitions begin; None where there is no state."""
    found = [await process.service.states.read_summary(key) for key in (HERE, THERE, NEXT)]
    return [None if state is None else state.start_offset for state in found]


async def test_states_that_are_gone_begin_anew_at_the_first_record_with_an_alarm_for_each_group(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog
) -> None:
    # Given
    cluster.create_topic(STATE, STATE_ID, partition_count=SLOT_COUNT)

    # When
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        await process.service.drain(10)

        # Then
        assert await start_offsets(process) == [0, 0, 0]
        assert backing.measured.counts["statelog_lost_states",] == 3
        assert backing.measured.counts["statelog_truncations",] == 2
    lost = [
        getattr(record, "event_keys", {}) for record in alarms(caplog) if record.msg == "share_state_lost"
    ]
    assert sorted((line["slot"], line["group"], line["partitions"]) for line in lost) == [
        (0, HERE.group_id, 1),
        (1, THERE.group_id, 2),
    ]


async def test_only_what_is_gone_begins_anew(cluster: ScriptedStateLog) -> None:
    # Given
    cluster.truncate(state_log(1), 2)

    # When
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        await process.service.drain(10)

        # Then
        assert await start_offsets(process) == [-1, -1, 0]
        assert backing.measured.counts["statelog_lost_states",] == 1


async def test_very_many_groups_without_any_state_are_looked_at_in_several_turns(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog
) -> None:
    # Given
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 3)
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        slot = process.directory.of_group(HERE.group_id)
        loaded = slot.loaded()
        assert loaded is not None
        ids = [GroupId(f"group {number}") for number in range(9)]
        monkeypatch.setattr(GroupLogFold, "group_ids", ids)

        # When
        pause_count = len(list(LostStates(backing.reports)._look_through(slot, loaded)))

    # Then
    assert pause_count == 3


async def lost(process: Process) -> StateSlot:
    """Return slot 0, which has just lost the state of `HERE`, and nobody has looked yet."""
    assert await process.service.states.delete([HERE]) == {}
    return process.directory.of_group(HERE.group_id)


async def test_a_state_that_could_not_be_written_is_begun_anew_later(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog
) -> None:
    monkeypatch.setattr(lost_states, "AGAIN_SECONDS", 0.01)

    # Given
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        slot = await lost(process)
        cluster.refuse_append(state_log(0), ErrorCode.POLICY_VIOLATION)

        # When
        LostStates(backing.reports).look(slot)
        await until(lambda: backing.measured.counts["statelog_lost_states",] == 2)
        await process.service.drain(10)

        # Then
        assert backing.measured.counts["statelog_refusals", "refused"] == 1
        assert await start_offsets(process) == [0, -1, -1]


async def test_what_is_there_is_left_alone_and_what_is_on_its_way_is_not_begun_twice(
    cluster: ScriptedStateLog,
) -> None:
    # Given
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        before = backing.measured.counts["statelog_lost_states",]
        slot, lost_states_of = await lost(process), LostStates(backing.reports)
        cluster.may_land.clear()
        lost_states_of.look(slot)

        # When
        lost_states_of.look(slot)

        # Then
        assert (before, backing.measured.counts["statelog_lost_states",]) == (0, 1)
        cluster.may_land.set()
        await process.service.drain(10)
        assert await start_offsets(process) == [0, -1, -1]


@pytest.fixture
def every_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """One share-partition a turn."""
    monkeypatch.setattr(lost_states, "LOOKED_AT_ONCE", 1)
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 1)


@pytest.mark.usefixtures("every_pause")
async def test_others_have_turns_while_a_group_with_very_many_share_partitions_is_looked_at(
    cluster: ScriptedStateLog,
) -> None:
    # Given
    orders = {ORDERS: StatePartitions("orders", frozenset(range(20)))}
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        slot = process.directory.of_group(THERE.group_id)
        slot.submit_group(ImageWrite(replace(group_with(THERE), initialized=orders)))
        await process.service.drain(10)

        # When
        LostStates(backing.reports).look(slot)

        # Then
        assert backing.measured.counts["statelog_lost_states",] <= 1
        await until(lambda: backing.measured.counts["statelog_lost_states",] == 18)


@pytest.mark.usefixtures("every_pause")
async def test_what_a_group_gives_up_while_it_is_looked_at_does_not_begin_anew(
    cluster: ScriptedStateLog,
) -> None:
    """Its states are gone because they were deleted."""
    # Given
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        slot = process.directory.of_group(THERE.group_id)
        loaded = slot.loaded()
        assert loaded is not None
        await process.service.states.delete([THERE, NEXT])
        pauses_of_look = LostStates(backing.reports)._look_through(slot, loaded)
        next(pauses_of_look)

        # When
        image = group_with(THERE, NEXT)
        slot.submit_group(ImageWrite(replace(image, initialized={}, deleting=image.initialized)))
        await process.service.drain(10)
        list(pauses_of_look)
        await process.service.drain(10)

        # Then
        assert sorted(await start_offsets(process), key=str) == [-1, 0, None]


async def test_of_a_slot_that_is_not_ready_nothing_is_said(cluster: ScriptedStateLog) -> None:
    # Given
    cluster.create_topic(STATE, STATE_ID, partition_count=SLOT_COUNT)
    async with StateLogBacking(cluster) as backing:
        topics = await backing.found()
        slots = backing.idle_slots(backing.claims(topics), SLOT_COUNT)

        # When
        for slot in slots.all():
            LostStates(backing.reports).look(slot)

        # Then
        assert backing.measured.counts["statelog_lost_states",] == 0


async def test_what_a_fault_kept_from_being_looked_at_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog
) -> None:
    monkeypatch.setattr(lost_states, "AGAIN_SECONDS", 0.01)
    begun_anew, fault_count = SlotReports.begun_anew, 0

    def broken_at_first(reports: SlotReports, group_id: str, slot: int, count: int) -> None:
        nonlocal fault_count
        if fault_count < 2:
            fault_count += 1
            raise RuntimeError("broken")
        begun_anew(reports, group_id, slot, count)

    monkeypatch.setattr(SlotReports, "begun_anew", broken_at_first)

    # Given
    cluster.truncate(state_log(1), 1)
    async with StateLogBacking(cluster) as backing:
        # When
        process = await Process(backing).serves()
        await until(lambda: backing.measured.counts["statelog_lost_states",] == 2)
        await process.service.drain(10)

        # Then
        assert await start_offsets(process) == [-1, 0, 0]
    assert [record.msg for record in alarms(caplog)].count("lost_states_not_looked_for") == 2
