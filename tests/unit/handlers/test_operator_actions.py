"""What an operator does to share groups, with members at work."""

import asyncio
import time
from itertools import pairwise

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    FencedLeaderEpoch,
    InvalidRecordState,
    SharePartitionNotLoaded,
    ShareSessionNotFound,
    StateLogUnavailable,
    StateNotWritten,
    UnwritableStateRecord,
)
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.handlers.operator_actions import SettledRun
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.operators.settlement import OperatorAction
from kproxy.share.record_state import RecordState
from kproxy.statelog.actors import Actor, Cause
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import turns_during, until_all_wait

GROUP, ALICE = GroupId("g"), MemberId("alice")
RELEASE = 2
WHY = "archive by root@/127.0.0.1: poison"


async def alice_holds(world: ShareGroupWorld, record_count: int = 5) -> Member:
    await world.initialize()
    world.produce(record_count)
    alice = world.member("alice")
    await alice.open(max_records=record_count)
    return alice


async def test_what_is_archived_is_durable_with_whom_it_was_taken_from_and_why() -> None:
    # Given
    world = ShareGroupWorld()
    await alice_holds(world)

    # When
    changed = await world.groups.operators.settle(world.key(), OperatorAction.ARCHIVE, [(1, 2)], reason=WHY)

    # Then
    [run] = changed
    assert (run.first_offset, run.last_offset, run.member_id, run.client_id) == (1, 2, "alice", "client")
    assert (run.state_before, run.state_after) == (RecordState.ACQUIRED, RecordState.ARCHIVED)
    assert world.state_log.actors[-1] == (
        Actor(Cause.OPERATOR, "alice", "client", "/127.0.0.1", ((1, 2),), reason=WHY),
    )
    assert world.observer.counts[("share_archived", "operator")] == 2


async def test_who_held_it_hears_what_is_heard_when_a_lock_ran_out() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await alice_holds(world)
    await world.groups.operators.settle(world.key(), OperatorAction.ARCHIVE, [(1, 2)], reason=WHY)

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(1, 1, [1])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.INVALID_RECORD_STATE}


async def test_what_is_released_is_given_to_another_member_at_the_next_attempt() -> None:
    # Given
    world = ShareGroupWorld()
    await alice_holds(world)
    bob = world.member("bob")
    await bob.open()

    # When
    await world.groups.operators.settle(world.key(), OperatorAction.RELEASE, [(0, 1)], reason=WHY)

    # Then
    assert acquired(await bob.fetch(max_wait_ms=0)) == [(0, 1, 2)]


async def test_a_plan_changes_nothing() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await alice_holds(world)

    # When
    planned = world.groups.operators.plan(world.key(), OperatorAction.ACCEPT, [(0, 4)])

    # Then
    assert [run.state_after for run in planned] == [RecordState.ACKNOWLEDGED]
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 4, [2])]})
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


async def test_what_is_told_of_thousands_of_runs_is_made_when_it_is_told() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await alice_holds(world, 2_000)
    await alice.acknowledge({(ORDERS, 0): [(offset, offset, [RELEASE]) for offset in range(0, 2_000, 2)]})

    # When
    told, planning_s, telling_s = list[SettledRun](), list[float](), list[float]()
    for _ in range(5):
        began_s = time.thread_time()
        planned = world.groups.operators.plan(world.key(), OperatorAction.ARCHIVE, [(0, 1_999)])
        planned_s = time.thread_time()
        told = list(planned)
        planning_s.append(planned_s - began_s)
        telling_s.append(time.thread_time() - planned_s)

    # Then
    assert [run.first_offset for run in told] == list(range(2_000))
    assert min(planning_s) < 2 * min(telling_s)


