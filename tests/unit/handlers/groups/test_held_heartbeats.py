"""Heartbeats that are held: members that start together share at once, and nobody's partitions stand still."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import UnwritableStateRecord
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import GroupId
from kproxy.share.limits import GroupLimits
from tests.unit.handlers.held_heartbeat_world import DELAY_MS, HeldMember, HeldWorld
from tests.worlds.answer_budgets import NoRoomToWait
from tests.worlds.share_group_world import ORDERS
from tests.worlds.waiting import until_all_wait


def covered(world: HeldWorld) -> list[int]:
    return sorted({number for partitions in world.told().values() for number in partitions})


async def test_a_lone_member_is_told_its_partitions_after_the_delay() -> None:
    # Given
    world = HeldWorld()

    # When
    world.join("alice")
    await world.pass_time(DELAY_MS - 1)
    before = world.told()
    await world.pass_time(1)

    # Then
    assert before == {"alice": []}
    assert world.told() == {"alice": [0, 1, 2, 3]}


async def test_members_that_start_together_get_their_partitions_in_their_first_answers() -> None:
    # Given
    world = HeldWorld()
    names = [f"member-{number}" for number in range(8)]

    # When
    for name in names:
        world.join(name)
        await world.pass_time(6)
    await world.pass_time(DELAY_MS)

    # Then
    assert sorted(world.told().values()) == [[0], [0], [1], [1], [2], [2], [3], [3]]
    assert {len(world.members[name].answers) for name in names} == {1}


async def test_heartbeats_are_answered_when_their_group_is_what_is_durable_again() -> None:
    """Another member said what no log record can hold: those that wait must not hang on a group that is gone."""
    # Given
    world = HeldWorld()
    world.join("alice", "bob")
    await world.pass_time(1_000)
    world.group_log.persist_failure = UnwritableStateRecord("too large")

    # When
    world.join("carol")
    await world.pass_time(100)
    answers = {name: member.answers[-1].error_code for name, member in world.members.items()}

    # Then
    assert answers == dict.fromkeys(world.members, ErrorCode.COORDINATOR_NOT_AVAILABLE) | {
        "carol": ErrorCode.UNKNOWN_SERVER_ERROR
    }


async def test_a_killed_member_is_not_counted_on_again_because_the_write_of_another_was_refused() -> None:
    # Given
    world = HeldWorld()
    world.join("alice", "bob")
    await world.pass_time(1_000)
    await world.members["bob"].die()
    await world.pass_time(40_000)
    world.group_log.persist_failure = UnwritableStateRecord("too large")
    world.join("carol")
    await world.pass_time(100)
    world.group_log.persist_failure = None

    # When
    world.members["alice"].come_back()
    await world.pass_time(300)
    told = world.members["alice"].partitions
    await world.pass_time(6_000)
    group = world.groups.coordinator.find(GroupId("g"))

    # Then
    assert told == [0, 1, 2, 3]
    assert group is not None
    assert list(group.members) == ["alice"]


async def test_whoever_joins_later_gets_partitions_before_the_others_lose_them() -> None:
    # Given
    world = HeldWorld()
    world.join("alice")
    await world.pass_time(5_000)

    # When
    world.join("bob")
    await world.pass_time(DELAY_MS)
    at_first = world.told()
    await world.pass_time(DELAY_MS)

    # Then
    assert at_first == {"alice": [0, 1, 2, 3], "bob": [2, 3]}
    assert world.told() == {"alice": [0, 1], "bob": [2, 3]}


async def test_whoever_joins_within_the_assignment_interval_is_answered_with_partitions_when_it_is_over() -> (
    None
):
    # Given
    world = HeldWorld()
    world.join("alice")
    await world.pass_time(DELAY_MS)

    # When
    world.join("bob")
    await world.pass_time(999)
    too_soon = len(world.members["bob"].answers)
    await world.pass_time(1)

    # Then
    assert too_soon == 0
    assert world.members["bob"].partitions == [2, 3]


async def test_what_a_member_leaves_behind_is_with_another_within_the_delay() -> None:
    # Given
    world = HeldWorld()
    world.join("alice", "bob")
    await world.pass_time(4_000)

    # When
    await world.members["alice"].leave()
    await world.pass_time(DELAY_MS)

    # Then
    assert world.told() == {"bob": [0, 1, 2, 3]}


async def test_what_a_member_leaves_behind_does_not_wait_for_the_assignment_interval() -> None:
    # Given
    world = HeldWorld()
    world.join("alice", "bob", "carol")
    await world.pass_time(DELAY_MS + 10)

    # When
    await world.members["alice"].leave()
    await world.pass_time(DELAY_MS)

    # Then
    assert covered(world) == [0, 1, 2, 3]


async def test_the_partitions_of_a_killed_member_are_with_others_within_the_delay_though_it_stays_a_member() -> (
    None
):
    # Given
    world = HeldWorld(6)
    world.join("alice", "bob", "carol")
    await world.pass_time(4_000)
    group_epoch = world.groups.coordinator.describe(world.key().group_id).group_epoch

    # When
    await world.members["alice"].die()
    await world.pass_time(DELAY_MS)

    # Then
    assert covered(world) == [0, 1, 2, 3, 4, 5]
    assert sorted(map(len, world.told().values())) == [3, 3]
    view = world.groups.coordinator.describe(world.key().group_id)
    assert [member.member_id for member in view.members] == ["alice", "bob", "carol"]
    assert view.group_epoch == group_epoch


async def test_a_killed_member_is_fenced_when_its_session_times_out_and_not_kept_alive_by_its_held_heartbeat() -> (
    None
):
    # Given
    world = HeldWorld()
    world.join("alice")
    await world.pass_time(1_000)

    # When
    await world.members["alice"].die()
    await world.pass_time(44_049)
    before = len(world.groups.coordinator.describe(world.key().group_id).members)
    await world.pass_time(1)

    # Then
    assert before == 1
    assert world.groups.coordinator.describe(world.key().group_id).members == ()


async def test_a_held_heartbeat_is_answered_shortly_before_the_next_one_is_due() -> None:
    # Given
    world = HeldWorld()
    world.join("alice")
    await world.pass_time(DELAY_MS)

    # When
    await world.pass_time(4_899)
    before = len(world.members["alice"].answers)
    await world.pass_time(1)

    # Then
    assert before == 1
    assert [answer.error_code for answer in world.members["alice"].answers] == [0, 0]
    assert world.members["alice"].answers[1].assignment is None


async def test_a_held_heartbeat_is_answered_at_once_when_its_client_sends_something_behind_it() -> None:
    # Given
    world = HeldWorld()
    world.join("alice")
    await world.pass_time(1_000)
    alice = world.members["alice"]

    # When
    alice.member.caller.has_more = True
    world.groups.apis.more_arrived(alice.member.connection_id)
    await until_all_wait()

    # Then
    assert [answer.error_code for answer in alice.answers] == [0, 0]


async def test_a_heartbeat_that_takes_too_much_memory_is_not_held() -> None:
    world = HeldWorld(1)
    world.answer_budget = NoRoomToWait()
    alice = world.member("alice")

    answer = await alice.heartbeat(0, ["orders"])

    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, 1)


async def test_a_heartbeat_that_is_followed_already_is_not_held() -> None:
    # Given
    world = HeldWorld(1)
    alice = world.member("alice")
    alice.caller.has_more = True

    # When
    answer = await alice.heartbeat(0, ["orders"])

    # Then
    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, 1)


async def test_nothing_is_held_any_more_when_the_process_is_told_to_stop() -> None:
    # Given
    world = HeldWorld()
    world.join("alice")
    await world.pass_time(1_000)

    # When
    world.groups.answer_what_waits()
    await until_all_wait()

    # Then
    assert [answer.error_code for answer in world.members["alice"].answers] == [0, 0]


async def test_a_held_heartbeat_of_a_group_that_is_restored_is_told_to_try_again() -> None:
    # Given
    world = HeldWorld()
    world.join("alice")
    await world.pass_time(1_000)

    # When
    world.restore_groups()
    await until_all_wait()

    # Then
    assert world.members["alice"].answers[-1].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_a_member_that_is_removed_while_its_heartbeat_is_held_is_told_at_once() -> None:
    # Given
    world = HeldWorld()
    world.join("alice")
    await world.pass_time(1_000)

    # When
    await world.members["alice"].leave()
    await until_all_wait()

    # Then
    assert world.members["alice"].answers[-1].error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_members_that_do_not_come_back_after_a_restart_are_not_counted_on_for_longer_than_a_heartbeat() -> (
    None
):
    # Given
    world = HeldWorld()
    world.join("alice", "bob")
    await world.pass_time(1_000)
    await world.kill_and_restart()
    world.members["bob"].come_back()

    # When
    await world.pass_time(4_999)
    before = world.told()["bob"]
    await world.pass_time(200)

    # Then
    assert len(before) == 2
    assert world.told()["bob"] == [0, 1, 2, 3]


async def test_many_that_come_back_at_once_raise_no_epoch_and_change_no_more_than_a_few_assignments() -> None:
    """A broker restarts, and every connection closes: clients are back within a second."""
    # Given
    limits = ShareGroupLimits(
        group=GroupLimits(assignment_delay_ms=DELAY_MS, max_heartbeat_wait_ms=15_000, max_size=1_000)
    )
    world = HeldWorld(100, limits=limits)
    names = [f"member-{number}" for number in range(100)]
    world.join(*names)
    await world.pass_time(2_000)
    group_epoch = world.groups.coordinator.describe(world.key().group_id).group_epoch
    for name in names:
        await world.members[name].die()
    await world.pass_time(200)

    # When
    for name in names:
        world.members[name].come_back()
        await world.pass_time(5)
    await world.pass_time(200)

    # Then
    assert world.groups.coordinator.describe(world.key().group_id).group_epoch == group_epoch
    assert covered(world) == list(range(100))
    assert sum(len(member.answers) for member in world.members.values()) < 30


async def test_a_late_heartbeat_of_a_closed_connection_takes_no_partition_from_a_member_that_is_back() -> (
    None
):
    # Given
    world = HeldWorld()
    world.join("alice", "bob")
    await world.pass_time(2_000)
    before = world.told()
    await world.members["alice"].stop()
    late = world.member("alice")
    late.caller.is_gone = True
    world.members["alice"].come_back()
    await world.pass_time(200)

    # When
    await late.heartbeat(world.members["alice"].epoch)
    await world.pass_time(1_000)

    # Then
    assert world.told() == before
    assert len(world.waits) == 2


async def lose_the_connection(member: HeldMember) -> None:
    member.member.caller.is_gone = True
    await member.member.disconnect()


@pytest.mark.parametrize("go", [HeldMember.leave, lose_the_connection])
async def test_partitions_whose_state_begins_when_the_member_that_brought_them_is_gone_are_told_the_others(
    go: Callable[[HeldMember], Awaitable[None]],
) -> None:
    # Given
    world = HeldWorld()
    world.join("alice")
    await world.pass_time(100)
    may_begin = world.state_log.hold_initializations = asyncio.Event()
    world.metadata.create_topic("orders", ORDERS, partition_count=5)
    world.join("bob")
    await until_all_wait()
    await go(world.members["bob"])
    await world.pass_time(2_000)
    before = world.told()["alice"]

    # When
    may_begin.set()
    await world.pass_time(1_500)

    # Then
    assert before == [0, 1, 2, 3]
    assert world.told()["alice"] == [0, 1, 2, 3, 4]
