"""Records that come back: closed sessions, lost connections, ended locks."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from kproxy.handlers.ports import PartitionLeader
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.limits import ShareLimits
from kproxy.statelog.actors import Actor, Cause
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
)
from tests.worlds.waiting import until_all_wait


async def two_members(world: ShareGroupWorld, record_count: int = 5) -> tuple[Member, Member]:
    """Alice holds all records; Bob has a session."""
    await world.initialize()
    world.produce(record_count)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=record_count)
    await bob.open()
    return alice, bob


# ---- connections


async def test_when_a_connection_is_lost_others_get_its_records_at_once_and_the_attempt_counts() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice, bob = await two_members(world)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch(max_wait_ms=500))
        await until_all_wait()
        await alice.disconnect()

    # Then
    assert acquired(fetch.result()) == [(0, 4, 2)]
    assert world.clock.now_ms() == 1_000
    assert world.observer.counts[("share_sessions_evicted",)] == 1


async def test_a_session_that_was_opened_again_on_another_connection_survives_the_loss_of_the_first() -> None:
    # Given
    world = ShareGroupWorld()
    alice, bob = await two_members(world)
    first_connection = alice.connection_id
    alice.connection_id = world.new_connection()
    await alice.open()

    # When
    await world.groups.apis.connection_closed(first_connection)

    # Then
    assert acquired(await bob.fetch(max_wait_ms=0)) == []
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 4, [1])]})
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


@pytest.mark.parametrize(
    ("lost", "released", "kept"), [("old", (0, 4), (5, 9)), ("new", (5, 9), (0, 4))], ids=["old", "new"]
)
async def test_the_loss_of_one_leaders_connection_takes_nothing_from_the_session_with_the_other_one(
    lost: str, released: tuple[int, int], kept: tuple[int, int]
) -> None:
    """A member has a session with each broker; what it acquired in one is not the other's to release, were it later."""
    # Given
    world = ShareGroupWorld(node_ids=(1, 2))
    await world.initialize()
    world.produce(5)
    with_leader = {"old": world.member("alice"), "new": world.member("alice", node_id=2)}
    await with_leader["old"].open(max_records=5)
    world.metadata.move_leader(ORDERS, 0, PartitionLeader(leader_id=2, leader_epoch=7))
    world.produce(5)
    await with_leader["new"].open(max_records=5)

    # When
    await with_leader.pop(lost).disconnect()

    # Then
    bob = world.member("bob", node_id=2)
    assert acquired(await bob.open(max_records=500)) == [(*released, 2)]
    (left,) = with_leader.values()
    answer = await left.acknowledge({(ORDERS, 0): [(*kept, [1])]})
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


async def test_losing_a_connection_without_a_session_changes_nothing() -> None:
    # Given
    world = ShareGroupWorld()
    await two_members(world)

    # When
    await world.groups.apis.connection_closed(99)

    # Then
    assert world.groups.session_count == 2
    assert world.state_log.deltas == []


async def test_records_of_a_forgotten_partition_wait_for_their_lock() -> None:
    # Given
    world = ShareGroupWorld()
    alice, bob = await two_members(world)
    await alice.fetch(forget=[(ORDERS, 0)], max_wait_ms=0)
    await alice.disconnect()
    at_once = acquired(await bob.fetch(max_wait_ms=0))

    # When
    world.clock.advance(30_000)
    await world.expire()

    # Then
    assert at_once == []
    assert acquired(await bob.fetch()) == [(0, 4, 2)]


async def test_a_fetch_whose_session_ends_while_it_sleeps_acquires_nothing() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=500))
        await until_all_wait()
        await alice.disconnect()
        world.produce(3)

    # Then
    assert fetch.result().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert world.observer.refusals == []
    assert acquired(await bob.fetch()) == [(0, 2, 1)]


async def test_a_fetch_whose_session_ends_while_it_reads_acquires_nothing() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(3)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()
    world.reader.before_read = alice.disconnect

    # When
    answer = await alice.fetch()

    # Then
    world.reader.before_read = None
    assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert acquired(await bob.fetch()) == [(0, 2, 1)]


async def test_a_session_that_ends_together_with_the_wait_is_gone_all_the_same() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    alice = world.member("alice")
    await alice.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=500))
        await until_all_wait()
        await alice.disconnect()
        world.clock.advance(500)

    # Then
    assert fetch.result().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


# ---- closing


async def test_the_share_partitions_of_a_group_without_sessions_are_unloaded() -> None:
    # Given
    world = ShareGroupWorld()
    alice, bob = await two_members(world)
    await alice.fetch(epoch=-1)
    while_bob_is_there = world.groups.share_partition_count

    # When
    await bob.disconnect()

    # Then
    assert while_bob_is_there == 1
    assert world.groups.share_partition_count == 0


