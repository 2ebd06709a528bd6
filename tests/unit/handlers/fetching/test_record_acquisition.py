"""From bytes to acquired records: slices of whole batches, starts that the log overtakes, bytes that are no records."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import MemberId
from kproxy.share.limits import ShareLimits
from kproxy.statelog.actors import Actor, Cause
from kproxy.wire.record_batches import batch_extents
from tests.in_memory.scripted_partition_reader import LogBatch
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acquired,
    loaded,
    partitions_of,
)
from tests.worlds.waiting import until_all_wait

RELEASE = 2


async def a_member(world: ShareGroupWorld) -> Member:
    await world.initialize()
    alice = world.member()
    await alice.open()
    return alice


async def test_records_reach_from_the_first_acquired_batch_to_the_last_one() -> None:
    # Given
    world = ShareGroupWorld()
    for _ in range(4):
        world.produce(5)
    alice = await a_member(world)
    await alice.fetch()
    await alice.acknowledge({(ORDERS, 0): [(7, 7, [RELEASE]), (12, 12, [RELEASE])]})

    # When
    answer = await alice.fetch()

    # Then
    data = partitions_of(answer)[ORDERS, 0]
    extents = batch_extents(memoryview(data.records))
    assert acquired(answer) == [(7, 7, 2), (12, 12, 2)]
    assert [(extent.first_offset, extent.last_offset) for extent in extents] == [(5, 9), (10, 14)]


async def test_batches_that_another_member_took_during_the_read_are_left_out() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(5)
    world.produce(5)
    alice = await a_member(world)
    await alice.fetch(max_wait_ms=0, max_records=5)
    await alice.acknowledge({(ORDERS, 0): [(0, 4, [RELEASE])]})

    async def take_the_first_batch() -> None:
        live = world.groups.directory.find(world.key())
        assert live is not None
        live.acquire(
            MemberId("bob"),
            [(0, 4)],
            fetch_offset=0,
            max_records=5,
            batch_size=5,
            is_record_limit=False,
            now_ms=world.clock.now_ms(),
        )

    world.reader.before_read = take_the_first_batch

    # When
    answer = await alice.fetch()

    # Then
    extents = batch_extents(memoryview(partitions_of(answer)[ORDERS, 0].records))
    assert acquired(answer) == [(5, 9, 1)]
    assert [(extent.first_offset, extent.last_offset) for extent in extents] == [(5, 9)]


async def test_records_are_the_bytes_of_the_log_and_no_copy() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(5)
    alice = await a_member(world)

    # When
    answer = await alice.fetch()

    # Then
    records = partitions_of(answer)[ORDERS, 0].records
    assert isinstance(records, memoryview)
    assert records == world.log().batches[0].encoded


async def test_without_acquired_records_the_bytes_are_empty_and_never_null() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0)])

    # Then
    data = partitions_of(answer)[ORDERS, 0]
    assert data.records == b""
    assert data.acquired_records == []


async def test_three_batches_make_three_entries_of_at_least_the_batch_size() -> None:
    # Given
    world = ShareGroupWorld()
    for _ in range(3):
        world.produce(10)
    alice = await a_member(world)

    # When
    answer = await alice.fetch(batch_size=15)

    # Then
    assert acquired(answer) == [(0, 19, 1), (20, 29, 1)]


async def test_two_members_share_a_partition_and_two_groups_do_not() -> None:
    # Given
    world = ShareGroupWorld()
    for _ in range(4):
        world.produce(5)
    await world.initialize("g")
    await world.initialize("h")
    alice, bob = world.member("alice"), world.member("bob")
    carol = world.member("carol", group_id="h")
    for member in (alice, bob, carol):
        await member.open()

    # When
    answers = [
        acquired(await alice.fetch(max_records=10)),
        acquired(await bob.fetch(max_records=10)),
        acquired(await carol.fetch(max_records=20, batch_size=20)),
    ]

    # Then
    assert answers == [[(0, 9, 1)], [(10, 19, 1)], [(0, 19, 1)]]


async def test_offsets_that_hold_no_record_are_acquired_with_their_neighbours_and_can_be_passed() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(3)
    world.log().append_gap(2)
    world.produce(3)
    alice = await a_member(world)
    answer = await alice.fetch()

    # When
    await alice.acknowledge({(ORDERS, 0): [(0, 7, [1, 1, 1, 0, 0, 1, 1, 1])]})

    # Then
    live = world.groups.directory.find(world.key())
    assert acquired(answer) == [(0, 7, 1)]
    assert live is not None
    assert live.start_offset == 8


async def test_deliveries_are_counted_first_ones_apart_from_repeated_ones() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(5)
    alice = await a_member(world)
    await alice.fetch()
    await alice.acknowledge({(ORDERS, 0): [(0, 1, [RELEASE])]})
    world.produce(3)

    # When
    await alice.fetch()

    # Then
    assert world.observer.counts["share_deliveries", "true"] == 8
    assert world.observer.counts["share_deliveries", "false"] == 2


async def test_acquiring_asks_for_the_alarm_at_the_end_of_the_lock() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(5)
    alice = await a_member(world)
    world.clock.advance(500)

    # When
    await alice.fetch()

    # Then
    assert world.alarm.deadlines_ms == [31_500]
    assert world.groups.next_deadline_ms() == 31_500


async def test_a_lock_lasts_as_long_as_the_group_was_configured_since_its_share_partition_was_loaded() -> (
    None
):
    # Given
    world = ShareGroupWorld()
    world.produce(5)
    alice = await a_member(world)
    await loaded(world.groups.directory, world.key())
    world.configure("share.record.lock.duration.ms", "20000")

    # When
    await alice.fetch()

    # Then
    assert world.groups.next_deadline_ms() == 21_000


async def test_when_the_log_start_overtakes_a_fetch_goes_on_from_there() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(5)
    world.produce(5)
    alice = await a_member(world)
    await alice.fetch(max_records=5)
    await alice.acknowledge({(ORDERS, 0): [(0, 1, [1]), (2, 4, [RELEASE])]})
    world.log().move_start(5)
    world.produce(0)

    # When
    answer = await alice.fetch()

    # Then
    assert partitions_of(answer)[ORDERS, 0].error_code == ErrorCode.NONE
    assert acquired(answer) == [(5, 9, 1)]
    assert world.observer.counts["share_archived", "log_start"] == 3
    assert world.state_log.deltas[-1][1].start_offset == 5
    # Offsets 0 and 1 were accepted: the topic lost no more than the others.
    assert world.state_log.actors[-1] == (Actor(Cause.LOG_START_MOVED, offset_ranges=((2, 4),)),)


async def test_a_log_that_is_shorter_than_what_was_consumed_is_waited_for() -> None:
    """An unclean election can take records back; nothing of the share-partition is moved for it."""
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=50)
    alice = world.member()
    await alice.open()

    # When
    answer = await alice.fetch(max_wait_ms=500)

    # Then
    assert acquired(answer) == []
    assert world.availability.waits[-1] == ({world.key(): 0}, 1_500)
    assert len(world.reader.reads) == 1


async def test_a_log_that_was_shorter_is_read_as_soon_as_it_has_the_offset_and_once_for_what_it_grows_by() -> (
    None
):
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize(start_offset=3)
    alice = world.member()
    await alice.open()
    fetch = asyncio.get_running_loop().create_task(alice.fetch(max_wait_ms=60_000))
    await until_all_wait()
    read_counts = [len(world.reader.reads)]

    # When
    for _ in range(4):
        world.produce(1)
        await until_all_wait(100)
        read_counts.append(len(world.reader.reads))

    # Then
    assert read_counts == [1, 2, 3, 4, 5]
    assert fetch.done()
    assert acquired(fetch.result()) == [(3, 3, 1)]


async def test_a_batch_that_the_window_has_no_room_for_is_neither_looked_at_nor_judged() -> None:
    # Given
    world = ShareGroupWorld()
    for _ in range(2_000):
        world.log().append([b"x"])
    world.log().batches.append(LogBatch(2_000, 2_000, 0, bytes(16) + b"\x01" + bytes(60)))
    world.log().end_offset = 2_001
    alice = await a_member(world)

    # When
    answer = await alice.fetch(max_records=2**31 - 1)

    # Then
    assert partitions_of(answer)[ORDERS, 0].error_code == ErrorCode.NONE
    assert sum(last - first + 1 for first, last, _ in acquired(answer)) == 2_000


async def test_bytes_that_are_no_record_batches_are_told_and_do_not_keep_the_loop_busy() -> None:
    # Given
    world = ShareGroupWorld()
    log = world.log()
    log.batches.append(LogBatch(0, 0, 0, bytes(16) + b"\x01" + bytes(60)))
    log.end_offset = 1
    world.availability.raise_high_watermark(ORDERS, 0, 1)
    alice = await a_member(world)

    # When
    answer = await alice.fetch(max_wait_ms=500)

    # Then
    data = partitions_of(answer)[ORDERS, 0]
    assert data.error_code == ErrorCode.CORRUPT_MESSAGE
    assert data.records == b""
    assert len(world.reader.reads) == 1
    assert world.observer.reasons == ["corrupt_message"]


async def test_the_window_bounds_what_is_new_and_a_batch_may_overshoot_it_once() -> None:
    # Given
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=12))
    world = ShareGroupWorld(limits=limits)
    for _ in range(4):
        world.produce(5)
    alice = await a_member(world)

    # When
    first, second = await alice.fetch(), await alice.fetch()

    # Then
    assert acquired(first) == [(0, 14, 1)]
    assert acquired(second) == []


async def test_reads_are_sized_by_the_records_and_not_by_what_the_client_allows() -> None:
    # Given
    world = ShareGroupWorld()
    for _ in range(50):
        world.produce(100, size_bytes=100)
    alice = await a_member(world)

    # When
    for _ in range(3):
        await alice.fetch(max_records=500, max_bytes=50_000_000)

    # Then
    first, *others = [read.max_bytes for read in world.reader.reads]
    assert first == 1_048_576
    assert len(others) == 2
    assert all(500 * 100 < size < 500 * 150 for size in others)
