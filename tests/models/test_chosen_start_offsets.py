"""Where a share-partition begins is chosen once (`share.auto.offset.reset`), whatever happens after the choice."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateNotWritten
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld, acquired, partitions_of
from tests.worlds.waiting import until_all_wait

KEY = ShareGroupWorld.key()


async def test_a_chosen_start_offset_outlives_a_crash_before_anything_was_acknowledged() -> None:
    """With `latest`, the default, a second choice would lie behind records that members held already."""
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    world.produce(5)
    alice = world.member()
    await alice.open(max_records=500)
    world.produce(3)
    await alice.fetch()

    # When
    world.restart()
    answer = await world.member("bob").open(max_records=500)

    # Then
    assert acquired(answer) == [(5, 7, 1)]


async def test_a_start_offset_is_chosen_again_as_long_as_none_became_durable() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    world.state_log.persist_failure = StateNotWritten("refused")
    alice = world.member()
    failed = await alice.fetch(add=[(ORDERS, 0)], max_wait_ms=0)

    # When
    world.state_log.persist_failure = None
    world.produce(5)
    await alice.fetch(max_wait_ms=0)

    # Then
    assert partitions_of(failed)[ORDERS, 0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    live = world.groups.directory.find(KEY)
    assert live is not None
    assert live.start_offset == 5


async def test_a_start_offset_that_nobody_used_is_chosen_again_once_all_have_left() -> None:
    """As at a broker, which writes none before it writes what a member did: `earliest` may be set meanwhile."""
    # Given
    world = ShareGroupWorld()
    world.produce(3)
    await world.initialize(start_offset=-1)
    alice = world.member()
    await alice.open(max_records=500)
    await alice.acknowledge(epoch=-1)
    world.configure("share.auto.offset.reset", "earliest")

    # When
    answer = await world.member("bob").open(max_records=500)

    # Then
    assert acquired(answer) == [(0, 2, 1)]


async def test_a_start_offset_is_kept_once_a_member_held_a_record() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    alice = world.member()
    await alice.open(max_records=500)
    world.produce(3)
    await alice.fetch()
    await alice.acknowledge(epoch=-1)

    # When
    answer = await world.member("bob").open(max_records=500)

    # Then
    assert acquired(answer) == [(0, 2, 2)]


async def test_a_start_offset_is_kept_while_records_are_held_of_a_partition_that_all_members_forgot() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    alice = world.member()
    await alice.open(max_records=500)
    world.produce(3)
    held = acquired(await alice.fetch())
    await alice.fetch(forget=[(ORDERS, 0)], max_wait_ms=0)
    await alice.disconnect()

    # When
    answer = await world.member("bob").open(max_records=500)

    # Then
    assert held == [(0, 2, 1)]
    assert acquired(answer) == held, "nothing was written of it, and it is not passed over"


@pytest.mark.parametrize("what_happens", ["the process is killed", "the slot is lost"])
async def test_a_start_offset_is_kept_that_somebody_may_have_used_before_it_was_loaded_again(
    what_happens: str,
) -> None:
    """Nobody knows any more whether records from there were held. Those of alice were, when she was last seen."""
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    alice = world.member()
    await alice.open(max_records=500)
    world.produce(3)
    await alice.fetch()
    if what_happens == "the process is killed":
        world.restart()
    else:
        lose_slot(world)
    await look_in_vain(world.member("bob"))
    await alice.disconnect()

    # When
    answer = await world.member("carol").open(max_records=500)

    # Then
    assert acquired(answer) == [(0, 2, 1)]


async def test_a_start_offset_that_nobody_used_is_kept_when_others_may_have_had_the_slot_meanwhile() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    alice = world.member()
    await alice.open(max_records=500)
    await alice.acknowledge(epoch=-1)
    lose_slot(world)
    world.produce(3)

    # When
    answer = await world.member("bob").open(max_records=500)

    # Then
    assert acquired(answer) == [(0, 2, 1)]


def lose_slot(world: ShareGroupWorld) -> None:
    """Do what the shell does when it is not sure of the slot any more."""
    world.groups.discard_live(tuple(world.groups.directory.known_group_ids()))


async def look_in_vain(member: Member) -> None:
    """Let a member leave whose fetch was answered before the share-partition was loaded."""
    log = member.world.state_log
    log.hold_loads = asyncio.Event()
    await member.fetch(add=[(ORDERS, 0)], max_wait_ms=0)
    log.hold_loads.set()
    log.hold_loads = None
    await until_all_wait()
    assert member.world.groups.directory.find(KEY) is not None
    await member.acknowledge(epoch=-1)
