"""Very many states that are begun at once: in portions, each of which may be the last that is wanted."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorNotAvailable
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.net.state_log.durable_state_log import INITIALIZED_AT_ONCE
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import StateEpoch
from tests.event_loops import async_fixture
from tests.unit.net.state_log.test_durable_state_log import HERE, Ports
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.share_offset_requests import delete
from tests.worlds.state_logs import StateLogBacking
from tests.worlds.waiting import turns_during, until, until_all_wait


@async_fixture
async def ports(backing: StateLogBacking) -> AsyncIterator[Ports]:
    """The ports over slots that are loaded."""
    yield Ports(backing, await backing.ready_slots())


def very_many() -> list[PartitionInitialization]:
    """More than two portions."""
    keys = (HERE._replace(partition=number) for number in range(2 * INITIALIZED_AT_ONCE + 1))
    return [PartitionInitialization(key, StateEpoch(0), 0) for key in keys]


def state_count(ports: Ports) -> int:
    return sum(slot.status().key_count for slot in ports.slots.all())


async def test_very_many_states_are_begun_in_portions(ports: Ports) -> None:
    # Given
    counts: list[int] = []

    # When
    failures = await ports.states.initialize(very_many(), lambda: counts.append(state_count(ports)))

    # Then
    assert failures == {}
    assert counts == [0, INITIALIZED_AT_ONCE, 2 * INITIALIZED_AT_ONCE]
    assert state_count(ports) == len(very_many())


async def test_others_go_on_while_very_many_states_are_begun(ports: Ports) -> None:
    wanted = very_many()

    assert await turns_during(ports.states.initialize(wanted)) > len(wanted) // MOST_AT_ONCE


async def test_what_nobody_wants_any_more_is_not_begun(ports: Ports) -> None:
    # Given
    doubts: list[ApiError] = []

    def require_wanted() -> None:
        if state_count(ports):
            doubts.append(CoordinatorNotAvailable("the group was deleted meanwhile"))
            raise doubts[0]

    # When
    with pytest.raises(CoordinatorNotAvailable, match="deleted"):
        await ports.states.initialize(very_many(), require_wanted)
    await ports.slots.drain(10)

    # Then
    assert len(doubts) == 1
    assert state_count(ports) == INITIALIZED_AT_ONCE


async def test_who_is_cancelled_while_very_many_states_are_begun_begins_no_more_of_them(ports: Ports) -> None:
    # Given
    task = asyncio.get_running_loop().create_task(ports.states.initialize(very_many()))
    await until(lambda: state_count(ports) > 0)

    # When
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ports.slots.drain(10)

    # Then
    assert INITIALIZED_AT_ONCE <= state_count(ports) <= 2 * INITIALIZED_AT_ONCE


async def test_states_of_slots_that_are_not_there_fail(ports: Ports) -> None:
    # Given
    ports.directory.close("the state topics are gone")

    # When
    failures = await ports.states.initialize(very_many())

    # Then
    assert len(failures) == len(very_many())
    assert {type(failure) for failure in failures.values()} == {CoordinatorNotAvailable}


async def test_what_takes_too_long_is_left_to_the_next_heartbeat(
    ports: Ports, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr("kproxy.net.state_log.durable_state_log.INITIALIZE_SECONDS", -1.0)

    # When
    failures = await ports.states.initialize(very_many())

    # Then
    assert state_count(ports) == INITIALIZED_AT_ONCE
    assert len(failures) == len(very_many()) - INITIALIZED_AT_ONCE
    assert {type(failure) for failure in failures.values()} == {CoordinatorNotAvailable}


async def test_states_that_were_deleted_while_they_were_begun_again_are_not_begun_once_more() -> None:
    """Another heartbeat began them after the retry interval, and was through before the first one went on."""
    # Given
    world = ShareGroupWorld(passes_time=False)
    first_may_go_on = world.state_log.hold_initializations = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        joining = tasks.create_task(world.member("alice").heartbeat(0, ["orders"]))
        await until_all_wait()
        world.state_log.hold_initializations = None
        world.clock.advance(30_000)
        await world.member("bob").heartbeat(0, ["orders"])
        begun = set(world.state_log.memory.fold.states)
        await world.member("alice").heartbeat(-1)
        await world.member("bob").heartbeat(-1)
        await delete(world, "orders")

        # When
        first_may_go_on.set()

    # Then
    assert begun == {world.key()}
    assert joining.result().error_code != ErrorCode.NONE
    assert world.state_log.memory.fold.states == {}
