"""Brokers and kproxies that share the slots of one state log, each kproxy on a host of its own."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.misfortunes.hosted_kproxy import HostedKproxy
from tests.misfortunes.network import FleetNetwork
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.paths import kept_logs_folder
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS

SLOT_COUNT: Final = 8
STATE_TOPIC: Final = "__kproxy_share_state"
STRANGE_STATE_TOPIC: Final = "__kproxy_share_state_of_a_stranger"
STRANGE_GROUPS_TOPIC: Final = "__kproxy_share_groups_of_a_stranger"
SETTLING_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Fleet:
    """All that may be struck."""

    network: FleetNetwork
    cluster: KafkaCluster
    kproxies: list[HostedKproxy]
    stranger: HostedKproxy
    """Serves share groups of its own in front of the same brokers; nothing of it runs before `begin`."""

    def owners(self) -> dict[int, int]:
        """The number of the kproxy that serves each slot which is served."""
        return {slot: kproxy.number for kproxy in self.kproxies for slot in kproxy.owned_slots()}

    def wait_until_shared_out(self) -> None:
        """Return when every slot is served by one kproxy, and each that runs serves some, or raise AssertionError."""
        deadline = time.monotonic() + SETTLING_SECONDS
        while True:
            owned = [kproxy.owned_slots() for kproxy in self.kproxies if kproxy.is_running]
            if all(owned) and sorted(slot for slots in owned for slot in slots) == list(range(SLOT_COUNT)):
                return
            assert time.monotonic() < deadline, f"slots are not shared out among the kproxies: {owned}"
            time.sleep(POLL_SECONDS)

    def keep_logs(self) -> list[Path]:
        """Write what each kproxy has logged to where failed runs are kept; the files."""
        kept_logs_folder().mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        files = []
        for kproxy in self.kproxies:
            files.append(kept_logs_folder() / f"fleet-{stamp}-kproxy-{kproxy.number}.log")
            files[-1].write_text(kproxy.log())
        return files


@contextmanager
def running_fleet(cluster: KafkaCluster, folder: Path, *, kproxies: int) -> Iterator[Fleet]:
    """Start a cluster, and yield it with a fleet that has shared out its slots. Raises what starting raises."""
    brokers = len(cluster.node_ids)
    secret = folder / "secret"
    secret.write_text("a secret that all of them share\n")
    settings: dict[str, str | int] = {
        **QUICK_HEARTBEATS,
        "kproxy.state.topic.name": STATE_TOPIC,
        "kproxy.fleet.secret.file": str(secret),
        "share.coordinator.state.topic.num.partitions": SLOT_COUNT,
        "share.coordinator.state.topic.replication.factor": brokers,
        "share.coordinator.state.topic.min.isr": min(2, brokers),
        "group.share.delivery.count.limit": 10,
    }
    strange = {
        "kproxy.state.topic.name": STRANGE_STATE_TOPIC,
        "kproxy.groups.topic.name": STRANGE_GROUPS_TOPIC,
    }
    with FleetNetwork(kproxies + 1) as network, cluster:
        fleet = Fleet(
            network,
            cluster,
            [
                HostedKproxy(network, number, cluster.bootstrap_servers, settings)
                for number in range(kproxies)
            ],
            HostedKproxy(network, kproxies, cluster.bootstrap_servers, settings | strange),
        )
        try:
            for kproxy in fleet.kproxies:
                kproxy.begin()
            for kproxy in fleet.kproxies:
                kproxy.wait_until_ready()
            fleet.wait_until_shared_out()
            yield fleet
        except BaseException as error:
            error.add_note(f"the logs of the kproxies: {', '.join(map(str, fleet.keep_logs()))}")
            raise
        finally:
            for kproxy in (*fleet.kproxies, fleet.stranger):
                kproxy.end()
