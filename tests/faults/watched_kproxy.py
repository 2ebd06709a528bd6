"""A kproxy of which a test sees all that it holds: tasks, objects, connections, files, memory."""

import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from tests.real_kafka.acquisitions import FILE_VARIABLE, Acquisition, read_acquisitions
from tests.real_kafka.kproxy_process import KproxyProcess

MODULE: Final = "tests.faults.kproxy_under_watch"
ANSWER_SECONDS: Final = 30.0

Ends = tuple[str, str]
"""`HOST:PORT` of a connection's own end, and of the other one."""


@dataclass(frozen=True, slots=True)
class Held:
    """What one look found."""

    tasks: Counter[str]
    objects: Counter[str]
    client_connections: frozenset[Ends]
    broker_connections: frozenset[Ends]
    other_files: int
    resident_bytes: int
    share: Mapping[str, int]
    """Share sessions, acquired runs of records, members, and client connections as kproxy itself counts them."""


class WatchedKproxy(KproxyProcess):
    """A `KproxyProcess` that answers `held`."""

    def __init__(
        self, bootstrap_servers: str, *, node_ids: Sequence[int], settings: Mapping[str, str | int]
    ) -> None:
        self._notes = tempfile.NamedTemporaryFile(prefix="kproxy-acquisitions-")  # noqa: SIM115 - for its life
        super().__init__(
            bootstrap_servers,
            node_ids=node_ids,
            settings=settings,
            environment={FILE_VARIABLE: self._notes.name},
            module=MODULE,
        )

    def acquisitions(self) -> list[Acquisition]:
        """Which records became somebody's so far."""
        return read_acquisitions(Path(self._notes.name))

    def held(self) -> Held:
        """Look at everything."""
        self.send_line("held")
        told = self._next_object()
        process = psutil.Process(self.process_id)
        sockets = [each for each in process.net_connections("tcp") if each.raddr]
        of_clients = frozenset(_ends(each) for each in sockets if each.laddr.port in self.own_ports)
        not_of_brokers = {*self.own_ports, self._admin.number}
        return Held(
            tasks=Counter(told["tasks"]),
            objects=Counter(told["objects"]),
            client_connections=of_clients,
            broker_connections=frozenset(
                _ends(each) for each in sockets if each.laddr.port not in not_of_brokers
            ),
            other_files=process.num_fds() - len(sockets),
            resident_bytes=self.resident_bytes(),
            share=self._share(),
        )

    def _share(self) -> Mapping[str, int]:
        in_flight = self._ask("/api/v1/in-flight").items
        return {
            "share sessions": len(self._ask("/api/v1/sessions").items),
            "acquired runs of records": sum(run["state"] == "Acquired" for run in in_flight),
            "members": sum(group["memberCount"] for group in self._ask("/api/v1/groups").items),
            "client connections": self.status()["connectionsOpen"],
            "connections of clients to brokers": int(
                self.metrics().value("kproxy_connections_open", side="broker")
            ),
        }

    def _next_object(self) -> dict[str, Any]:
        """The next JSON object; what kproxy itself prints is passed over."""
        while True:
            line = self.next_line(timeout_seconds=ANSWER_SECONDS)
            if line.startswith("{"):
                told: dict[str, Any] = json.loads(line)
                return told


def _ends(connection: Any) -> Ends:
    own, other = connection.laddr, connection.raddr
    return f"{own.ip}:{own.port}", f"{other.ip}:{other.port}"