async def test_of_all_that_operators_ask_for_at_once_a_turn_has_one() -> None:
    # Given
    world = ShareGroupWorld()
    await alice_holds(world, 5)
    written = list[int]()

    async def look_in_each_turn() -> None:
        while len(world.state_log.actors) < written[0] + 5:
            await asyncio.sleep(0)
            written.append(len(world.state_log.actors))

    # When
    written.append(len(world.state_log.actors))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(look_in_each_turn())
        for offset in range(5):
            settle = world.groups.operators.settle
            tasks.create_task(settle(world.key(), OperatorAction.ACCEPT, [(offset, offset)], reason=WHY))

    # Then
    assert max(later - earlier for earlier, later in pairwise(written)) == 1


async def test_what_cannot_be_done_with_one_record_is_done_with_none() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await alice_holds(world)
    await alice.acknowledge({(ORDERS, 0): [(3, 3, [2])]})

    # When
    with pytest.raises(InvalidRecordState, match="offset 3 is Available"):
        await world.groups.operators.settle(world.key(), OperatorAction.ACCEPT, [(2, 3)], reason=WHY)

    # Then
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 2, [1])]})
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


async def test_what_the_log_refused_is_held_again() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await alice_holds(world)
    world.state_log.persist_failure = StateNotWritten("refused")

    # When
    with pytest.raises(StateNotWritten):
        await world.groups.operators.settle(world.key(), OperatorAction.ARCHIVE, [(0, 0)], reason=WHY)

    # Then
    world.state_log.persist_failure = None
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 4, [1])]})
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


async def test_records_that_stay_available_because_the_log_refused_wake_who_waits_for_them() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice, bob = await alice_holds(world, 1), world.member("bob")
    await bob.open()
    await alice.acknowledge({(ORDERS, 0): [(0, 0, [RELEASE])]})
    world.state_log.hold_writes = asyncio.Event()

    async def archive() -> None:
        with pytest.raises(StateNotWritten):
            await world.groups.operators.settle(world.key(), OperatorAction.ARCHIVE, [(0, 0)], reason=WHY)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(archive())
        await until_all_wait()
        fetch = tasks.create_task(bob.fetch(max_wait_ms=30_000))
        await until_all_wait()

        # When
        world.state_log.refuse_held_writes(StateNotWritten("refused"))
        world.state_log.hold_writes = None
        async with asyncio.timeout(5):
            fetched = await fetch

    # Then
    assert acquired(fetched) == [(0, 0, 2)]


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (StateNotWritten("refused"), "nothing was changed: refused"),
        (
            StateLogUnavailable("silent"),
            "whether it was done is not known: silent; look again before you repeat it",
        ),
        (
            FencedLeaderEpoch("lost"),
            "whether it was done is not known: lost; look again before you repeat it",
        ),
    ],
)
async def test_whether_it_was_done_is_said_as_far_as_it_is_known(refusal: ApiError, told: str) -> None:
    # Given
    world = ShareGroupWorld()
    await alice_holds(world)
    world.state_log.persist_failure = refusal

    # When
    with pytest.raises(StateLogUnavailable) as raised:
        await world.groups.operators.settle(world.key(), OperatorAction.ARCHIVE, [(0, 0)], reason=WHY)

    # Then
    assert str(raised.value) == told


async def test_what_another_member_acquired_before_the_log_refused_is_not_told_as_unchanged() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await alice_holds(world, 2)
    bob = world.member("bob")
    await bob.open()
    world.state_log.hold_writes = asyncio.Event()

    async def release() -> str:
        with pytest.raises(StateNotWritten) as raised:
            await world.groups.operators.settle(world.key(), OperatorAction.RELEASE, [(0, 1)], reason=WHY)
        return str(raised.value)

    async with asyncio.TaskGroup() as tasks:
        releasing = tasks.create_task(release())
        await until_all_wait()
        fetching = tasks.create_task(bob.fetch(max_wait_ms=0))
        await until_all_wait()

        # When
        world.state_log.refuse_held_writes(StateNotWritten("refused"))
        world.state_log.hold_writes = None

    # Then
    assert acquired(fetching.result()) == [(0, 1, 2)]
    assert releasing.result() == (
        "it is not in the log: refused; but by now offset 0 is Acquired by 'bob': look again"
    )


