"""Troubles between the processes of a fleet, and with the coordinator of its group."""

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tests.real_kafka.kproxy_fleet import KproxyFleet
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.ports import LOOPBACK, ReservedPort
from tests.real_kafka.share_members import ConfluentShareMember
from tests.troubles.trouble import CHECK_FAILED, Told, Trouble, says
from tests.troubles.wall import Wall

NOWHERE: Final = "192.0.2.1"
"""TEST-NET-1: no host has an address of it."""
PEERS_HOST: Final = "127.81.0.2"
"""An address of the loopback interface that nobody else uses."""
NOT_WHOLE: Final = 1
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
        "kproxy status": says(f"{NOWHERE}:", "cannot be reached"),
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
    """A network policy comes between two processes, and a member is connected to the one that does not serve it."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says("2 members", f"{PEERS_HOST}:"),
        "kproxy brokers": says("not the whole truth", exit_code=NOT_WHOLE),
    }
    beside: ClassVar[frozenset[str]] = WHILE_SLOTS_MOVE | {"KproxyRefusedByFleet"}

    def prepare(self) -> Sequence[KproxyProcess]:
        port = self.stack.enter_context(ReservedPort())
        ends = ((PEERS_HOST, port.number), (LOOPBACK, port.number))
        self.wall = self.stack.enter_context(Wall(*ends))
        (near,) = self.start({})
        behind = {"kproxy.fleet.listener": port.address, "kproxy.fleet.advertised.host": PEERS_HOST}
        (far,) = self.ground.start({**self.settings, **behind}, 1, self.stack)
        self.fleet = KproxyFleet(self.ground.cluster, [near, far], self.settings)
        self.fleet.wait_until_shared_out()
        group, topic = self.ground.group(far, name=self.fleet.new_group_of(far)), self.ground.topic(1)
        member = ConfluentShareMember(near.bootstrap_servers, group=group, topics=[topic])
        self.stack.enter_context(member)
        self.stack.callback(member.kill)
        member.poll_until_records()
        return [near, far]

    def strike(self) -> None:
        self.wall.shut()
        self.labels = {"instance": self.asked.admin_url.removeprefix("http://")}
