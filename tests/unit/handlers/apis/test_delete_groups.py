"""DeleteGroups: share groups without members go, with all that is theirs; of other groups nothing is said."""

import asyncio
from collections.abc import Mapping

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress
from kproxy.handlers.administration_bounds import MOST_TOLD_WHY, AdministrationBounds
from kproxy.handlers.apis.delete_groups import refuse_deletions
from kproxy.handlers.authorization import NO_CLOSED_TOPICS
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.handlers.live.share_partitions import SharePartitionDirectory
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeleteGroupsResponse
from tests.worlds.group_coordinators import coordinate_groups_at
from tests.worlds.share_group_world import ShareGroupWorld


async def deleted(world: ShareGroupWorld, *names: str, node_id: int = 1) -> dict[str, int]:
    """The error code of each group that kproxy answered for."""
    answer = await world.serve(DeleteGroupsRequest(list(names)), ApiKey.DELETE_GROUPS, 2, node_id=node_id)
    assert isinstance(answer, DeleteGroupsResponse)
    assert len({result.group_id for result in answer.results}) == len(answer.results)
    return {result.group_id: result.error_code for result in answer.results}


async def left_group(world: ShareGroupWorld, group_id: str = "g") -> None:
    """A share group whose member has left."""
    member = world.member(group_id=group_id)
    await member.heartbeat(0, ["orders"])
    await member.heartbeat(-1)


async def test_share_groups_are_answered_and_others_are_not() -> None:
    world = ShareGroupWorld()
    await left_group(world, "left")
    await world.member(group_id="busy").heartbeat(0, ["orders"])

    answered = await deleted(world, "busy", "consumers", "left", "busy")

    assert answered == {"busy": ErrorCode.NON_EMPTY_GROUP, "left": ErrorCode.NONE}
    assert world.groups.coordinator.group_ids == ("busy",)
    assert world.observer.reasons == ["non_empty_group"]


async def test_a_deleted_group_is_no_share_group_any_more() -> None:
    world = ShareGroupWorld()
    await left_group(world)

    answered = [await deleted(world, "g") for _ in range(2)]

    assert answered == [{"g": ErrorCode.NONE}, {}]


async def test_a_group_is_deleted_on_the_port_of_its_coordinator_only() -> None:
    world = ShareGroupWorld(node_ids=(1, 2))
    coordinate_groups_at(world, 2)
    member = world.member(node_id=2)
    await member.heartbeat(0, ["orders"])
    await member.heartbeat(-1)

    answered = [await deleted(world, "g", node_id=node_id) for node_id in (1, 2)]

    assert answered == [{"g": ErrorCode.NOT_COORDINATOR}, {"g": ErrorCode.NONE}]


async def test_while_its_slot_is_loaded_nobody_knows_whether_it_is_a_share_group() -> None:
    world = ShareGroupWorld()
    world.group_log.unreadiness = CoordinatorLoadInProgress("loading")

    assert await deleted(world, "g") == {"g": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}


async def test_the_group_of_kproxys_own_fleet_is_nobodys_to_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given: what is closed where nobody says what is
    monkeypatch.setattr(NO_CLOSED_TOPICS, "groups", frozenset({"the-fleet"}))
    world = ShareGroupWorld()
    await left_group(world, "left")

    # When
    answered = await deleted(world, "the-fleet", "consumers", "left")

    # Then
    assert answered == {"the-fleet": ErrorCode.GROUP_AUTHORIZATION_FAILED, "left": ErrorCode.NONE}


async def test_a_fault_is_told_of_every_group() -> None:
    world = ShareGroupWorld()

    (entry,) = [api for api in world.groups.apis.partial_entries if api.api_key == ApiKey.DELETE_GROUPS]
    refusal = entry.refusal_of(DeleteGroupsRequest(["a", "b", "a"]), ErrorCode.UNKNOWN_SERVER_ERROR, "fault")

    assert isinstance(refusal, DeleteGroupsResponse)
    assert [(result.group_id, result.error_code, result.error_message) for result in refusal.results] == [
        ("a", ErrorCode.UNKNOWN_SERVER_ERROR, "fault"),
        ("b", ErrorCode.UNKNOWN_SERVER_ERROR, "fault"),
    ]


async def test_others_have_turns_while_very_many_groups_are_deleted() -> None:
    world = ShareGroupWorld()
    group_ids = [f"g{number}" for number in range(2 * MOST_AT_ONCE)]
    for group_id in group_ids:
        await left_group(world, group_id)
    turns: list[int] = []

    async def watch() -> None:
        while left := len(world.groups.coordinator.group_ids):
            turns.append(left)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch())
        await asyncio.sleep(0)
        answered = await deleted(world, *group_ids)

    assert set(answered.values()) == {ErrorCode.NONE}
    assert min(turns) <= MOST_AT_ONCE


async def test_share_partitions_are_gone_through_once_for_many_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = ShareGroupWorld()
    group_ids = [f"g{number}" for number in range(20)]
    for group_id in group_ids:
        await left_group(world, group_id)
    passes: list[None] = []
    known_keys = SharePartitionDirectory.known_keys

    def counted(directory: SharePartitionDirectory) -> Mapping[SharePartitionKey, object]:
        passes.append(None)
        return known_keys(directory)

    monkeypatch.setattr(SharePartitionDirectory, "known_keys", counted)

    await deleted(world, *group_ids)

    assert len(passes) <= 2


async def test_a_request_that_names_too_many_groups_is_refused_as_a_whole() -> None:
    world = ShareGroupWorld()
    await left_group(world)

    answered = await deleted(
        world, "g", *(f"g{number}" for number in range(AdministrationBounds().most_named))
    )

    assert set(answered.values()) == {ErrorCode.INVALID_REQUEST}
    assert len(answered) == AdministrationBounds().most_named + 1
    assert world.groups.coordinator.group_ids == ("g",)


async def test_a_request_with_very_long_names_is_refused_before_they_are_hashed() -> None:
    """Which slot a group belongs to costs a look at each character, and eight megabytes of them half a second."""
    world = ShareGroupWorld()

    answered = await deleted(world, *(f"{number} ".ljust(32_000, "g") for number in range(40)))

    assert set(answered.values()) == {ErrorCode.INVALID_REQUEST}
    assert world.observer.reasons == ["invalid_request"]


def test_a_refusal_of_very_many_groups_tells_the_first_thousand_why() -> None:
    request = DeleteGroupsRequest([f"g{number}" for number in range(MOST_TOLD_WHY + 1)])

    answer = refuse_deletions(request, ErrorCode.INVALID_REQUEST, "too many")

    assert [each.error_message for each in answer.results] == ["too many"] * MOST_TOLD_WHY + [None]
    assert {each.error_code for each in answer.results} == {ErrorCode.INVALID_REQUEST}
