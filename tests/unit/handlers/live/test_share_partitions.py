"""The directory: loads once, resolves start offsets, discards on doubt, unloads, and knows when locks end."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.groups.group_config_keys import GroupConfigBounds
from kproxy.handlers.groups.group_configs import GroupConfigs
from kproxy.handlers.live.share_partitions import DirectoryPorts, SharePartitionDirectory
from kproxy.share.identifiers import GroupId
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.worlds.share_group_world import (
    ORDERS,
    WALL_CLOCK_MS,
    ShareGroupWorld,
    acquired,
    loaded,
    partitions_of,
)
from tests.worlds.waiting import until_all_wait

KEY = ShareGroupWorld.key()
NEVER_MS = 1_000_000


def a_directory(
    world: ShareGroupWorld,
    *,
    is_wanted: Callable[[], bool] = lambda: True,
    limits: Callable[[], ShareLimits] = ShareLimits,
) -> SharePartitionDirectory:
    configs = GroupConfigs(GroupConfigBounds())
    ports = DirectoryPorts(
        state_log=world.state_log,
        offset_store=world.state_log,
        group_log=world.group_log,
        reader=world.reader,
        availability=world.availability,
        alarm=world.alarm,
        background=world.background,
        clock=world.clock,
        wall_clock=world.wall_clock,
        observer=world.observer,
    )
    return SharePartitionDirectory(
        ports,
        limits_of=lambda _: limits(),
        offset_reset_of=configs.offset_reset,
        is_wanted=lambda _: is_wanted(),
    )


# ---- looking


async def test_who_looks_changes_nothing_and_who_takes_gets_the_limits_of_now() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    before, now = ShareLimits(record_lock_duration_ms=20_000), ShareLimits(record_lock_duration_ms=40_000)
    limits = [before]
    directory = a_directory(world, limits=lambda: limits[-1])
    live = await loaded(directory, KEY)

    # When
    limits.append(now)
    found = directory.find(KEY)
    seen = live.limits
    taken = directory.with_current_limits(KEY)

    # Then
    assert found is live
    assert taken is live
    assert (seen, live.limits) == (before, now)


# ---- loading


async def test_it_loads_a_share_partition_once() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=7)
    directory = a_directory(world)

    # When
    first = await loaded(directory, KEY)
    second = await loaded(directory, KEY)

    # Then
    assert first is second
    assert first.start_offset == 7
    assert world.state_log.loads == [KEY]
    assert world.observer.observations["share_partition_load_seconds",] == [0.0]


async def test_concurrent_calls_share_one_load() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.state_log.hold_loads = asyncio.Event()
    directory = a_directory(world)

    # When
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(loaded(directory, KEY))
        second = tasks.create_task(loaded(directory, KEY))
        await until_all_wait()
        world.state_log.hold_loads.set()

    # Then
    assert first.result() is second.result()
    assert world.state_log.loads == [KEY]


async def test_a_failed_load_is_tried_again_by_the_next_call() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    alice = world.member()
    world.state_log.is_away = True
    failed = await alice.fetch(add=[(ORDERS, 0)], max_wait_ms=0)

    # When
    world.state_log.is_away = False
    world.produce(2)
    answer = await alice.fetch()

    # Then
    assert partitions_of(failed)[ORDERS, 0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert acquired(answer) == [(0, 1, 1)]


async def test_what_no_heartbeat_asked_for_cannot_be_fetched() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0)])

    # Then
    data = partitions_of(answer)[ORDERS, 0]
    assert data.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert data.error_message is not None
    assert "no state" in data.error_message


async def test_durable_state_that_contradicts_itself_is_an_error_of_its_partition() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    acquired_on_disk = StateBatch(0, 3, RecordState.ACQUIRED, 1)
    durable = world.state_log.state(KEY)
    assert durable is not None
    world.state_log.contradiction = replace(durable, state_batches=(acquired_on_disk,))

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0)])

    # Then
    assert partitions_of(answer)[ORDERS, 0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR


# ---- where a share-partition begins


@pytest.mark.parametrize(
    ("reset", "start_offset"),
    [("latest", 30), ("earliest", 10), ("by_duration:PT1H", 20), ("by_duration:PT1M", 30)],
)
async def test_a_start_offset_that_nobody_chose_is_resolved_at_the_first_load(
    reset: str, start_offset: int
) -> None:
    # Given
    world = ShareGroupWorld()
    world.configure("share.auto.offset.reset", reset)
    await world.initialize(start_offset=-1)
    log = world.log()
    log.append([b"deleted"] * 10, timestamp_ms=WALL_CLOCK_MS - 9_000_000)
    log.append([b"old"] * 10, timestamp_ms=WALL_CLOCK_MS - 8_000_000)
    log.append([b"young"] * 10, timestamp_ms=WALL_CLOCK_MS - 1_000_000)
    log.move_start(10)

    # When
    await world.member().fetch(add=[(ORDERS, 0)], max_wait_ms=0)

    # Then
    assert world.reader.reads[0].offset == start_offset


async def test_a_leader_that_names_no_offset_is_asked_again_by_the_next_fetch() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    world.reader.fail(ORDERS, 0, ErrorCode.NETWORK_EXCEPTION)
    alice = world.member()
    failed = await alice.fetch(add=[(ORDERS, 0)], max_wait_ms=0)

    # When
    world.reader.fail(ORDERS, 0, ErrorCode.NONE)
    answer = await alice.fetch(max_wait_ms=0)

    # Then
    assert partitions_of(failed)[ORDERS, 0].error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert partitions_of(answer)[ORDERS, 0].error_code == ErrorCode.NONE


# ---- discarding and unloading


async def test_what_is_discarded_refuses_every_call_and_is_loaded_anew() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    directory = a_directory(world)
    before = await loaded(directory, KEY)

    # When
    directory.discard(KEY)

    # Then
    assert before.is_fenced
    assert directory.find(KEY) is None
    assert await loaded(directory, KEY) is not before
    assert world.availability.signalled == [KEY, KEY, KEY]


async def test_a_late_doubt_about_an_older_object_leaves_its_successor_alone() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    directory = a_directory(world)
    before = await loaded(directory, KEY)
    directory.discard(KEY)
    after = await loaded(directory, KEY)

    # When
    directory.discard(KEY, before)

    # Then
    assert directory.find(KEY) is after


async def test_a_group_that_nobody_fetches_for_is_unloaded() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    wanted = {"is_wanted": True}
    directory = a_directory(world, is_wanted=lambda: wanted["is_wanted"])
    await loaded(directory, KEY)
    wanted["is_wanted"] = False

    # When
    await directory.unload_unwanted([GroupId("another")])
    count_before = len(directory)
    await directory.unload_unwanted([GroupId("g")])

    # Then
    assert count_before == 1
    assert len(directory) == 0


async def test_a_group_that_somebody_fetches_for_stays() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    directory = a_directory(world, is_wanted=lambda: True)
    await loaded(directory, KEY)

    # When
    await directory.unload_unwanted([GroupId("g")])

    # Then
    assert len(directory) == 1


async def test_an_unwanted_share_partition_stays_until_its_write_is_settled() -> None:
    """A load before that would not see the write."""
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    wanted = {"is_wanted": True}
    directory = a_directory(world, is_wanted=lambda: wanted["is_wanted"])
    await loaded(directory, KEY)
    wanted["is_wanted"] = False
    written = directory.begin_write(KEY, start_offset=0)

    # When
    await directory.unload_unwanted([GroupId("g")])
    count_during_write = len(directory)
    directory.settle_write(written, is_certain=True)

    # Then
    assert count_during_write == 1
    assert len(directory) == 0


async def test_a_share_partition_that_is_wanted_again_when_its_write_is_settled_stays() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    wanted = {"is_wanted": True}
    directory = a_directory(world, is_wanted=lambda: wanted["is_wanted"])
    live = await loaded(directory, KEY)
    wanted["is_wanted"] = False
    written = directory.begin_write(KEY, start_offset=0)
    await directory.unload_unwanted([GroupId("g")])

    # When
    wanted["is_wanted"] = True
    directory.settle_write(written, is_certain=True)

    # Then
    assert directory.find(KEY) is live


async def test_a_write_that_fails_after_its_share_partition_was_discarded_spares_the_successor() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    directory = a_directory(world)
    await loaded(directory, KEY)
    written = directory.begin_write(KEY, start_offset=0)
    directory.discard(KEY)
    successor = await loaded(directory, KEY)

    # When
    directory.settle_write(written, is_certain=False)

    # Then
    assert directory.find(KEY) is successor


# ---- locks


async def test_the_alarm_is_set_once_for_the_first_end_of_a_lock() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(5)
    await world.member().open(max_records=5)

    # When
    world.groups.directory.note_deadline(KEY)

    # Then
    assert world.alarm.deadlines_ms == [31_000]
    assert world.groups.directory.take_due(31_000) == KEY


async def test_the_locks_of_a_discarded_share_partition_say_nothing_of_its_successor() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(5)
    alice = world.member()
    await alice.open(max_records=5)
    world.groups.directory.discard(KEY)
    world.clock.advance(10_000)

    # When
    await alice.fetch()

    # Then
    assert world.groups.directory.take_due(35_000) is None
    assert world.groups.directory.take_due(41_000) == KEY


async def test_there_is_nothing_to_discard_of_what_is_not_live() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    world.groups.directory.discard(KEY)

    # Then
    assert world.availability.signalled == []


async def test_a_discarded_share_partition_is_never_due() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(5)
    await world.member().open(max_records=5)

    # When
    world.groups.directory.discard(KEY)

    # Then
    assert world.groups.next_deadline_ms() is None
    assert world.groups.directory.take_due(NEVER_MS) is None
