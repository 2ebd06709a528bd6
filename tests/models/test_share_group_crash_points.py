"""A crash at every write of every operation on a group, the write landed or not: what is left can go on.

Initializations and deletions concern two topics, the groups' and the states'; a crash between any two writes of one
is followed by a restart from both logs.
"""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.groups.topic_deletions import CONFIRMATION_MS
from kproxy.share.identifiers import MemberId
from tests.worlds.mortal_world import GROUP, MOST_WRITES, MortalWorld
from tests.worlds.share_group_world import ORDERS
from tests.worlds.waiting import until_all_wait

ALICE = MemberId("alice")

crash_points = pytest.mark.parametrize("write", range(1, MOST_WRITES + 1))
landings = pytest.mark.parametrize("does_land", [True, False], ids=["landed", "lost"])


@crash_points
@landings
@pytest.mark.parametrize("added", [False, True], ids=["first_join", "added_partitions"])
async def test_an_initialization_that_a_crash_interrupts_is_finished_by_the_next_heartbeat(
    write: int,
    does_land: bool,  # noqa: FBT001  # a parameter of the test
    added: bool,  # noqa: FBT001  # likewise
) -> None:
    # Given
    world = MortalWorld()
    if added:
        await world.member().heartbeat(0, ["orders"])
        world.metadata.create_topic("orders", ORDERS, partition_count=4)
        world.clock.advance(1_000)
    epoch_before = 1 if added else 0
    world.fate.die_at(write, does_land=does_land)
    await world.until_death(world.member().heartbeat(epoch_before, ["orders"]))

    # When
    answer = await world.member().heartbeat(epoch_before, ["orders"])

    # Then
    image = world.image()
    everything = set(range(4 if added else 2))
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_epoch >= epoch_before
    assert answer.assignment is not None
    assert set(answer.assignment.topic_partitions[0].partitions) == everything
    assert image is not None
    assert image.initializing == {}
    assert image.initialized[ORDERS].partitions == everything
    assert world.partitions_with_state() == everything


@crash_points
@landings
async def test_a_deletion_that_a_crash_interrupts_is_finished_by_the_next_look(
    write: int,
    does_land: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    # Given
    world = MortalWorld()
    await world.member().heartbeat(0, ["orders"])
    world.metadata.delete_topic(ORDERS)
    await world.groups.tend_topics()
    world.clock.advance(CONFIRMATION_MS)
    world.fate.die_at(write, does_land=does_land)
    await world.until_death(world.groups.tend_topics())

    # When
    await world.groups.tend_topics()
    world.clock.advance(CONFIRMATION_MS)
    await world.groups.tend_topics()

    # Then
    image = world.image()
    assert image is not None
    assert (image.initializing, image.initialized, image.deleting) == ({}, {}, {})
    assert world.partitions_with_state() == set()


@crash_points
@landings
async def test_a_deleted_group_that_a_crash_interrupts_is_whole_or_gone_with_all_that_is_its(
    write: int,
    does_land: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    # Given
    world = MortalWorld()
    await world.member().heartbeat(0, ["orders"])
    await world.member().heartbeat(-1)
    world.fate.die_at(write, does_land=does_land)

    # When
    has_died = await world.until_death(world.groups._group_deletions.delete([GROUP]))
    await until_all_wait()

    # Then
    image = world.image()
    is_whole = image is not None and not image.is_being_deleted
    assert is_whole == (has_died and write == 1 and not does_land)
    assert is_whole or image is None
    assert world.partitions_with_state() == ({0, 1} if is_whole else set())
    assert world.groups.coordinator.group_ids == ((GROUP,) if is_whole else ())
    answer = await world.member().heartbeat(0, ["orders"])
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_epoch == (3 if is_whole else 1)


@crash_points
@landings
@pytest.mark.parametrize("goes_by", ["leaving", "silence"])
async def test_a_departure_that_a_crash_interrupts_happened_or_did_not(
    write: int,
    does_land: bool,  # noqa: FBT001  # a parameter of the test
    goes_by: str,
) -> None:
    # Given
    world = MortalWorld()
    await world.member().heartbeat(0, ["orders"])
    world.clock.advance(45_000)
    world.fate.die_at(write, does_land=does_land)

    # When
    going = world.member().heartbeat(-1) if goes_by == "leaving" else world.expire()
    has_died = await world.until_death(going)

    # Then
    image = world.image()
    answer = await world.member().heartbeat(1)
    assert image is not None
    is_member = ALICE in image.members
    assert is_member == (has_died and not does_land)
    assert answer.error_code == (ErrorCode.NONE if is_member else ErrorCode.UNKNOWN_MEMBER_ID)
