"""AlterShareGroupOffsets: an empty group begins elsewhere (conformance case 83)."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress, StateLogUnavailable, StateNotWritten
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.actors import Actor, Cause, decode_actor
from kproxy.wire.message_schema import ZERO_UUID
from tests.in_memory.unchecked_group_namespace import UncheckedGroupNamespace
from tests.worlds.group_coordinators import coordinate_groups_at
from tests.worlds.share_group_world import (
    ORDERS,
    PAYMENTS,
    ShareGroupWorld,
    acquired,
)
from tests.worlds.share_offset_requests import (
    a_group_that_accepted,
    alter,
    altered,
    delete,
    describe_all,
    offsets_of,
)
from tests.worlds.waiting import until_all_wait

GROUP = GroupId("g")
NO_SUCH_GROUP = "nobody"


def durable_group(world: ShareGroupWorld, group_id: str = GROUP) -> ShareGroupImage | None:
    return world.group_log.replayed().durable_images().get(GroupId(group_id))


async def test_the_next_member_begins_at_the_new_offset_and_the_state_epoch_has_risen() -> None:
    # Given
    world = await a_group_that_accepted(8)
    before = world.state_log.state(world.key())

    # When
    answer = await alter(world, {"orders": {0: 3}})

    # Then
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    fetched = await alice.fetch(add=[(ORDERS, 0)])
    after = world.state_log.state(world.key())
    assert altered(answer) == {("orders", 0): ErrorCode.NONE}
    assert acquired(fetched) == [(3, 9, 1)]
    assert before is not None
    assert after is not None
    assert after.state_epoch == before.state_epoch + 1


async def test_who_altered_the_offsets_stands_in_the_log() -> None:
    # Given
    world = await a_group_that_accepted(8)

    # When
    await alter(world, {"orders": {0: 3}})

    # Then
    _, header = world.state_log.memory.records[-1].headers[-1]
    expected = Actor(Cause.ALTER_OFFSETS, client_id="client", client_host="/127.0.0.1")
    assert decode_actor(header) == expected


async def test_a_group_that_is_not_there_is_made_and_has_nothing_but_the_offsets() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=3)
    for partition in range(3):
        world.produce(10, partition=partition)

    # When
    answer = await alter(world, {"orders": {1: 6}}, group_id="new")

    # Then
    image = durable_group(world, "new")
    assert altered(answer) == {("orders", 1): ErrorCode.NONE}
    assert image is not None
    assert (image.members, image.group_epoch, image.assignment_epoch) == ({}, 1, 1), "as at a broker"
    assert image.initialized[ORDERS].partitions == {1}
    assert await offsets_of(world, group_id="new") == {("orders", 1): (6, 0, 4, 0)}


async def test_partitions_that_were_not_named_begin_where_the_auto_reset_says() -> None:
    """They are not taken for partitions added to a topic that the group knows, which begin at 0."""
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=3)
    for partition in range(3):
        world.produce(10, partition=partition)
    await alter(world, {"orders": {1: 6}})
    world.restart()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    await alice.open((ORDERS, 0), (ORDERS, 1), (ORDERS, 2))
    world.metadata.create_topic("orders", ORDERS, partition_count=4)
    world.produce(10, partition=3)
    world.clock.advance(60_000)

    # When
    await alice.heartbeat(2, ["orders"])
    await alice.open((ORDERS, 3))

    # Then
    states = [world.state_log.state(world.key(partition=number)) for number in range(4)]
    assert [state and state.start_offset for state in states] == [-1, 6, -1, 0]


async def test_a_group_with_members_is_refused_and_nothing_changes() -> None:
    # Given
    world = await a_group_that_accepted(8)
    await world.member().heartbeat(0, ["orders"])

    # When
    answer = await alter(world, {"orders": {0: 3}})

    # Then
    assert (answer.error_code, answer.responses) == (ErrorCode.NON_EMPTY_GROUP, [])
    assert answer.error_message == "The group is not empty."
    assert await offsets_of(world) == {("orders", 0): (8, 0, 2, 0)}


async def test_each_topic_and_partition_that_is_not_there_is_told_and_the_others_are_altered() -> None:
    # Given
    world = await a_group_that_accepted(8)

    # When
    answer = await alter(world, {"orders": {0: 3, 1: 3}, "unknown": {0: 3, -1: 3}})

    # Then
    assert altered(answer) == {
        ("orders", 0): ErrorCode.NONE,
        ("orders", 1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("unknown", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("unknown", -1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [topic.topic_id for topic in answer.responses] == [ORDERS, ZERO_UUID]
    assert await offsets_of(world) == {("orders", 0): (3, 0, 7, 0)}
    assert world.observer.reasons == ["unknown_topic_or_partition"]


async def test_with_a_negative_partition_nothing_is_altered() -> None:
    # Given
    world = await a_group_that_accepted(8)

    # When
    answer = await alter(world, {"orders": {0: 3, -1: 3}})

    # Then
    assert (answer.error_code, answer.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])
    assert await offsets_of(world) == {("orders", 0): (8, 0, 2, 0)}


async def test_topics_that_are_not_there_make_no_group() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answers = [await alter(world, offsets, group_id="new") for offsets in ({"unknown": {0: 3}}, {})]

    # Then
    assert [altered(answer) for answer in answers] == [{("unknown", 0): 3}, {}]
    assert world.groups.coordinator.group_ids == ()
    assert durable_group(world, "new") is None


@pytest.mark.parametrize(
    ("offset", "code", "expected"),
    [
        (-1, ErrorCode.NONE, (-1, 0, -1, 0)),
        (-2, ErrorCode.INVALID_REQUEST, (8, 0, 2, 0)),
        (2**63 - 1, ErrorCode.NONE, (2**63 - 1, 0, 10 - (2**63 - 1), 0)),
    ],
)
async def test_an_offset_is_taken_as_it_comes(
    offset: int, code: ErrorCode, expected: tuple[int, int, int, int]
) -> None:
    # Given
    world = await a_group_that_accepted(8)

    # When
    answer = await alter(world, {"orders": {0: offset}})

    # Then
    assert altered(answer) == {("orders", 0): code}
    assert await offsets_of(world) == {("orders", 0): expected}


async def test_a_deletion_that_was_interrupted_is_finished_first() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.state_log.is_away = True
    await delete(world, "orders")
    world.state_log.is_away = False

    # When
    answer = await alter(world, {"orders": {0: 3}})

    # Then
    await world.groups.tend_topics()
    image = durable_group(world)
    assert altered(answer) == {("orders", 0): ErrorCode.NONE}
    assert image is not None
    assert (image.deleting, set(image.initialized)) == ({}, {ORDERS})
    assert await offsets_of(world) == {("orders", 0): (3, 0, 7, 0)}


async def test_while_an_interrupted_deletion_cannot_be_finished_nothing_is_altered() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.state_log.is_away = True
    await delete(world, "orders")

    # When
    answer = await alter(world, {"orders": {0: 3}})

    # Then
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_a_state_that_is_not_written_is_told_and_the_group_keeps_its_offset() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.state_log.is_away = True

    # When
    answer = await alter(world, {"orders": {0: 3}})

    # Then
    world.state_log.is_away = False
    assert altered(answer) == {("orders", 0): ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert await offsets_of(world) == {("orders", 0): (8, 0, 2, 0)}


@pytest.mark.parametrize("failure", [StateLogUnavailable("no quorum"), StateNotWritten("too slow")])
async def test_no_offset_is_altered_before_the_group_is_durable(failure: StateLogUnavailable) -> None:
    # Given
    world = ShareGroupWorld()
    world.group_log.persist_failure = failure

    # When
    answer = await alter(world, {"orders": {0: 3}}, group_id="new")

    # Then
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.state_log.state(world.key("new")) is None
    assert durable_group(world, "new") is None
    assert world.groups.coordinator.group_ids == ()


async def test_the_group_is_named_by_an_id_that_can_be_one_at_the_port_of_its_coordinator() -> None:
    # Given
    world = await a_group_that_accepted(8)
    coordinate_groups_at(world, 2)

    # When
    answers = [
        await alter(world, {"orders": {0: 3}}, group_id="", node_id=1),
        await alter(world, {"orders": {0: 3}}, group_id="x" * 40_000, node_id=1),
        await alter(world, {"orders": {0: 3}}, node_id=1),
        await alter(world, {"orders": {0: 3}}, node_id=2),
    ]

    # Then
    assert [answer.error_code for answer in answers] == [
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NONE,
    ]


async def test_the_id_of_a_group_of_another_type_is_refused() -> None:
    # Given
    class Foreign(UncheckedGroupNamespace):
        async def is_foreign(self, group_id: str) -> bool:
            return group_id == NO_SUCH_GROUP

    world = ShareGroupWorld()
    world.groups = world.new_process(Foreign())

    # When
    answer = await alter(world, {"orders": {0: 3}}, group_id=NO_SUCH_GROUP)

    # Then
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.groups.coordinator.group_ids == ()


async def test_while_nobody_can_be_asked_nothing_is_altered() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.metadata.is_unavailable = True
    away = await alter(world, {"orders": {0: 3}})
    world.metadata.is_unavailable = False
    world.group_log.unreadiness = CoordinatorLoadInProgress("replaying")

    # When
    loading = await alter(world, {"orders": {0: 3}})

    # Then
    assert away.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert loading.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def test_a_request_of_far_too_many_partitions_is_refused() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answer = await alter(world, {"orders": dict.fromkeys(range(AdministrationBounds().most_named), 0)})

    # Then
    assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_several_topics_are_altered_together() -> None:
    # Given
    world = await a_group_that_accepted(8)
    world.metadata.create_topic("payments", PAYMENTS)
    world.produce(5, topic_id=PAYMENTS)

    # When
    await alter(world, {"payments": {0: 2}, "orders": {0: 0}})

    # Then
    [group] = await describe_all(world, {"g": {"orders": [0], "payments": [0]}})
    assert [topic.partitions[0].start_offset for topic in group.topics] == [0, 2]


async def test_a_group_whose_deletion_began_while_the_id_was_looked_up_is_left_alone() -> None:
    # Given
    class Slow(UncheckedGroupNamespace):
        may_answer: asyncio.Event | None = None

        async def is_foreign(self, group_id: str) -> bool:  # noqa: ARG002  # the answer is the same for all
            if self.may_answer is not None:
                await self.may_answer.wait()
            return False

    world = ShareGroupWorld()
    slow = Slow()
    world.groups = world.new_process(slow)
    may_go_on = slow.may_answer = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        altering = tasks.create_task(alter(world, {"orders": {0: 3}}))
        await until_all_wait()
        slow.may_answer = None
        alice = world.member()
        await alice.heartbeat(0, ["unknown"])
        await alice.heartbeat(-1)
        before = durable_group(world)
        world.groups.coordinator.require_empty(GROUP).begin_deletion()

        # When
        may_go_on.set()

    # Then
    answer = altering.result()
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert answer.error_message == "group 'g' is being deleted"
    assert durable_group(world) == before
    assert world.state_log.state(world.key()) is None


async def test_a_group_that_somebody_joined_while_it_was_written_keeps_its_offsets() -> None:
    # Given
    world = await a_group_that_accepted(4)
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    world.log(partition=1)
    may_go_on = world.group_log.hold_writes = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        altering = tasks.create_task(alter(world, {"orders": {0: 0}}))
        await until_all_wait()
        world.group_log.hold_writes = None
        await world.member().heartbeat(0, ["orders"])

        # When
        may_go_on.set()

    # Then
    answer = altering.result()
    assert (answer.error_code, answer.responses) == (ErrorCode.NON_EMPTY_GROUP, [])
    assert (await offsets_of(world))["orders", 0] == (4, 0, 6, ErrorCode.NONE)
