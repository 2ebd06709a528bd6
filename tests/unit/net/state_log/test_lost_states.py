"""Share-partitions whose state is gone from the log begin anew, and skip nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live import pauses
from kproxy.net import tasks
from kproxy.net.state_log import lost_states
from kproxy.net.state_log.lost_states import LostStates
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import AssignmentEpoch, GroupEpoch, GroupId, StateEpoch
from kproxy.share.share_group_image import ShareGroupImage, StatePartitions
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
    state_log,
)
from tests.worlds.waiting import turns_during, until

Scenario = Callable[[ScriptedStateLog], Coroutine[object, object, None]]

WORKERS = ShareGroupImage(
    GroupId("workers"),
    GroupEpoch(3),
    AssignmentEpoch(3),
    members={},
    target={},
    initializing={},
    initialized={ORDERS: StatePartitions("orders", frozenset({HERE.partition, THERE.partition}))},
    deleting={},
)
"""A group that has a share-partition in each slot."""


@async_fixture
async def cluster() -> AsyncIterator[ScriptedStateLog]:
    """A cluster in which a process began both share-partitions, and stopped."""
    async with ScriptedStateLog() as cluster:
        create_state_topics(cluster)
        async with StateLogBacking(cluster) as backing:
            process = await Process(backing).serves()
            wanted = [PartitionInitialization(key, StateEpoch(3), -1) for key in (HERE, THERE)]
            assert await process.service.states.initialize(wanted) == {}
            slots = process.directory.require()
            slots.slot_of_group("workers").submit_group(ImageWrite(WORKERS))
            await process.service.drain(10)
        yield cluster


async def start_offsets(process: Process) -> list[int | None]:
    """Return where both share-partitions begin; None where there is no state."""
    found = [await process.service.states.read_summary(key) for key in (HERE, THERE)]
    return [None if state is None else state.start_offset for state in found]


async def test_states_that_are_gone_begin_anew_at_the_first_record_with_an_alarm_for_each_slot(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog
) -> None:
    # Given
    cluster.create_topic(STATE, STATE_ID, partition_count=SLOT_COUNT)

    # When
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        await until(lambda: backing.measured.counts["statelog_lost_states",] == 2)
        await process.service.drain(10)

        # Then
        assert await start_offsets(process) == [0, 0]
        assert backing.measured.counts["statelog_truncations",] == 2
    lost = [
        getattr(record, "event_keys", {}) for record in alarms(caplog) if record.msg == "share_state_lost"
    ]
    assert [(line["group"], line["partitions"]) for line in lost] == [("workers", 1)] * 2
    assert sorted(line["slot"] for line in lost) == [0, 1]


async def test_only_what_is_gone_begins_anew(cluster: ScriptedStateLog) -> None:
    # Given
    cluster.truncate(state_log(1), 1)

    # When
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        await until(lambda: backing.measured.counts["statelog_lost_states",] == 1)
        await process.service.drain(10)

        # Then
        assert await start_offsets(process) == [-1, 0]


async def test_a_state_that_could_not_be_written_is_begun_anew_later(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog
) -> None:
    monkeypatch.setattr(lost_states, "AGAIN_SECONDS", 0.01)

    # Given
    cluster.truncate(state_log(1), 1)
    async with StateLogBacking(cluster) as backing:
        process = Process(backing)
        process.service.start()
        await until(lambda: process.service.slots is not None and not process.service.slots.problem())

        # When
        cluster.refuse_append(state_log(1), ErrorCode.POLICY_VIOLATION)
        await until(lambda: backing.measured.counts["statelog_lost_states",] == 2)
        await process.service.drain(10)

        # Then
        assert backing.measured.counts["statelog_refusals", "refused"] == 1
        assert await start_offsets(process) == [-1, 0]


async def test_what_is_there_is_left_alone_and_what_is_on_its_way_is_not_begun_twice(
    cluster: ScriptedStateLog,
) -> None:
    # Given
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        slots, lost = process.directory.require(), LostStates(backing.reports)
        await lost.look(slots)
        before = backing.measured.counts["statelog_lost_states",]
        await process.service.states.delete([HERE])
        cluster.may_land.clear()
        await lost.look(slots)

        # When
        await lost.look(slots)

        # Then
        assert (before, backing.measured.counts["statelog_lost_states",]) == (0, 1)
        cluster.may_land.set()
        await process.service.drain(10)
        assert await start_offsets(process) == [0, -1]


@pytest.fixture
def every_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """One share-partition a turn."""
    monkeypatch.setattr(lost_states, "LOOKED_AT_ONCE", 1, raising=False)
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 1)


@pytest.mark.usefixtures("every_pause")
async def test_others_have_turns_while_a_group_with_very_many_share_partitions_is_looked_at(
    cluster: ScriptedStateLog,
) -> None:
    # Given
    orders = {ORDERS: StatePartitions("orders", frozenset(range(20)))}
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        slots = process.directory.require()
        slots.slot_of_group("workers").submit_group(ImageWrite(replace(WORKERS, initialized=orders)))
        await process.service.drain(10)

        # When
        turn_count = await turns_during(LostStates(backing.reports).look(slots))

        # Then
        assert turn_count > len(orders[ORDERS].partitions)
        assert backing.measured.counts["statelog_lost_states",] == 18


@pytest.mark.usefixtures("every_pause")
async def test_what_a_group_gives_up_while_it_is_looked_at_does_not_begin_anew(
    cluster: ScriptedStateLog,
) -> None:
    """Its states are gone because they were deleted."""
    # Given
    async with StateLogBacking(cluster) as backing:
        process = await Process(backing).serves()
        slots = process.directory.require()
        await process.service.states.delete([HERE, THERE])
        looking = LostStates(backing.reports).look(slots)
        while not any(slot.has_work for slot in slots.all()):
            looking.send(None)  # up to the next pause, until one of them begins anew

        # When
        given_up = replace(WORKERS, initialized={}, deleting=WORKERS.initialized)
        slots.slot_of_group("workers").submit_group(ImageWrite(given_up))
        await process.service.drain(10)
        await asyncio.get_running_loop().create_task(looking)
        await process.service.drain(10)

        # Then
        assert sorted(await start_offsets(process), key=str) == [0, None]


async def test_while_the_slot_of_the_state_is_not_ready_nothing_is_said_of_it(
    cluster: ScriptedStateLog,
) -> None:
    # Given
    cluster.create_topic(STATE, STATE_ID, partition_count=SLOT_COUNT)
    async with StateLogBacking(cluster) as backing:
        topics = await backing.found()
        slots = backing.idle_slots(backing.claims(topics), SLOT_COUNT)

        # When
        await LostStates(backing.reports).look(slots)

        # Then
        assert backing.measured.counts["statelog_lost_states",] == 0


async def test_what_a_fault_kept_from_being_looked_at_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog
) -> None:
    monkeypatch.setattr(tasks, "FAULT_PAUSE_SECONDS", 0.01)
    look, fault_count = LostStates.look, 0

    async def broken_at_first(lost: LostStates, slots: StateSlots) -> None:
        nonlocal fault_count
        if fault_count < 2:
            fault_count += 1
            raise RuntimeError("broken")
        await look(lost, slots)

    monkeypatch.setattr(LostStates, "look", broken_at_first)

    # Given
    cluster.truncate(state_log(1), 1)
    async with StateLogBacking(cluster) as backing:
        process = Process(backing)

        # When
        process.service.start()

        # Then
        await until(lambda: backing.measured.counts["statelog_lost_states",] == 1)
        assert fault_count == 2
