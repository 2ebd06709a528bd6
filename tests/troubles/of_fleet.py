"""Troubles between the processes of a fleet, and with the coordinator of its group."""

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tests.real_kafka.kproxy_process import KproxyProcess
from tests.troubles.trouble import CHECK_FAILED, Told, Trouble, says

NOWHERE: Final = "192.0.2.1"
"""TEST-NET-1: no host has an address of it."""
LONGER_THAN_A_SESSION_SECONDS: Final = 8.0
WHILE_SLOTS_MOVE: Final = frozenset({"KproxySlotsWithoutOwner", "KproxyStateLogRebuilt"})
"""What fires at once because this Prometheus does not wait."""


class ServesNothing(Trouble):
    """One of two processes is cut off from the cluster; the other one is not."""

    beside: ClassVar[frozenset[str]] = WHILE_SLOTS_MOVE | {
        "KproxyClusterUnreachable",
        "KproxySlotsLost",
        "KproxyPeersUnreachable",
    }
    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says("fleet.lease                      0.0 s", exit_code=CHECK_FAILED),
        "kproxy brokers": says("127.81.0.1"),
        "kproxy doctor -b broker1:9092": says("FAILED", "{broker1:9092}", exit_code=CHECK_FAILED),
    }

    def prepare(self) -> Sequence[KproxyProcess]:
        self.wall = self.ground.wall(self.stack)
        (cut_off,) = self.start({}, wall=self.wall)
        (other,) = self.ground.start(dict(self.settings), 1, self.stack)
        self.names["broker1:9092"] = self.wall.address
        return [cut_off, other]

    def strike(self) -> None:
        self.wall.shut()
        self.labels = {"instance": self.asked.admin_url.removeprefix("http://")}


class RefusedByFleet(Trouble):
    """A process advertises a host that leads nowhere."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says("refused", NOWHERE),
        "kproxy doctor -b broker1:9092": says("ok"),
    }
    beside: ClassVar[frozenset[str]] = WHILE_SLOTS_MOVE | {"KproxyPeersUnreachable"}

    def prepare(self) -> Sequence[KproxyProcess]:
        return self.start({})

    def strike(self) -> None:
        lost = {**self.settings, "kproxy.fleet.advertised.host": NOWHERE}
        self.ground.start(lost, 1, self.stack, is_ready=False)


class SlotsLost(Trouble):
    """A process stands still for longer than its session in the fleet's group lasts."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status --watch": says("ready", "lost so far"),
        "kproxy brokers": says("127.0.0.1"),
    }
    beside: ClassVar[frozenset[str]] = WHILE_SLOTS_MOVE | {
        "KproxyDown",
        "KproxyEventLoopLate",
        "KproxyPeersUnreachable",
        "KproxyServesNothing",
        "KproxySlowsRequestsDown",
    }

    def prepare(self) -> Sequence[KproxyProcess]:
        return self.start({}, count=2)

    def strike(self) -> None:
        self.asked.pause()
        time.sleep(LONGER_THAN_A_SESSION_SECONDS)
        self.asked.resume()
        self.labels = {"instance": self.asked.admin_url.removeprefix("http://")}


class PeersUnreachable(Trouble):
    """A process with another secret comes to a fleet."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says("refused"),
        "kproxy brokers": says("127.0.0.1"),
    }
    beside: ClassVar[frozenset[str]] = WHILE_SLOTS_MOVE | {"KproxyRefusedByFleet"}

    def prepare(self) -> Sequence[KproxyProcess]:
        return self.start({"kproxy.fleet.secret.file": self._secret("ours", "a")})

    def strike(self) -> None:
        other = {**self.settings, "kproxy.fleet.secret.file": self._secret("theirs", "b")}
        self.ground.start(other, 1, self.stack, is_ready=False)

    def _secret(self, name: str, letter: str) -> str:
        file = self.folder / name
        file.write_text(letter * 32, encoding="utf-8")
        file.chmod(0o600)
        return str(file)
