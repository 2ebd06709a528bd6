"""Very many groups of a slot come and go in one turn, and are made, and taken apart, in many."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from kproxy.handlers.groups.held_heartbeats import HeldHeartbeats
from kproxy.handlers.live.pauses import MOST_AT_FIRST, MOST_AT_ONCE
from kproxy.share.identifiers import AssignmentEpoch, GroupEpoch, GroupId, MemberEpoch, MemberId, TopicId
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import MemberImage, ShareGroupImage, StatePartitions
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.waiting import until

IDS = [GroupId(f"group {number}") for number in range(3 * MOST_AT_ONCE)]
SUBSCRIBED = frozenset({"orders"})


def a_picture(group_id: GroupId) -> ShareGroupImage:
    member = MemberImage(
        None, "client", "/127.0.0.1", SUBSCRIBED, MemberEpoch(1), MemberEpoch(0), frozenset()
    )
    return ShareGroupImage(
        group_id=group_id,
        group_epoch=GroupEpoch(1),
        assignment_epoch=AssignmentEpoch(1),
        members={MemberId("m"): member},
        target={},
        initializing={},
        initialized={},
        deleting={},
    )


PICTURES = [a_picture(group_id) for group_id in IDS]


def loaded_world() -> ShareGroupWorld:
    """Return a process that begins with these groups, in slot 0."""
    world = ShareGroupWorld(passes_time=False)
    for placed in (world.groups.coordinator.known.placed, world.groups.configs.placed):
        placed.arrange((), lambda _: 0, lambda _: 0)
    world.groups.restore_groups(PICTURES, {}, 0)
    return world


def made_count(world: ShareGroupWorld) -> int:
    return len(world.groups.coordinator.known.made())


async def test_all_groups_of_a_slot_are_there_at_once_and_made_in_portions() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    coordinator, counts = world.groups.coordinator, list[int]()

    # When
    world.groups.restore_groups(PICTURES, {})
    there = coordinator.group_ids
    while not counts or counts[-1] < len(IDS):
        counts.append(made_count(world))
        await asyncio.sleep(0)

    # Then
    assert set(there) == set(IDS)
    assert counts[0] <= MOST_AT_FIRST
    assert max(after - before for before, after in pairwise(counts)) <= MOST_AT_ONCE
    assert world.groups.coordinator.names.count == len(IDS)


async def test_groups_with_state_of_many_topics_are_made_a_few_at_a_time() -> None:
    # Given
    states = {TopicId(number.to_bytes(16)): StatePartitions("t", frozenset({0})) for number in range(800)}
    wide = [replace(picture, initialized=states) for picture in PICTURES[:100]]
    world, counts = ShareGroupWorld(passes_time=False), list[int]()

    # When
    world.groups.restore_groups(wide, {})
    while not counts or counts[-1] < len(wide):
        counts.append(made_count(world))
        await asyncio.sleep(0)

    # Then
    assert max(after - before for before, after in pairwise([0, *counts])) <= MOST_AT_ONCE * 16 // 800 + 1


async def test_a_list_of_groups_makes_none() -> None:
    # Given
    world = loaded_world()
    before = made_count(world)

    # When
    listing = asyncio.ensure_future(  # noqa: TID251 - awaited below
        world.serve(ListGroupsRequest(), ApiKey.LIST_GROUPS, 5)
    )
    await asyncio.sleep(0)
    made = made_count(world)
    listed = await listing

    # Then
    assert made == before
    assert isinstance(listed, ListGroupsResponse)
    assert {group.group_id for group in listed.groups} == set(IDS)


async def test_a_group_that_is_asked_for_is_made_at_once() -> None:
    # Given
    world = loaded_world()
    before = made_count(world)

    # When
    answer = await world.member("m", group_id=IDS[0]).heartbeat(1)

    # Then
    assert before < len(IDS)
    assert (answer.error_code, answer.member_epoch) == (0, 2), "it sees that the topic exists"


async def test_the_session_of_a_member_ends_although_its_group_was_made_later() -> None:
    # Given
    world = loaded_world()
    await until(lambda: made_count(world) == len(IDS))
    world.clock.advance(GroupLimits().session_timeout_ms)

    # When
    while (deadline_ms := world.groups.next_deadline_ms()) and deadline_ms <= world.clock.now_ms():
        await world.expire()

    # Then
    assert not any(group.members for group in world.groups.coordinator.known.made())


async def test_no_group_of_a_slot_that_was_lost_is_there_and_they_are_taken_apart_in_portions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world = loaded_world()
    await until(lambda: made_count(world) == len(IDS))
    called: list[ShareGroup] = []
    monkeypatch.setattr(HeldHeartbeats, "call_group", lambda _self, group: called.append(group))

    # When
    world.groups.forget_slot(0)
    left, at_first = world.groups.coordinator.group_ids, len(called)
    await until(lambda: len(called) == len(IDS))

    # Then
    assert left == ()
    assert at_first <= MOST_AT_FIRST
    assert world.groups.coordinator.names.count == 0


async def test_groups_that_were_not_made_before_their_slot_was_lost_are_never_made() -> None:
    # Given
    world = loaded_world()
    before = made_count(world)

    # When
    world.groups.forget_slot(0)
    for _ in range(100):
        await asyncio.sleep(0)

    # Then
    assert before < len(IDS)
    assert (made_count(world), world.groups.coordinator.group_ids) == (0, ())
    assert world.groups.coordinator.names.count == 0


async def test_a_slot_that_is_lost_and_loaded_again_in_between_has_its_groups() -> None:
    # Given
    world = loaded_world()
    await until(lambda: made_count(world) == len(IDS))

    # When
    world.groups.forget_slot(0)
    world.groups.restore_groups(PICTURES, {}, 0)
    await until(lambda: made_count(world) == len(IDS))
    for _ in range(100):
        await asyncio.sleep(0)

    # Then
    assert set(world.groups.coordinator.group_ids) == set(IDS)
    assert world.groups.coordinator.names.count == len(IDS)


async def test_what_very_many_groups_have_configured_comes_and_goes_with_their_slot() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    configs = world.groups.configs
    for placed in (world.groups.coordinator.known.placed, configs.placed):
        placed.arrange((), lambda _: 0, lambda _: 0)

    # When
    world.groups.restore_groups((), {each: {"share.auto.offset.reset": "earliest"} for each in IDS}, 0)
    before = len(configs.group_ids)
    world.groups.forget_slot(0)

    # Then
    assert before == len(IDS)
    assert not configs.group_ids
