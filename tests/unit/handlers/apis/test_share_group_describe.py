"""ShareGroupDescribe: groups as their coordinator knows them, each answered by itself."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress
from kproxy.handlers.administration_bounds import MOST_TOLD_WHY, AdministrationBounds
from kproxy.handlers.apis.share_group_describe import MOST_LOOKED_UP, refuse_description
from kproxy.handlers.live import pauses
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from tests.in_memory.scripted_rights import AskingAuthorizer, ScriptedRights
from tests.worlds.group_coordinators import coordinate_groups_at
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld
from tests.worlds.waiting import most_in_a_turn, turns_during


async def described(
    world: ShareGroupWorld, *group_ids: str, node_id: int = 1, asks_for_operations: bool = False
) -> list[DescribedGroup]:
    """What `world` says of these groups."""
    request = ShareGroupDescribeRequest(list(group_ids), asks_for_operations)
    answer = await world.serve(request, ApiKey.SHARE_GROUP_DESCRIBE, 1, node_id=node_id)
    assert isinstance(answer, ShareGroupDescribeResponse)
    return answer.groups


async def test_a_group_is_described_with_its_epochs_and_what_each_member_has() -> None:
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    await world.member().heartbeat(0, ["orders"], rack_id="north")

    (group,) = await described(world, "g")

    partitions = [TopicPartitions(ORDERS, "orders", [0, 1])]
    member = Member("alice", "north", 1, "client", "/127.0.0.1", ["orders"], Assignment(partitions))
    assert group == DescribedGroup(
        ErrorCode.NONE, None, "g", "Stable", 1, 1, "simple", [member], authorized_operations=-(1 << 31)
    )


async def test_a_group_whose_last_member_left_is_empty_however_long_that_is() -> None:
    world = ShareGroupWorld()
    member = world.member()
    await member.heartbeat(0, ["orders"])
    await member.heartbeat(-1)
    world.clock.advance(365 * 24 * 3_600_000)
    await world.expire()

    (group,) = await described(world, "g")

    assert (group.error_code, group.group_state, group.members) == (ErrorCode.NONE, "Empty", [])
    assert world.state_log.state(world.key()) is not None


async def test_each_group_is_answered_by_itself_as_often_as_it_is_named() -> None:
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])

    groups = await described(world, "nobody", "g", "", "g")

    assert [(group.group_id, group.error_code, group.error_message) for group in groups] == [
        ("nobody", ErrorCode.GROUP_ID_NOT_FOUND, "Group nobody not found."),
        ("g", ErrorCode.NONE, None),
        ("", ErrorCode.INVALID_GROUP_ID, None),
        ("g", ErrorCode.NONE, None),
    ]


async def test_a_group_of_another_type_is_told_as_such() -> None:
    world = ShareGroupWorld()
    world.namespace.foreign_ids = {"plain"}

    groups = await described(world, "plain", "nobody")

    assert [(group.error_code, group.error_message) for group in groups] == [
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group plain is not a share group."),
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group nobody not found."),
    ]


async def test_a_group_of_another_type_is_told_as_such_each_time_it_is_named() -> None:
    world = ShareGroupWorld()
    world.namespace.foreign_ids = {"plain"}

    groups = await described(world, "plain", "plain")

    assert [group.error_message for group in groups] == ["Group plain is not a share group."] * 2


async def test_while_the_cluster_says_nothing_an_unknown_group_is_one_that_nobody_has() -> None:
    world = ShareGroupWorld()
    world.namespace.foreign_ids = None

    (group,) = await described(world, "plain")

    assert (group.error_code, group.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group plain not found.",
    )


async def test_the_cluster_is_asked_about_few_groups_of_a_request() -> None:
    world = ShareGroupWorld()

    groups = await described(world, *(f"g{number}" for number in range(1_000)))

    assert len(groups) == 1_000
    assert world.namespace.looked_up == [f"g{number}" for number in range(MOST_LOOKED_UP)]


async def test_everybody_may_do_everything_when_that_is_asked_for() -> None:
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])

    (group, unknown) = await described(world, "g", "nobody", asks_for_operations=True)

    assert (group.authorized_operations, unknown.authorized_operations) == (3_400, -(1 << 31))


async def test_a_group_is_described_on_the_port_of_its_coordinator_only() -> None:
    world = ShareGroupWorld(node_ids=(1, 2))
    coordinate_groups_at(world, 2)
    await world.member(node_id=2).heartbeat(0, ["orders"])

    (here,), (there,) = [await described(world, "g", node_id=node_id) for node_id in (1, 2)]

    assert (here.error_code, here.error_message) == (
        ErrorCode.NOT_COORDINATOR,
        "node 2 coordinates group 'g'",
    )
    assert there.error_code == ErrorCode.NONE


async def test_a_group_that_is_being_restored_is_not_unknown() -> None:
    world = ShareGroupWorld()
    world.group_log.unreadiness = CoordinatorLoadInProgress("loading")

    (group,) = await described(world, "g")

    assert group.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def test_too_many_groups_are_refused_each() -> None:
    world = ShareGroupWorld()

    groups = await described(world, *["g"] * (AdministrationBounds().most_named + 1))

    assert {group.error_code for group in groups} == {ErrorCode.INVALID_REQUEST}
    assert len(groups) == AdministrationBounds().most_named + 1


async def test_an_answer_ends_where_it_would_take_too_much_memory() -> None:
    world = ShareGroupWorld(limits=ShareGroupLimits(administration=AdministrationBounds(most_told=3)))
    await world.member().heartbeat(0, ["orders"])

    groups = await described(world, "g", "g", "g")

    assert [group.error_code for group in groups] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]


async def test_others_have_a_turn_while_very_many_groups_are_described() -> None:
    world = ShareGroupWorld()
    turns: list[None] = []
    asyncio.get_running_loop().call_soon(turns.append, None)

    await described(world, *["nobody"] * AdministrationBounds().most_named)

    assert turns


async def test_what_was_refused_is_told_once_for_each_reason() -> None:
    world = ShareGroupWorld()

    await described(world, "nobody", "none")

    assert world.observer.reasons == ["group_id_not_found"]


async def test_while_share_groups_are_unavailable_every_group_says_so() -> None:
    world = ShareGroupWorld()
    world.groups.apis.set_unavailable("no state log")

    groups = await described(world, "g", "h")

    assert [(group.group_id, group.error_code) for group in groups] == [
        ("g", ErrorCode.COORDINATOR_NOT_AVAILABLE),
        ("h", ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ]


def test_the_words_of_a_refusal_are_told_to_the_first_of_very_many_groups() -> None:
    request = ShareGroupDescribeRequest(group_ids=["g"] * (MOST_TOLD_WHY + 1))

    answer = refuse_description(request, ErrorCode.INVALID_REQUEST, "too many")

    assert {group.error_code for group in answer.groups} == {ErrorCode.INVALID_REQUEST}
    assert [group.error_message for group in answer.groups] == [*["too many"] * MOST_TOLD_WHY, None]


async def test_what_members_say_of_themselves_counts_for_the_length_of_an_answer() -> None:
    # Given: a member with 100 names of 10 characters, which count for 20 entries
    world = ShareGroupWorld(limits=ShareGroupLimits(administration=AdministrationBounds(most_told=50)))
    await world.member().heartbeat(0, [f"orders-{number:03}" for number in range(100)])

    # When
    groups = await described(world, *"gggg")

    # Then
    assert [group.error_code for group in groups] == [0, 0, 0, ErrorCode.INVALID_REQUEST]


async def test_a_group_whose_members_say_too_much_is_refused_before_it_is_copied_and_ends_the_answer() -> (
    None
):
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(administration=AdministrationBounds(most_told=10)))
    await world.member().heartbeat(0, [f"orders-{number:03}" for number in range(100)])
    await world.member(group_id="small").heartbeat(0, ["orders"])

    # When
    groups = await described(world, "small", "g", "small")

    # Then
    assert [group.error_code for group in groups] == [0, 42, 42]
    assert "kproxy.share.admin.response.max.entries" in (groups[1].error_message or "")


async def test_a_group_with_more_partitions_than_an_answer_may_tell_of_is_refused() -> None:
    world = ShareGroupWorld(limits=ShareGroupLimits(administration=AdministrationBounds(most_told=10)))
    world.metadata.create_topic("orders", ORDERS, partition_count=9)
    await world.member().heartbeat(0, ["orders"])

    (group,) = await described(world, "g")

    assert (group.error_code, group.members) == (ErrorCode.INVALID_REQUEST, [])


LITTLE = 30
"""As much work as may be done before others have a turn."""


async def world_with_wide_members(monkeypatch: pytest.MonkeyPatch) -> ShareGroupWorld:
    """Three members share the partitions of a topic; what each has is long work to tell, for there is little time."""
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", LITTLE)
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=3 * 16 * LITTLE)
    members = [world.member(member_id) for member_id in ("alice", "bob", "carol")]
    for member in (*members, *members):
        await member.heartbeat(0, ["orders"])
        world.clock.advance(1_000)
    return world


async def test_others_have_a_turn_before_each_member_with_very_many_partitions_is_described(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await world_with_wide_members(monkeypatch)

    turn_count = await turns_during(described(world, "g"))

    assert turn_count >= 3


async def test_of_wide_groups_that_are_described_at_the_same_time_one_is_gone_on_with_in_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await world_with_wide_members(monkeypatch)
    begin = asyncio.Event()

    async def describe() -> None:
        await begin.wait()
        (group,) = await described(world, "g")
        assert [member.member_id for member in group.members] == ["alice", "bob", "carol"]

    assert await most_in_a_turn([describe() for _ in range(4)], begin.set) == 1


async def test_a_group_that_is_restored_while_it_is_described_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await world_with_wide_members(monkeypatch)
    describing = asyncio.get_running_loop().create_task(described(world, "g"))
    await asyncio.sleep(0)

    world.restore_groups()
    (group,) = await describing

    assert (group.error_code, group.members) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, [])


ASKS = ShareGroupDescribeRequest(["g"], include_authorized_operations=True)
DESCRIBE_GROUP = (AclOperation.DESCRIBE, ResourceType.GROUP, "g")
DESCRIBE_ORDERS = (AclOperation.DESCRIBE, ResourceType.TOPIC, "orders")


async def asked_for(rights: ScriptedRights) -> DescribedGroup:
    """What is said of a group with a member, to a client whose broker tells of `rights`."""
    authorizer = AskingAuthorizer(is_asking=False)
    world = ShareGroupWorld(authorizer=authorizer)
    await world.member().heartbeat(0, ["orders"])
    authorizer.is_asking = True
    answer = await world.serve(ASKS, ApiKey.SHARE_GROUP_DESCRIBE, 1, rights=rights)
    assert isinstance(answer, ShareGroupDescribeResponse)
    return answer.groups[0]


async def test_what_the_sender_may_do_is_told_where_its_broker_has_to_be_asked() -> None:
    rights = ScriptedRights(DESCRIBE_GROUP, DESCRIBE_ORDERS, (AclOperation.READ, ResourceType.GROUP, "g"))

    group = await asked_for(rights)

    assert group.error_code == ErrorCode.NONE
    assert group.authorized_operations == 1 << AclOperation.DESCRIBE | 1 << AclOperation.READ


async def test_nothing_is_asked_about_the_topics_of_a_group_that_the_sender_may_not_describe() -> None:
    rights = ScriptedRights(DESCRIBE_ORDERS)

    group = await asked_for(rights)

    assert group.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert DESCRIBE_ORDERS not in rights.known


async def test_a_group_of_which_it_is_not_known_what_the_sender_may_do_is_refused_alone() -> None:
    rights = ScriptedRights(DESCRIBE_GROUP, DESCRIBE_ORDERS)
    rights.untold.add(AclOperation.DELETE)

    group = await asked_for(rights)

    assert group.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert group.members == []
