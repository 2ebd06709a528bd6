"""DeleteShareGroupOffsets: a group forgets topics (conformance case 84)."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress, StateLogUnavailable
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.share.identifiers import GroupId
from kproxy.wire.message_schema import ZERO_UUID
from kproxy.wire.messages.delete_share_group_offsets_response import DeleteShareGroupOffsetsResponse
from tests.worlds.group_coordinators import coordinate_groups_at
from tests.worlds.share_group_world import ORDERS, PAYMENTS, acquired
from tests.worlds.share_offset_requests import a_group_that_accepted, alter, delete, offsets_of
from tests.worlds.waiting import until_all_wait

GROUP = GroupId("g")


def topics_of(answer: DeleteShareGroupOffsetsResponse) -> list[tuple[str, bytes, int, str | None]]:
    assert not answer.error_code, answer
    return [
        (topic.topic_name, topic.topic_id, topic.error_code, topic.error_message)
        for topic in answer.responses
    ]


async def test_the_state_is_gone_and_the_auto_reset_decides_at_the_next_subscription() -> None:
    # Given
    world = await a_group_that_accepted(8, partition_count=2)

    # When
    answer = await delete(world, "orders")

    # Then
    described = await offsets_of(world)
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    fetched = await alice.fetch(add=[(ORDERS, 0)])
    assert topics_of(answer) == [("orders", ORDERS, ErrorCode.NONE, None)]
    assert described == {}
    assert acquired(fetched) == [(0, 9, 1)]


async def test_what_was_deleted_is_gone_after_a_restart_too() -> None:
    # Given
    world = await a_group_that_accepted(8, partition_count=2)
    await delete(world, "orders")

    # When
    world.restart()

    # Then
    image = world.group_log.replayed().durable_images()[GROUP]
    assert (image.initializing, image.initialized, image.deleting) == ({}, {}, {})
    assert world.state_log.memory.fold.states == {}
    assert await offsets_of(world) == {}


async def test_topics_without_offsets_are_told_after_those_that_lost_theirs() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.metadata.create_topic("payments", PAYMENTS)

    # When
    answer = await delete(world, "unknown", "payments", "orders", "orders")

    # Then
    assert topics_of(answer) == [
        ("orders", ORDERS, ErrorCode.NONE, None),
        ("unknown", ZERO_UUID, 3, "This server does not host this topic-partition."),
        ("payments", ZERO_UUID, 3, "There is no offset information to delete."),
    ]
    assert world.observer.reasons == ["unknown_topic_or_partition"]


async def test_partitions_that_were_never_initialized_have_no_offsets() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.state_log.is_away = True
    world.metadata.create_topic("payments", PAYMENTS)
    await alter(world, {"payments": {0: 1}})
    world.state_log.is_away = False

    # When
    answer = await delete(world, "payments")

    # Then
    assert [topic.error_code for topic in answer.responses] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_a_group_with_members_is_refused_and_so_is_one_that_is_not_there() -> None:
    # Given
    world = await a_group_that_accepted(8)
    await world.member().heartbeat(0, ["orders"])

    # When
    with_members, nobody = await delete(world, "orders"), await delete(world, "orders", group_id="nobody")

    # Then
    assert (with_members.error_code, with_members.responses) == (ErrorCode.NON_EMPTY_GROUP, [])
    assert (nobody.error_code, nobody.responses) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    assert await offsets_of(world) == {("orders", 0): (8, 0, 2, 0)}


async def test_a_group_of_another_type_has_no_such_offsets_and_is_told_as_such() -> None:
    world = await a_group_that_accepted(8)
    world.namespace.foreign_ids = {"plain"}

    answer = await delete(world, "orders", group_id="plain")

    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.error_message == "Group plain is not a share group."


async def test_a_deletion_that_failed_is_told_by_topic_and_may_be_repeated() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.state_log.is_away = True
    failed = await delete(world, "orders")
    world.state_log.is_away = False
    described = await offsets_of(world)

    # When
    repeated = await delete(world, "orders")

    # Then
    assert [(topic.topic_id, topic.error_code) for topic in failed.responses] == [
        (ORDERS, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    ]
    assert described == {}
    assert topics_of(repeated) == [("orders", ORDERS, ErrorCode.NONE, None)]
    assert world.state_log.state(world.key()) is None


async def test_a_deletion_that_failed_goes_on_by_itself() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.state_log.is_away = True
    await delete(world, "orders")
    world.state_log.is_away = False
    world.restart()

    # When
    await world.groups.tend_topics()

    # Then
    assert world.state_log.state(world.key()) is None
    assert world.group_log.replayed().durable_images()[GROUP].deleting == {}


async def test_what_is_live_is_let_go_of_and_loaded_no_more() -> None:
    # Given
    world = await a_group_that_accepted(0)
    alice = world.member()
    await alice.open(max_records=10)

    # When
    await delete(world, "orders")

    # Then
    fetched = await alice.fetch()
    assert world.groups.share_partition_count == 0
    assert acquired(fetched) == []


async def test_a_deletion_that_waits_for_the_group_log_does_not_delete_what_began_anew_meanwhile() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.group_log.hold_writes = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        deletions = [tasks.create_task(delete(world, "orders")) for _ in range(2)]
        altering = tasks.create_task(alter(world, {"orders": {0: 3}}))
        await until_all_wait()

        # When
        world.group_log.hold_writes.set()

    # Then
    assert [deletion.result().error_code for deletion in deletions] == [ErrorCode.NONE] * 2
    assert altering.result().error_code == ErrorCode.NONE
    assert await offsets_of(world) == {("orders", 0): (3, 0, 7, 0)}


async def test_the_group_is_named_by_an_id_that_can_be_one_at_the_port_of_its_coordinator() -> None:
    # Given
    world = await a_group_that_accepted(8)
    coordinate_groups_at(world, 2)

    # When
    answers = [
        await delete(world, "orders", group_id="", node_id=1),
        await delete(world, "orders", node_id=1),
        await delete(world, *("orders",) * (AdministrationBounds().most_named + 1), node_id=2),
        await delete(world, "orders", node_id=2),
    ]

    # Then
    assert [answer.error_code for answer in answers] == [
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
    ]


async def test_nothing_is_deleted_before_the_group_has_said_so_durably() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.group_log.persist_failure = StateLogUnavailable("no quorum")

    # When
    answer = await delete(world, "orders")

    # Then
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.state_log.state(world.key()) is not None


async def test_while_nobody_can_be_asked_nothing_is_deleted() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.metadata.is_unavailable = True
    away = await delete(world, "orders")
    world.metadata.is_unavailable = False
    world.group_log.unreadiness = CoordinatorLoadInProgress("replaying")

    # When
    loading = await delete(world, "orders")

    # Then
    assert away.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert loading.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
