"""What is told of a process as a member, in front of brokers on sockets."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from kproxy.application.fleet_vitals import FleetVitals
from kproxy.fleet.limits import FleetLimits
from kproxy.fleet.member_state import MemberState
from kproxy.net.fleet.fleet_member import FleetMember
from kproxy.telemetry.metrics import Metrics
from tests.event_loops import async_fixture
from tests.in_memory.in_memory_fleet_cluster import InMemoryFleetCluster
from tests.worlds.fleet_members import SLOT_COUNT, Fleet, RunningMember, a_fleet

LIMITS = FleetLimits(
    session_timeout_ms=900,
    heartbeat_interval_ms=150,
    hurried_interval_ms=30,
    rebalance_timeout_ms=1_500,
    lease_margin_ms=50,
    give_up_patience_ms=200,
)


@dataclass
class Place:
    """A process's place in a fleet."""

    member: FleetMember | None
    fleet_group: str = "fleet"
    own_name: str = "first"
    map_epoch: int = 7


@async_fixture
async def cluster() -> AsyncIterator[InMemoryFleetCluster]:
    async with InMemoryFleetCluster(initial_delay_ms=0) as cluster:
        yield cluster


@async_fixture
async def fleet(cluster: InMemoryFleetCluster) -> AsyncIterator[Fleet]:
    async with a_fleet(cluster.servers, "fleet", limits=LIMITS) as fleet:
        yield fleet


def of(member: RunningMember) -> FleetVitals:
    return FleetVitals(Place(member.fleet_member), Metrics())


async def test_a_settled_member_has_no_problem_and_a_lease(fleet: Fleet) -> None:
    # Given
    member = await fleet.start("first")
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == [SLOT_COUNT])
    await fleet.neighbours.until(lambda: member.fleet_member.membership.state is MemberState.SETTLED)

    # When
    view = of(member).view(())

    # Then
    assert (view.state, view.problem) == ("settled", "")
    assert 0 < view.lease_ms <= LIMITS.session_timeout_ms
    assert [(each.name, each.slots_owned, each.is_this_process) for each in view.members] == [
        ("first", SLOT_COUNT, True)
    ]


async def test_a_settled_member_without_slots_has_no_problem(fleet: Fleet) -> None:
    # Given
    members = [await fleet.start(f"member {number}") for number in range(SLOT_COUNT + 1)]
    await fleet.neighbours.until(lambda: fleet.neighbours.counts() == [0] + [1] * SLOT_COUNT)
    idle = next(each for each in members if not any(map(each.may_serve, range(SLOT_COUNT))))

    # When
    await fleet.neighbours.until(lambda: idle.fleet_member.membership.state is MemberState.SETTLED)

    # Then
    assert of(idle).problem() == ""
    assert of(idle).other_count == SLOT_COUNT


async def test_a_member_that_joins_anew_has_no_problem_as_long_as_its_lease_lasts(
    cluster: InMemoryFleetCluster,
) -> None:
    async with a_fleet(cluster.servers, "fleet", limits=LIMITS) as fleet:
        # Given
        member = await fleet.start("first")
        await fleet.neighbours.until(lambda: member.fleet_member.membership.state is MemberState.SETTLED)

        # When
        member.fleet_member.membership.join_anew()
        member.fleet_member.membership.take_step()

        # Then
        assert member.fleet_member.membership.state is MemberState.JOINING
        assert (member.fleet_member.problem, of(member).problem()) == ("group fleet: joining", "")


async def test_a_member_that_could_not_join_yet_has_a_problem(fleet: Fleet) -> None:
    # Given
    member = await fleet.start("first")

    # When
    problem = of(member).problem()

    # Then
    assert problem == "group fleet: outside"


def test_a_process_without_a_state_log_has_no_problem_of_the_fleet() -> None:
    # Given
    vitals = FleetVitals(Place(None), Metrics())

    # When
    view = vitals.view(())

    # Then
    assert (vitals.problem(), view.members, view.lease_ms, vitals.other_count) == ("", (), 0, 0)


def test_slots_that_moved_are_those_that_were_counted() -> None:
    # Given
    metrics = Metrics()
    metrics.count("fleet_slot_moves", 5, "taken")
    metrics.count("fleet_slot_moves", 2, "given_up")
    metrics.count("fleet_slot_moves", 1, "lost")

    # When
    moves = FleetVitals(Place(None), metrics).view(()).moves

    # Then
    assert (moves.taken, moves.given_up, moves.lost) == (5, 2, 1)


async def test_a_scrape_reads_members_lease_and_map(fleet: Fleet) -> None:
    # Given
    member, metrics = await fleet.start("first"), Metrics()
    await fleet.neighbours.until(lambda: member.fleet_member.membership.state is MemberState.SETTLED)

    # When
    FleetVitals(Place(member.fleet_member), metrics).register_gauges(metrics)
    lines = metrics.exposition().body.decode().splitlines()

    # Then
    told = {
        line.split(" ")[0]: float(line.split(" ")[1]) for line in lines if line.startswith("kproxy_fleet_")
    }
    assert told['kproxy_fleet_members{state="owning"}'] == 1
    assert told['kproxy_fleet_members{state="refused"}'] == 0
    assert 0 < told["kproxy_fleet_lease_seconds"] <= 0.9
    assert told["kproxy_fleet_map_epoch"] == 7
