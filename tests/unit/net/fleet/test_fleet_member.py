"""Members of a fleet in front of brokers on sockets, which say that they live in a tenth of the usual times."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.fleet.limits import FleetLimits
from kproxy.fleet.member_state import MemberState
from kproxy.net.fleet import fleet_member
from kproxy.wire.api_keys import ApiKey
from tests.event_loops import async_fixture
from tests.in_memory.group_coordinator_contract import a_group_comes_changes_and_goes
from tests.in_memory.in_memory_fleet_cluster import InMemoryFleetCluster
from tests.real_kafka.ports import ReservedPort
from tests.worlds.backing import Backing
from tests.worlds.fleet_members import SLOT_COUNT, Fleet, a_fleet

QUICK = FleetLimits(
    session_timeout_ms=6_000,
    heartbeat_interval_ms=150,
    hurried_interval_ms=30,
    rebalance_timeout_ms=10_000,
    lease_margin_ms=50,
    give_up_patience_ms=200,
)
"""A session ends only when the whole process stands still for as long."""
BRIEF = replace(QUICK, session_timeout_ms=1_500, rebalance_timeout_ms=2_000)
"""Sessions are to end."""
PATIENT = FleetLimits(
    session_timeout_ms=600_000,
    heartbeat_interval_ms=150,
    hurried_interval_ms=30,
    rebalance_timeout_ms=700_000,
)
"""No session ends while a test lasts."""

ALL = [SLOT_COUNT]


@pytest.fixture
def initial_delay_ms() -> int:
    return 0


@async_fixture
async def cluster(initial_delay_ms: int) -> AsyncIterator[InMemoryFleetCluster]:
    async with InMemoryFleetCluster(initial_delay_ms=initial_delay_ms) as cluster:
        yield cluster


@pytest.fixture
def limits() -> FleetLimits:
    return QUICK


@async_fixture
async def fleet(cluster: InMemoryFleetCluster, limits: FleetLimits) -> AsyncIterator[Fleet]:
    async with a_fleet(cluster.servers, "fleet", limits=limits) as fleet:
        yield fleet


async def test_a_single_member_owns_everything(fleet: Fleet) -> None:
    # When
    member = await fleet.start("first")

    # Then
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == ALL)
    await fleet.neighbours.until(lambda: member.fleet_member.membership.state is MemberState.SETTLED)
    assert member.fleet_member.fleet_map == member.maps[-1]
    assert member.fleet_member.problem == ""


@pytest.mark.parametrize("initial_delay_ms", [600_000])
async def test_a_single_member_serves_at_once_where_brokers_hold_the_first_join(fleet: Fleet) -> None:
    # When
    member = await fleet.start("first")

    # Then
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == ALL)
    assert member.fleet_member.membership.is_provisional
    assert member.fleet_member.problem == ""


@pytest.mark.parametrize(("initial_delay_ms", "limits"), [(300, BRIEF)])
async def test_members_that_come_dead_ones_and_those_that_leave_in_order(fleet: Fleet) -> None:
    """`a_fleet` looks all the time whether two serve one slot."""
    # Given
    neighbours = fleet.neighbours
    await fleet.start("first")
    await neighbours.until(lambda: neighbours.counts() == ALL)
    second = await fleet.start("second")
    await neighbours.until(lambda: neighbours.counts() == [4, 4])
    third = await fleet.start("third")
    await neighbours.until(lambda: neighbours.counts() == [2, 3, 3])

    # When
    await second.die()
    await neighbours.until(lambda: neighbours.counts() == [0, 4, 4])
    await third.fleet_member.leave(patience_ms=5_000)

    # Then
    await neighbours.until(lambda: neighbours.counts() == [0, 0, SLOT_COUNT])
    assert third.fleet_member.membership.state is MemberState.LEFT
    assert not third.lost


@pytest.mark.parametrize("initial_delay_ms", [0, 600_000])
@pytest.mark.parametrize("others", [0, 1])
async def test_a_member_that_was_killed_and_is_started_again_waits_for_no_session(
    cluster: InMemoryFleetCluster, others: int
) -> None:
    """No session ends while it lasts."""
    async with a_fleet(cluster.servers, "fleet", limits=PATIENT) as fleet:
        # Given
        neighbours = fleet.neighbours
        for number in range(others):
            await fleet.start(f"other {number}")
            # Two that start at once would wait for each other, and for the end of the initial delay.
            await neighbours.until(lambda: len(neighbours.served()) == SLOT_COUNT)
        killed = await fleet.start("killed")
        await neighbours.until(lambda: len(neighbours.served()) == SLOT_COUNT)
        await neighbours.until(lambda: killed.is_in(cluster.coordinator.member_ids))

        # When
        await killed.die()
        again = await fleet.start("started again")

        # Then
        await neighbours.until(lambda: not killed.is_in(cluster.coordinator.member_ids))
        await neighbours.until(lambda: again.is_in(cluster.coordinator.member_ids))
        await neighbours.until(lambda: len(neighbours.served()) == SLOT_COUNT)
        assert len(cluster.coordinator.member_ids) == 1 + others


async def test_a_member_that_may_live_on_another_machine_is_waited_for(
    cluster: InMemoryFleetCluster, tmp_path: Path
) -> None:
    async with a_fleet(cluster.servers, "fleet", limits=PATIENT) as fleet:
        # Given
        neighbours = fleet.neighbours
        silent = await fleet.start("silent", folder=tmp_path)
        await neighbours.until(lambda: silent.fleet_member.membership.state is MemberState.SETTLED)
        await silent.die()

        # When
        await fleet.start("another")
        broker = cluster.cluster.brokers[cluster.coordinator_id]
        await broker.until_asked(ApiKey.DESCRIBE_GROUPS, 6)

        # Then
        assert silent.is_in(cluster.coordinator.member_ids)
        assert neighbours.counts() == [0, 0]


@pytest.mark.parametrize("limits", [BRIEF])
async def test_the_lease_ends_by_itself_while_requests_hang(
    cluster: InMemoryFleetCluster, fleet: Fleet
) -> None:
    # Given
    member = await fleet.start("first")
    await fleet.neighbours.until(lambda: member.fleet_member.membership.state is MemberState.SETTLED)

    # When
    cluster.is_deaf = True
    began = time.perf_counter()
    await fleet.neighbours.until(lambda: bool(member.lost))

    # Then
    assert time.perf_counter() - began < 10
    assert member.lost == [
        (frozenset(range(SLOT_COUNT)), "nothing was heard of the group's coordinator in time")
    ]
    cluster.is_deaf = False
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == ALL)


async def test_a_coordinator_that_moves_is_found_again_and_nothing_is_lost(
    cluster: InMemoryFleetCluster, fleet: Fleet
) -> None:
    # Given
    member = await fleet.start("first")
    await fleet.neighbours.until(lambda: member.fleet_member.membership.state is MemberState.SETTLED)

    # When
    cluster.coordinator_id = 1
    cluster.coordinator.fail_over(loading_ms=100)
    await cluster.cluster.brokers[1].until_asked(ApiKey.HEARTBEAT, 3)

    # Then
    assert fleet.neighbours.counts() == ALL
    assert not member.lost


@pytest.mark.parametrize("limits", [BRIEF])
async def test_a_member_that_the_coordinator_forgot_joins_anew(
    cluster: InMemoryFleetCluster, fleet: Fleet
) -> None:
    # Given
    member = await fleet.start("first")
    await fleet.neighbours.until(lambda: member.fleet_member.membership.state is MemberState.SETTLED)

    # When
    cluster.refusals[ApiKey.HEARTBEAT] = [ErrorCode.UNKNOWN_MEMBER_ID]
    await fleet.neighbours.until(lambda: bool(member.lost))

    # Then
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == ALL)


async def test_a_refusal_that_does_not_pass_by_itself_is_told_once_with_what_to_do(
    cluster: InMemoryFleetCluster, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    cluster.refusals[ApiKey.JOIN_GROUP] = [ErrorCode.GROUP_AUTHORIZATION_FAILED] * 3
    problems = set()

    # When
    with caplog.at_level(logging.WARNING):
        member = await fleet.start("first")

        def is_settled() -> bool:
            problems.add(member.fleet_member.problem)
            return fleet.neighbours.counts() == ALL

        await fleet.neighbours.until(is_settled)

    # Then
    advice = "kproxy's principal needs Read and Describe on this group"
    assert f"group fleet: GROUP_AUTHORIZATION_FAILED; {advice}" in problems
    assert len([record for record in caplog.records if "fleet_not_joined" in record.getMessage()]) == 1


@pytest.mark.parametrize(("refused_count", "told_count"), [(2, 0), (4, 1)])
async def test_a_refusal_that_may_pass_is_told_once_when_it_stays(
    cluster: InMemoryFleetCluster,
    fleet: Fleet,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    refused_count: int,
    told_count: int,
) -> None:
    # Given
    monkeypatch.setattr(fleet_member, "PERSISTENT_COUNT", 3)
    cluster.refusals[ApiKey.JOIN_GROUP] = [ErrorCode.UNKNOWN_SERVER_ERROR] * refused_count
    problems = set()

    # When
    with caplog.at_level(logging.WARNING):
        member = await fleet.start("first")

        def is_settled() -> bool:
            problems.add(member.fleet_member.problem)
            return fleet.neighbours.counts() == ALL

        await fleet.neighbours.until(is_settled)

    # Then
    assert "group fleet: UNKNOWN_SERVER_ERROR" in problems
    told = [record for record in caplog.records if "fleet_not_joined" in record.getMessage()]
    assert len(told) == told_count


async def test_a_member_that_nobody_reaches_gets_no_slots_and_the_others_go_on(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    await fleet.start("first")
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == ALL)
    fleet.port = 1

    # When
    unreachable = await fleet.start("unreachable")
    await fleet.neighbours.until(lambda: bool(unreachable.maps))

    # Then
    assert fleet.neighbours.counts() == [0, SLOT_COUNT]
    fleet_map = unreachable.maps[-1]
    (refusal,) = [each.refusal for each in fleet_map.members if each.name == "unreachable"]
    assert refusal is not None
    assert "127.0.0.1:1 cannot be reached" in refusal
    assert unreachable.fleet_member.problem == f"the fleet gives this process no slots: {refusal}"
    assert any("fleet_member_refused" in record.getMessage() for record in caplog.records)


async def test_a_member_that_can_be_reached_later_gets_its_slots_then(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(fleet_member, "LOOK_AGAIN_SECONDS", 0.01)
    await fleet.start("first")
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == ALL)
    with ReservedPort() as reserved:
        fleet.port = reserved.number
        late = await fleet.start("late")
        await fleet.neighbours.until(lambda: bool(late.maps))

        # When
        listener = await asyncio.start_server(
            lambda _, writer: writer.close(), reserved.host, reserved.number
        )

        # Then
        await fleet.neighbours.until(lambda: fleet.neighbours.counts() == [4, 4])
        listener.close()


async def test_a_claim_of_a_higher_epoch_brings_a_map_above_it(fleet: Fleet) -> None:
    # Given
    member = await fleet.start("first")
    await fleet.neighbours.until(lambda: member.fleet_member.membership.state is MemberState.SETTLED)
    epoch = member.maps[-1].epoch + 1_000_000

    # When
    member.fleet_member.saw_epoch(epoch)

    # Then
    await fleet.neighbours.until(lambda: member.maps[-1].epoch > epoch)
    assert not member.lost


async def test_a_fault_of_those_who_serve_slots_does_not_cost_the_membership(fleet: Fleet) -> None:
    # Given
    member = await fleet.start("first")
    await fleet.neighbours.until(lambda: member.fleet_member.membership.state is MemberState.SETTLED)

    def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    member.map_changed = fail  # type: ignore[method-assign, assignment]  # a fault on purpose

    # When
    member.fleet_member.saw_epoch(member.maps[-1].epoch + 1_000_000)

    # Then
    generation = member.fleet_member.membership.generation
    await fleet.neighbours.until(lambda: member.fleet_member.membership.generation > generation)
    assert fleet.neighbours.counts() == ALL


@pytest.mark.parametrize("initial_delay_ms", [0, 600_000])
async def test_the_last_member_leaves_at_once(cluster: InMemoryFleetCluster, fleet: Fleet) -> None:
    # Given
    member = await fleet.start("first")
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == ALL)

    # When
    async with asyncio.timeout(2):
        await member.fleet_member.leave(patience_ms=10_000)

    # Then
    assert cluster.coordinator.member_ids == frozenset()
    assert fleet.neighbours.counts() == [0]


async def test_members_that_end_together_do_not_wait_for_each_other_and_serve_until_they_leave(
    fleet: Fleet,
) -> None:
    # Given
    members = [await fleet.start("first"), await fleet.start("second")]
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == [4, 4])

    # When
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for member in members:
            group.create_task(member.fleet_member.hand_over(patience_ms=600_000))

    # Then
    assert sum(fleet.neighbours.counts()) == SLOT_COUNT
    assert not any(member.lost for member in members)


async def test_who_waits_in_vain_for_others_to_take_its_slots_leaves_all_the_same(
    cluster: InMemoryFleetCluster, fleet: Fleet
) -> None:
    # Given
    first = await fleet.start("first")
    await fleet.start("second")
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == [4, 4])
    first.gives_up = False

    # When
    await first.fleet_member.leave(patience_ms=300)

    # Then
    assert first.lost[0][1] == "this process leaves the fleet"
    assert len(cluster.coordinator.member_ids) == 1


async def test_the_coordinator_in_memory_does_what_real_ones_do(cluster: InMemoryFleetCluster) -> None:
    """`tests/kafka/test_fleet_membership.py` has the same of real ones."""
    async with Backing(cluster.servers) as backing:
        await a_group_comes_changes_and_goes(backing, "fleet")
