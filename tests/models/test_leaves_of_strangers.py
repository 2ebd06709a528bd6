"""Who is no member of its fleet yet has nobody to take its leave of, and does not wait for a coordinator."""

import asyncio

from kproxy.fleet.fleet_map import FleetMap
from kproxy.fleet.group_protocol import Answer, Pulse, Step, Unanswered
from kproxy.fleet.limits import FleetLimits
from kproxy.fleet.member_metadata import MemberProfile
from kproxy.fleet.membership import Membership
from kproxy.net.deadlines import SystemWallClock
from kproxy.net.fleet.fleet_member import FleetClocks, FleetMember
from kproxy.net.fleet.lease_clock import LeaseClock
from kproxy.net.fleet.reach import ReachCheck
from kproxy.net.tasks import TaskKeeper
from tests.worlds.backing import CountedThings
from tests.worlds.fleet_members import SLOT_COUNT


class SilentCoordinator:
    """A `GroupCoordinator` that answers nothing: no broker can be reached."""

    group_id = "fleet"

    def __init__(self) -> None:
        self.was_asked = asyncio.Event()

    async def ask_step(self, _question: Step) -> Answer:
        """Never answer."""
        self.was_asked.set()
        await asyncio.get_running_loop().create_future()
        return Unanswered()

    async def ask_pulse(self, _question: Pulse, *, patience_ms: int) -> Answer:
        """Not reached: there is nothing to ask beside the step."""
        raise NotImplementedError

    def abandon_step(self) -> None:
        """There is no connection to close."""


class DeafListener:
    """A `FleetListener` that is told nothing."""

    def map_changed(self, fleet_map: FleetMap, gained: frozenset[int]) -> None:
        """Not reached."""
        raise NotImplementedError

    def give_up(self, slots: frozenset[int]) -> None:
        """Not reached."""
        raise NotImplementedError

    def slots_lost(self, slots: frozenset[int], reason: str) -> None:
        """Not reached."""
        raise NotImplementedError


async def test_who_is_no_member_yet_waits_for_no_coordinator_when_it_leaves() -> None:
    # Given
    coordinator, tasks = SilentCoordinator(), TaskKeeper(CountedThings())
    profile = MemberProfile("token", "first", "127.0.0.1", 1, "1.0", 1, SLOT_COUNT)
    member = FleetMember(
        Membership(profile, FleetLimits(), first_epoch=1),
        DeafListener(),
        coordinator=coordinator,
        reach=ReachCheck("token"),
        clocks=FleetClocks(LeaseClock(), SystemWallClock()),
        tasks=tasks,
    )
    member.start()
    await coordinator.was_asked.wait()

    # When
    async with asyncio.timeout(2):
        await member.leave(patience_ms=10_000)

    # Then
    assert not member.may_serve(0)
    await tasks.close()