async def test_what_was_released_keeps_its_delivery_count_after_an_unload() -> None:
    # Given
    world = ShareGroupWorld()
    alice, bob = await two_members(world)
    await bob.disconnect()
    await alice.disconnect()
    carol = world.member("carol")

    # When
    answer = await carol.fetch(add=[(ORDERS, 0)])

    # Then
    assert acquired(answer) == [(0, 4, 2)]


async def test_a_session_opened_while_releases_are_written_keeps_the_share_partition_in_memory() -> None:
    # Given
    world = ShareGroupWorld()
    alice, bob = await two_members(world)
    await bob.disconnect()
    world.state_log.hold_writes = asyncio.Event()
    carol = world.member("carol")

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.disconnect())
        await until_all_wait()
        answer = await carol.fetch(add=[(ORDERS, 0)])
        world.state_log.hold_writes.set()

    # Then
    assert acquired(answer) == [(0, 4, 2)]
    settled = await carol.acknowledge({(ORDERS, 0): [(0, 4, [1])]})
    assert acknowledge_errors(settled) == {(ORDERS, 0): ErrorCode.NONE}


async def test_a_release_that_cannot_be_written_discards_the_share_partition() -> None:
    # Given
    world = ShareGroupWorld()
    alice, bob = await two_members(world)
    world.state_log.persist_failure = StateLogUnavailable("no quorum")

    # When
    await alice.disconnect()

    # Then
    world.state_log.persist_failure = None
    assert world.groups.share_partition_count == 0
    assert acquired(await bob.fetch()) == [(0, 4, 1)]


async def test_closing_a_session_that_was_replaced_meanwhile_releases_nothing() -> None:
    # Given
    world = ShareGroupWorld()
    alice, _ = await two_members(world)
    replaced = world.groups.sessions.sessions()[0]
    await alice.open()

    # When
    await world.groups._releases.close(replaced).settle()

    # Then
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 4, [1])]})
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


# ---- locks


async def test_a_lock_that_ends_gives_its_records_back_and_is_counted() -> None:
    # Given
    world = ShareGroupWorld()
    _, bob = await two_members(world)
    world.clock.advance(29_999)
    await world.expire()
    before = world.observer.counts[("share_lock_timeouts",)]

    # When
    world.clock.advance(1)
    await world.expire()

    # Then
    assert before == 0
    assert world.observer.counts[("share_lock_timeouts",)] == 5
    assert acquired(await bob.fetch()) == [(0, 4, 2)]
    assert world.alarm.deadlines_ms == [31_000, 61_000]


async def test_the_last_attempt_that_ends_archives_the_record() -> None:
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(share=ShareLimits(delivery_count_limit=2)))
    _, bob = await two_members(world, record_count=1)
    world.clock.advance(30_000)
    await world.expire()
    assert acquired(await bob.fetch()) == [(0, 0, 2)]

    # When
    world.clock.advance(30_000)
    await world.expire()

    # Then
    assert world.observer.counts["share_archived", "delivery_limit"] == 1
    assert acquired(await bob.fetch(max_wait_ms=0)) == []


async def test_a_changed_lock_duration_spares_the_locks_already_taken() -> None:
    # Given
    world = ShareGroupWorld()
    await two_members(world)

    # When
    world.configure("share.record.lock.duration.ms", "15000")

    # Then
    assert world.groups.next_deadline_ms() == 31_000
    world.clock.advance(15_000)
    await world.expire()
    assert world.observer.counts[("share_lock_timeouts",)] == 0


# ---- who did it


async def test_a_lost_connection_names_the_member_as_it_showed_itself_in_its_heartbeats() -> None:
    # Given
    world = ShareGroupWorld()
    alice, _ = await two_members(world)
    await alice.heartbeat(0, ["orders"])
    await alice.open(max_records=5)

    # When
    await alice.disconnect()

    # Then
    assert world.state_log.actors == [
        (Actor(Cause.SESSION_CLOSE, "alice", "client", "/127.0.0.1", ((0, 4),)),)
    ]


async def test_a_lock_that_ends_names_the_member_that_held_it_and_its_client() -> None:
    # Given
    world = ShareGroupWorld()
    await two_members(world)
    world.clock.advance(30_000)

    # When
    await world.expire()

    # Then
    assert world.state_log.actors == [
        (Actor(Cause.LOCK_TIMEOUT, "alice", "client", "/127.0.0.1", ((0, 4),)),)
    ]


async def test_a_lock_that_outlasts_its_member_names_its_client_all_the_same() -> None:
    # Given
    world = ShareGroupWorld()
    alice, _ = await two_members(world)
    await alice.heartbeat(0, ["orders"])
    await alice.open(max_records=5)
    await alice.heartbeat(-1)
    world.clock.advance(30_000)

    # When
    await world.expire()

    # Then
    ((actor,),) = world.state_log.actors
    assert (actor.member_id, actor.client_id, actor.client_host) == ("alice", "client", "/127.0.0.1")
