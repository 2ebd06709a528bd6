"""One kproxy, or several that serve the same share groups, and what can be seen of them."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from threading import Event, Thread
from typing import Final, Self

from tests.demo.failures import KproxyFailed
from tests.demo.fleet_status import NOWHERE, FleetStatus, KproxyStatus
from tests.demo.homes import connected_to
from tests.demo.kproxy_process import KproxyProcess
from tests.demo.outage import THE_ONLY_ONE
from tests.demo.plan import GROUP

LOOK_SECONDS: Final = 0.2
WHOLE_TIMEOUT_SECONDS: Final = 60.0
SERVED: Final = "ready"
"""How kproxy calls the state of a slot that it serves."""


class KproxyFleet:
    """`count` kproxies in front of a cluster, with default settings but for their ports.

    Gone after `with`, however it is left, and when this Python process ends.
    """

    def __init__(self, count: int, upstream_bootstrap_servers: str, log_folder: Path) -> None:
        self._everything = ExitStack()
        names = (
            [THE_ONLY_ONE] if count == 1 else [f"{THE_ONLY_ONE} {number}" for number in range(1, count + 1)]
        )
        self.kproxies: Final[Sequence[KproxyProcess]] = [
            self._everything.enter_context(
                KproxyProcess(name, upstream_bootstrap_servers, log_folder / f"{name.replace(' ', '-')}.log")
            )
            for name in names
        ]
        self.status = FleetStatus(0.0, 0, [KproxyStatus(name) for name in names])
        self._members: Mapping[str, int] = {}
        self._is_over = Event()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all, for clients."""
        return ",".join(kproxy.bootstrap_servers for kproxy in self.kproxies)

    def serving_the_group(self) -> KproxyProcess:
        """Return the one that serves the group of the demo, or any if none does at the moment."""
        server = self.status.server_of(GROUP)
        return next((kproxy for kproxy in self.kproxies if kproxy.name == server), self.kproxies[0])

    def wait_until_ready(self) -> None:
        """Return when all serve their share of the groups; raises `KproxyFailed` if they do not in time."""
        for kproxy in self.kproxies:
            kproxy.wait_until_ready()
        deadline = time.monotonic() + WHOLE_TIMEOUT_SECONDS
        self._look()
        while not self.status.is_whole:
            self.check_they_run()
            if time.monotonic() > deadline:
                raise KproxyFailed(
                    f"after {WHOLE_TIMEOUT_SECONDS:.0f} s they serve {self.status.slots_in_words} slots"
                )
            time.sleep(LOOK_SECONDS)
            self._look()

    def watch(self, members: Mapping[str, int]) -> None:
        """Keep `status` fresh from now on, also of where these members are, given by their process ids."""
        self._members = members
        Thread(target=self._keep_looking, name="fleet status", daemon=True).start()

    def check_they_run(self) -> None:
        """Raise `KproxyFailed` if one has ended and nobody wanted that."""
        for kproxy in self.kproxies:
            kproxy.check_it_runs()

    def kill(self, name: str) -> None:
        """Return when one is dead."""
        self._named(name).kill()

    def ask_to_end(self, name: str) -> None:
        """Let one drain and end; returns at once."""
        self._named(name).ask_to_end()

    def has_ended(self, name: str) -> bool:
        """Whether one that was asked to end has done so."""
        return self._named(name).has_ended()

    def start_again(self, name: str) -> None:
        """Start one that has ended or is dead."""
        self._named(name).start_again()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        # All drain at once, not one after the other.
        for kproxy in self.kproxies:
            kproxy.ask_to_end()
        self._everything.close()

    def _named(self, name: str) -> KproxyProcess:
        return next(kproxy for kproxy in self.kproxies if kproxy.name == name)

    def _keep_looking(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        began_at = time.monotonic()
        seen = [(kproxy.name, _slots_of(kproxy)) for kproxy in self.kproxies]
        places = {member: self._place_of(process_id) for member, process_id in self._members.items()}
        self.status = FleetStatus(
            began_at,
            max(len(slots or ()) for _, slots in seen),
            [KproxyStatus(name, slots is not None, frozenset(_served(slots or {}))) for name, slots in seen],
            places,
        )

    def _place_of(self, process_id: int) -> str:
        connections = {f"{host}:{port}" for host, port in connected_to(process_id)}
        for kproxy in self.kproxies:
            if kproxy.broker_address in connections:
                return kproxy.name
        return NOWHERE


def _slots_of(kproxy: KproxyProcess) -> Mapping[int, str] | None:
    try:
        return kproxy.slots()
    except (OSError, HTTPException, ValueError):
        # It is down, or ended in the middle of its answer.
        return None


def _served(slots: Mapping[int, str]) -> list[int]:
    return [number for number, state in slots.items() if state == SERVED]
