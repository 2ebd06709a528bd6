"""Requests divided by owners: who is asked, what a peer costs that cannot be, and what stays bounded.

That the answers are those of one process is `tests/models/test_divided_requests.py`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.fleet.fleet_apis import NO_ANSWER, PEER_UNAVAILABLE
from kproxy.handlers.request_context import UnlimitedAnswers
from kproxy.share.identifiers import GroupId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from kproxy.wire.messages.alter_share_group_offsets_response import AlterShareGroupOffsetsResponse
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeleteGroupsResponse
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.join_group_response import JoinGroupResponse
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ListConfigResourcesResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import DescribedGroup, ShareGroupDescribeResponse
from tests.worlds.divided_fleet import DividedFleet, a_context, a_group_with_a_member
from tests.worlds.group_coordinators import coordinate_groups_at
from tests.worlds.share_group_world import ORDERS
from tests.worlds.waiting import turns_during, until_all_wait

OWNERS: Final = {"ours": 0, "theirs": 1, "others": 2}
UNAVAILABLE: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE


async def a_fleet(
    *, owner_of: Mapping[str, int] = OWNERS, bounds: AdministrationBounds | None = None
) -> DividedFleet:
    """Three processes; a member of each group."""
    fleet = DividedFleet(3, owner_of, bounds)
    for group_id in owner_of:
        for world in fleet.worlds_of(group_id):
            await a_group_with_a_member(world, group_id)
    return fleet


async def described(fleet: DividedFleet, *group_ids: str) -> Sequence[DescribedGroup]:
    request = ShareGroupDescribeRequest(group_ids=list(group_ids))
    answer = await fleet.answer(request, ApiKey.SHARE_GROUP_DESCRIBE, 1)
    assert isinstance(answer, ShareGroupDescribeResponse)
    return answer.groups


def outcomes(groups: Sequence[DescribedGroup]) -> list[tuple[str, int, int]]:
    """The id of each group, its error, and how many members are told."""
    return [(group.group_id, group.error_code, len(group.members)) for group in groups]


# ------------------------------------------------ who is asked


async def test_each_owner_is_asked_once_for_its_groups_and_they_are_told_in_the_order_asked() -> None:
    fleet = await a_fleet()
    groups = await described(fleet, "theirs", "ours", "others", "theirs")
    assert outcomes(groups) == [("theirs", 0, 1), ("ours", 0, 1), ("others", 0, 1), ("theirs", 0, 1)]
    assert [(name, asked.message) for name, asked in fleet.requests.asked] == [
        ("kproxy-1", ShareGroupDescribeRequest(group_ids=["theirs", "theirs"])),
        ("kproxy-2", ShareGroupDescribeRequest(group_ids=["others"])),
    ]


async def test_a_process_without_peers_looks_for_no_owner() -> None:
    fleet = await a_fleet()
    fleet.owners[0].gone |= {"kproxy-1", "kproxy-2"}
    assert outcomes(await described(fleet, "ours")) == [("ours", 0, 1)]
    assert fleet.owners[0].looked_up == []


async def test_a_request_about_groups_of_this_process_asks_nobody() -> None:
    fleet = await a_fleet()
    assert outcomes(await described(fleet, "ours", "ours")) == [("ours", 0, 1)] * 2
    assert fleet.requests.asked == []


async def test_all_owners_are_asked_at_the_same_time() -> None:
    # Given
    fleet = await a_fleet()
    fleet.requests.hold = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        # When
        answer = tasks.create_task(described(fleet, "others", "ours", "theirs"))
        await until_all_wait()

        # Then
        assert {name for name, _ in fleet.requests.asked} == {"kproxy-1", "kproxy-2"}
        fleet.requests.hold.set()
    assert outcomes(answer.result()) == [("others", 0, 1), ("ours", 0, 1), ("theirs", 0, 1)]


async def test_a_peer_is_asked_as_on_the_port_that_the_client_came_to() -> None:
    # Given
    fleet = await a_fleet()
    coordinate_groups_at(fleet.processes[1], 2)

    # When
    groups = await described(fleet, "theirs")

    # Then
    assert outcomes(groups) == [("theirs", ErrorCode.NOT_COORDINATOR, 0)]


async def test_a_listing_that_is_not_about_share_groups_asks_nobody() -> None:
    fleet = await a_fleet()
    request = ListGroupsRequest(types_filter=["classic"])
    assert await fleet.answer(request, ApiKey.LIST_GROUPS, 5) == ListGroupsResponse()
    assert fleet.requests.asked == []


async def test_a_group_that_two_processes_tell_of_is_listed_once() -> None:
    # Given
    fleet = await a_fleet()
    await a_group_with_a_member(fleet.processes[0], "ours")
    fleet.requests.altered = lambda answer: (
        replace(answer, groups=[*answer.groups, replace(answer.groups[0], group_id="ours")])
        if isinstance(answer, ListGroupsResponse)
        else answer
    )

    # When
    answer = await fleet.answer(ListGroupsRequest(), ApiKey.LIST_GROUPS, 5)

    # Then
    assert isinstance(answer, ListGroupsResponse)
    assert sorted(group.group_id for group in answer.groups) == ["others", "ours", "theirs"]


# ------------------------------------------------ peers that cannot be asked


async def test_of_a_peer_that_cannot_be_asked_the_groups_alone_are_refused_and_it_is_counted() -> None:
    # Given
    fleet = await a_fleet()
    fleet.requests.unreachable.add("token-1")

    # When
    groups = await described(fleet, "theirs", "ours", "others")

    # Then
    assert outcomes(groups) == [("theirs", UNAVAILABLE, 0), ("ours", 0, 1), ("others", 0, 1)]
    assert groups[0].error_message == "kproxy-1 does not answer"
    assert fleet.processes[0].observer.reasons == [PEER_UNAVAILABLE]


@pytest.mark.parametrize("types", [[], ["share"]])
async def test_a_listing_that_lacks_the_groups_of_one_process_is_an_error(types: list[str]) -> None:
    # Given
    fleet = await a_fleet()
    fleet.requests.unreachable.add("token-2")

    # When
    answer = await fleet.answer(ListGroupsRequest(types_filter=types), ApiKey.LIST_GROUPS, 5)

    # Then
    assert answer == ListGroupsResponse(error_code=UNAVAILABLE)


async def test_a_listing_of_configurations_that_lacks_those_of_one_process_is_an_error() -> None:
    fleet = await a_fleet()
    fleet.requests.unreachable.add("token-2")
    answer = await fleet.answer(ListConfigResourcesRequest(), ApiKey.LIST_CONFIG_RESOURCES, 1)
    assert answer == ListConfigResourcesResponse(error_code=UNAVAILABLE)


async def test_a_request_about_one_group_is_refused_as_a_whole() -> None:
    # Given
    fleet = await a_fleet()
    fleet.requests.unreachable.add("token-1")

    # When
    request = AlterShareGroupOffsetsRequest(group_id="theirs")
    answer = await fleet.answer(request, ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0)

    # Then
    assert answer == AlterShareGroupOffsetsResponse(
        error_code=UNAVAILABLE, error_message="kproxy-1 does not answer"
    )


async def test_a_peer_that_tells_of_fewer_groups_than_it_was_asked_for_has_told_nothing() -> None:
    # Given
    fleet = await a_fleet(owner_of={"ours": 0, "theirs": 1, "another": 1})
    fleet.requests.altered = lambda answer: (
        replace(answer, groups=answer.groups[:1])
        if isinstance(answer, ShareGroupDescribeResponse)
        else answer
    )

    # When
    groups = await described(fleet, "theirs", "ours", "another")

    # Then
    unknown = ErrorCode.UNKNOWN_SERVER_ERROR
    assert outcomes(groups) == [("theirs", unknown, 0), ("ours", 0, 1), ("another", unknown, 0)]
    assert groups[0].error_message == NO_ANSWER


async def test_a_peer_that_tells_of_a_group_that_it_was_not_asked_for_has_told_nothing() -> None:
    # Given
    fleet = await a_fleet()
    fleet.requests.altered = lambda answer: (
        replace(answer, results=[replace(answer.results[0], group_id="ours")])
        if isinstance(answer, DeleteGroupsResponse)
        else answer
    )

    # When
    answer = await fleet.answer(DeleteGroupsRequest(["theirs"]), ApiKey.DELETE_GROUPS, 3)

    # Then
    assert isinstance(answer, DeleteGroupsResponse)
    assert [(result.group_id, result.error_code) for result in answer.results] == [
        ("theirs", ErrorCode.UNKNOWN_SERVER_ERROR)
    ]


async def test_a_fault_is_told_and_answered() -> None:
    # Given
    fleet = await a_fleet()
    fleet.requests.fault = RuntimeError("a mistake")

    # When
    groups = await described(fleet, "theirs", "ours")

    # Then
    assert {group.error_code for group in groups} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert len(fleet.faults) == 1


# ------------------------------------------------ bounds


@pytest.mark.parametrize("count", [5, 6])
async def test_a_request_counts_as_a_whole_however_many_owners_its_groups_have(count: int) -> None:
    # Given
    fleet = await a_fleet(bounds=AdministrationBounds(most_named=5))

    # When
    groups = await described(fleet, *(["ours", "theirs", "others"] * 2)[:count])

    # Then
    errors = {group.error_code for group in groups}
    assert errors == ({ErrorCode.NONE} if count <= 5 else {ErrorCode.INVALID_REQUEST})
    assert bool(fleet.requests.asked) is (count <= 5)


async def test_an_answer_ends_at_its_bound_however_many_owners_tell_of_their_groups() -> None:
    # Given
    fleet = await a_fleet(bounds=AdministrationBounds(most_told=4))

    # When
    groups = await described(fleet, "ours", "theirs", "others")

    # Then
    refused = ErrorCode.INVALID_REQUEST
    assert outcomes(groups) == [("ours", 0, 1), ("theirs", 0, 1), ("others", refused, 0)]
    assert fleet.processes[0].observer.reasons == ["invalid_request"]


async def test_a_fetch_at_a_peer_reads_no_more_than_its_answer_may_hold_here() -> None:
    # Given
    fleet = await a_fleet()
    topics = [FetchTopic(ORDERS, [FetchPartition(0)])]
    fetch = ShareFetchRequest("theirs", "m", 0, 0, max_bytes=1 << 20, max_records=9, topics=topics)
    context = replace(a_context(ApiKey.SHARE_FETCH, 2), answer_budget=FewBytes())

    # When
    answer = await fleet.answer(fetch, ApiKey.SHARE_FETCH, 2, context=context)

    # Then
    assert isinstance(answer, ShareFetchResponse)
    [(_, asked)] = fleet.requests.asked
    assert isinstance(asked.message, ShareFetchRequest)
    assert asked.message.max_bytes == 1_000


class FewBytes(UnlimitedAnswers):
    """An `AnswerBudget` that grants a kilobyte."""

    def grant(self, wanted_bytes: int) -> int:
        return min(wanted_bytes, 1_000)

    def give_back(self) -> None:
        raise AssertionError("nothing is given back")


@pytest.mark.parametrize(
    ("api_key", "version", "request_"),
    [
        (ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest([f"g{n}" for n in range(9_000)])),
        (ApiKey.DELETE_GROUPS, 3, DeleteGroupsRequest([f"g{n}" for n in range(9_000)])),
        (
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
            1,
            DescribeShareGroupOffsetsRequest(
                [DescribeShareGroupOffsetsRequestGroup(f"g{n}", []) for n in range(9_000)]
            ),
        ),
    ],
)
async def test_others_have_turns_while_a_long_request_is_divided(
    api_key: int, version: int, request_: Any
) -> None:
    # Given
    fleet = DividedFleet(2, {f"g{n}": n % 2 for n in range(9_000)})
    division = fleet.apis[0]._divisions[api_key]

    # When
    turn_count = await turns_during(division.parts(request_, fleet.owners[0]))

    # Then
    assert turn_count >= 9_000 // 500


# ------------------------------------------------ ids of share groups that peers serve


async def joined(fleet: DividedFleet) -> JoinGroupResponse:
    """Join a classic group that is called like a share group of a peer's."""
    request = JoinGroupRequest(group_id="theirs", protocol_type="consumer")
    answer = await fleet.answer(request, ApiKey.JOIN_GROUP, 5)
    assert isinstance(answer, JoinGroupResponse)
    return answer


