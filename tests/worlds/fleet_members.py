"""Members of a fleet in this process, in front of a coordinator that is scripted or real; and what they do together."""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kproxy.fleet.fleet_map import FleetMap
from kproxy.fleet.limits import FleetLimits
from kproxy.fleet.member_metadata import MemberProfile
from kproxy.fleet.membership import Membership
from kproxy.net.deadlines import SystemWallClock
from kproxy.net.fleet.coordinator_link import CoordinatorLink
from kproxy.net.fleet.fleet_member import FleetClocks, FleetMember
from kproxy.net.fleet.lease_clock import LeaseClock
from kproxy.net.fleet.process_lock import ProcessLock
from kproxy.net.fleet.reach import ReachCheck
from kproxy.settings.addresses import HostPort
from tests.worlds.backing import Backing

SLOT_COUNT: Final = 8
LOOK_SECONDS: Final = 0.005


class Neighbours:
    """All members of one fleet; looks all the time whether two of them serve one slot."""

    def __init__(self) -> None:
        self.members: list[RunningMember] = []
        self.doubles: list[str] = []
        """What must not be: slots that two served, with their names."""

    def served(self) -> dict[int, str]:
        """Return who serves each slot."""
        owners: dict[int, str] = {}
        for member in self.members:
            for slot in filter(member.may_serve, range(SLOT_COUNT)):
                if slot in owners:
                    self.doubles.append(f"slot {slot}: {owners[slot]} and {member.name}")
                owners[slot] = member.name
        return owners

    def counts(self) -> list[int]:
        """Return how many slots each serves, in rising order."""
        return sorted(sum(map(member.may_serve, range(SLOT_COUNT))) for member in self.members)

    async def look(self) -> None:
        """Look for ever."""
        while True:
            self.served()
            await asyncio.sleep(LOOK_SECONDS)

    async def until(self, is_so: Callable[[], bool], *, seconds: float = 20.0) -> float:
        """Return how long it took until `is_so()`, in seconds."""
        began = time.perf_counter()
        async with asyncio.timeout(seconds):
            while not is_so():
                self.served()
                await asyncio.sleep(LOOK_SECONDS)
        return time.perf_counter() - began

    async def longest_gap_until(self, is_so: Callable[[], bool], *, seconds: float = 20.0) -> float:
        """Return for how long a slot was served by nobody at most, until `is_so()`, in seconds."""
        unserved_since: dict[int, float] = {}
        longest = 0.0

        def look() -> bool:
            nonlocal longest
            now, served = time.perf_counter(), self.served()
            for slot in range(SLOT_COUNT):
                if slot in served:
                    unserved_since.pop(slot, None)
                else:
                    longest = max(longest, now - unserved_since.setdefault(slot, now))
            return is_so()

        await self.until(look, seconds=seconds)
        return longest


class RunningMember:
    """One process of a fleet, as far as its membership goes: what it is asked for it gives up in the next turn."""

    def __init__(
        self,
        name: str,
        group_id: str,
        servers: Sequence[HostPort],
        *,
        limits: FleetLimits,
        port: int,
        lock: ProcessLock,
    ) -> None:
        self.name = name
        self.lock = lock
        self.maps: list[FleetMap] = []
        self.lost: list[tuple[frozenset[int], str]] = []
        self.backing = Backing(servers)
        profile = MemberProfile(f"token of {name}", name, "127.0.0.1", port, "1.0", 1, SLOT_COUNT)
        wall = SystemWallClock()
        self.link = CoordinatorLink(
            group_id,
            limits,
            metadata=self.backing.metadata,
            connections=self.backing.connections,
            process=lock,
        )
        self.fleet_member = FleetMember(
            Membership(profile, limits, first_epoch=wall.now_ms()),
            self,
            coordinator=self.link,
            reach=ReachCheck(profile.token),
            clocks=FleetClocks(LeaseClock(), wall),
            tasks=self.backing.tasks,
        )
        self.is_dead = False
        self.gives_up = True

    async def __aenter__(self) -> Self:
        await self.backing.metadata.refresh()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.die()

    def may_serve(self, slot: int) -> bool:
        """Whether it may serve a slot now; a dead one serves nothing."""
        return not self.is_dead and self.fleet_member.may_serve(slot)

    def is_in(self, member_ids: frozenset[str]) -> bool:
        """Whether the group has it as a member."""
        return any(each.startswith(self.lock.client_id) for each in member_ids)

    async def die(self) -> None:
        """End without a word to anybody."""
        self.is_dead = True
        self.link.close()
        await self.backing.__aexit__(None, None, None)
        end_like_its_process(self.lock)

    # ------------------------------------------------ FleetListener

    def map_changed(self, fleet_map: FleetMap, gained: frozenset[int]) -> None:  # noqa: ARG002 - the port's
        self.maps.append(fleet_map)

    def give_up(self, slots: frozenset[int]) -> None:
        if self.gives_up:
            asyncio.get_running_loop().call_soon(self.fleet_member.gave_up, slots)

    def slots_lost(self, slots: frozenset[int], reason: str) -> None:
        self.lost.append((slots, reason))


def end_like_its_process(lock: ProcessLock) -> None:
    """Do what the kernel does with a lock when the process is killed: the file stays."""
    descriptor, lock._descriptor = lock._descriptor, None
    if descriptor is not None:
        os.close(descriptor)


class Fleet:
    """Starts members of one group; all of them have an internal listener that accepts.

    `folder` is where they keep their locks. Who has another one is on another machine.
    """

    def __init__(
        self, servers: Sequence[HostPort], group_id: str, *, limits: FleetLimits, port: int, folder: Path
    ) -> None:
        self.neighbours = Neighbours()
        self._servers, self._group_id, self._limits = servers, group_id, limits
        self.port = port
        self.folder = folder

    async def start(self, name: str, *, folder: Path | None = None) -> RunningMember:
        """Start a member."""
        lock = ProcessLock.take(folder or self.folder)
        member = RunningMember(
            name, self._group_id, self._servers, limits=self._limits, port=self.port, lock=lock
        )
        self.neighbours.members.append(member)
        await member.__aenter__()
        member.fleet_member.start()
        return member


@asynccontextmanager
async def a_fleet(
    servers: Sequence[HostPort], group_id: str, *, limits: FleetLimits | None = None
) -> AsyncIterator[Fleet]:
    """A fleet without members; those that are started end with it. Raises AssertionError if two served one slot."""

    async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(servers, group_id, limits=limits or FleetLimits(), port=port, folder=Path(folder))
        try:
            yield fleet
        finally:
            for member in fleet.neighbours.members:
                await member.die()
            listener.close()
    assert not fleet.neighbours.doubles
