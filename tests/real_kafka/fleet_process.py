"""One member of a fleet in a process of its own, which can be killed: `python -m tests.real_kafka.fleet_process`.

Its arguments are a bootstrap server, the fleet's group, the folder of locks, the port that everybody dials, and a name.
It joins when it reads a line, and writes one whenever what it serves has changed: `served 8 provisional`.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

from kproxy.fleet.limits import FleetLimits
from kproxy.net.fleet.process_lock import ProcessLock
from kproxy.settings.addresses import HostPort, parse_host_port
from tests.real_kafka.child import Child
from tests.worlds.fleet_members import LOOK_SECONDS, SLOT_COUNT, RunningMember

LIMITS: Final = FleetLimits(session_timeout_ms=60_000, rebalance_timeout_ms=70_000)
"""Whose sessions do not end while a test lasts."""


class FleetProcess(Child):
    """A process that is to be a member; `begin` lets it join."""

    def __init__(self, name: str, server: HostPort, group_id: str, folder: Path, port: int) -> None:
        module = "tests.real_kafka.fleet_process"
        super().__init__(
            name, [sys.executable, "-m", module, str(server), group_id, str(folder), str(port), name]
        )

    def begin(self) -> None:
        """Let it join."""
        self.send_line("join")

    def until_it_serves(self, slot_count: int, how: str, *, timeout_seconds: float) -> None:
        """Return when it serves as many slots, `how` being provisional or settled."""
        while self.next_line(timeout_seconds=timeout_seconds) != f"served {slot_count} {how}":
            pass


async def serve(server: HostPort, group_id: str, folder: Path, *, port: int, name: str) -> None:
    """Be a member for ever."""
    sys.stdin.readline()
    lock = ProcessLock.take(folder)
    async with RunningMember(name, group_id, [server], limits=LIMITS, port=port, lock=lock) as member:
        member.fleet_member.start()
        told = ""
        while True:
            how = "provisional" if member.fleet_member.membership.is_provisional else "settled"
            line = f"served {sum(map(member.may_serve, range(SLOT_COUNT)))} {how}"
            if line != told:
                print(line, flush=True)
                told = line
            await asyncio.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    address, group_id, folder, port, name = sys.argv[1:]
    asyncio.run(
        serve(parse_host_port(address, first_port=1), group_id, Path(folder), port=int(port), name=name)
    )