async def test_who_asked_hears_that_what_could_not_be_taken_back_is_held_by_nobody() -> None:
    # Given
    world = ShareGroupWorld()
    await alice_holds(world)
    world.state_log.persist_failure = UnwritableStateRecord("too large")

    # When
    with pytest.raises(UnwritableStateRecord) as raised:
        await world.groups.operators.settle(world.key(), OperatorAction.ARCHIVE, [(0, 0)], reason=WHY)

    # Then
    assert str(raised.value) == (
        "it is not in the log: too large; but all that was in flight of the partition is let go of, so that nobody "
        "holds any of it, and what is not done with is delivered again: look again"
    )


async def test_who_asked_hears_that_the_slot_was_lost_before_what_was_live_of_it_is_let_go_of() -> None:
    # Given
    world = ShareGroupWorld()
    await alice_holds(world)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        archiving = tasks.create_task(refused_archive(world))
        await until_all_wait()
        world.groups.directory.end(group_ids=[GroupId("g")])
        world.state_log.refuse_held_writes(StateNotWritten("its slot was lost"))

    # Then
    assert archiving.result().startswith(
        "it is not in the log: its slot was lost; but all that was in flight of the partition is let go of"
    )


async def refused_archive(world: ShareGroupWorld) -> str:
    """Return what is said to who archives the first record, which is refused."""
    with pytest.raises(StateNotWritten) as raised:
        await world.groups.operators.settle(world.key(), OperatorAction.ARCHIVE, [(0, 0)], reason=WHY)
    return str(raised.value)


async def test_what_nobody_fetches_from_cannot_be_settled_and_the_remedy_is_told() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()

    # When
    with pytest.raises(
        SharePartitionNotLoaded, match=r"nobody fetches from it now.*let a member of the group fetch first"
    ):
        world.groups.operators.plan(world.key(), OperatorAction.ARCHIVE, [(0, 0)])

    # Then
    assert not world.state_log.actors


async def test_a_session_that_is_ended_gives_back_what_was_held_in_it() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await alice_holds(world)
    bob = world.member("bob")
    await bob.open()
    operators = world.groups.operators
    sessions = operators.sessions_of(GROUP, ALICE)
    held = [await operators.held_count(session) for session in sessions]

    # When
    await operators.end(sessions, reason=WHY)

    # Then
    assert held == [5]
    assert acquired(await bob.fetch(max_wait_ms=0)) == [(0, 4, 2)]
    assert world.state_log.actors[-1] == (
        Actor(Cause.OPERATOR, "alice", "client", "/127.0.0.1", ((0, 4),), reason=WHY),
    )
    assert (await alice.fetch()).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_others_have_turns_while_the_records_of_a_wide_session_are_counted() -> None:
    # Given
    world = await world_with_orders(partition_count=2 * MOST_AT_ONCE)
    alice = world.member("alice")
    await alice.open(*[(ORDERS, partition) for partition in range(2 * MOST_AT_ONCE)])
    [session] = world.groups.operators.sessions_of(GROUP, ALICE)

    # When
    turn_count = await turns_during(world.groups.operators.held_count(session))

    # Then
    assert turn_count >= 2


async def test_an_end_of_sessions_that_the_log_refused_is_told() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await alice_holds(world)
    operators = world.groups.operators
    world.state_log.persist_failure = StateNotWritten("refused")

    # When
    with pytest.raises(StateLogUnavailable) as raised:
        await operators.end(operators.sessions_of(GROUP, ALICE), reason=WHY)

    # Then
    assert str(raised.value) == (
        "the share sessions are ended, and what was held of 1 share-partition could not be taken back: refused; "
        "look again: it is held until its locks end, or is delivered again"
    )
    assert (await alice.fetch()).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_a_member_without_a_session_has_none_to_be_ended() -> None:
    # Given
    world = ShareGroupWorld()
    await alice_holds(world)

    # When
    with pytest.raises(ShareSessionNotFound) as raised:
        world.groups.operators.sessions_of(GROUP, ALICE, node_id=7)

    # Then
    assert str(raised.value) == "member 'alice' of 'g' has no share session with broker 7"