async def test_a_classic_group_cannot_be_called_like_a_share_group_of_a_peer() -> None:
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()
    assert (await joined(fleet)).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_a_classic_group_may_be_called_like_a_share_group_that_a_peer_deleted_just_now() -> None:
    # Given
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()
    fleet.processes[1].groups.coordinator.forget(GroupId("theirs"))

    # When
    answer = await joined(fleet)

    # Then
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert "theirs" not in fleet.peer_ids[0]
    assert fleet.processes[0].observer.reasons == ["coordinator_load_in_progress"]


async def test_what_its_owner_did_not_answer_is_refused_here_and_asked_of_nobody_again() -> None:
    # Given
    fleet = await a_fleet()
    request = ShareFetchRequest(group_id="theirs", member_id="m")
    context = replace(a_context(ApiKey.SHARE_FETCH, 1), refusal="it is gone")

    # When
    answer = await fleet.answer(request, ApiKey.SHARE_FETCH, 1, context=context)

    # Then
    assert isinstance(answer, ShareFetchResponse)
    assert (answer.error_code, answer.error_message) == (UNAVAILABLE, "it is gone")
    assert not fleet.requests.asked


# ------------------------------------------------ connections


async def test_signals_of_a_connection_reach_what_serves_it_here() -> None:
    # Given
    fleet = await a_fleet()
    apis, heard = fleet.processes[0].groups.apis, list[tuple[str, int]]()
    apis.on_forsaken = lambda connection_id: heard.append(("forsaken", connection_id))
    apis.on_more_arrived = lambda connection_id: heard.append(("more", connection_id))
    member = fleet.processes[0].member(group_id="ours")
    await member.open()

    # When
    fleet.apis[0].more_arrived(5)
    fleet.apis[0].forsake(5)
    await fleet.apis[0].connection_closed(member.connection_id)

    # Then
    assert heard == [("more", 5), ("forsaken", 5)]
    assert fleet.processes[0].groups.session_count == 0
