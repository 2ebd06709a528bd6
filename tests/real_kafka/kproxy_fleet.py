"""Several kproxies on this machine with the same state topics, which share out the slots."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import STATE_TOPIC_PARTITIONS, KproxyProcess, state_topic_settings
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS

SETTLING_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class KproxyFleet:
    """Those that run, in front of one cluster, and the settings that they have in common."""

    cluster: KafkaCluster
    kproxies: list[KproxyProcess]
    settings: Mapping[str, str | int]

    @property
    def state_topic(self) -> str:
        """The name of the state topic."""
        return str(self.settings["kproxy.state.topic.name"])

    def wait_until_shared_out(self) -> None:
        """Return when every slot is served, each by one process, and each process serves some; or raise."""
        deadline = time.monotonic() + SETTLING_SECONDS
        while True:
            owned = [kproxy.owned_slots() for kproxy in self.kproxies]
            if all(owned) and sorted(slot for slots in owned for slot in slots) == self.slots:
                return
            assert time.monotonic() < deadline, f"slots are not shared out: {owned}"
            time.sleep(POLL_SECONDS)

    @property
    def slots(self) -> list[int]:
        """Every slot there is."""
        return list(range(STATE_TOPIC_PARTITIONS))

    def owner_of(self, group: str) -> KproxyProcess:
        """The process that serves a group, waited for while its slot moves or is loaded again."""
        slot, deadline = slot_of(group), time.monotonic() + SETTLING_SECONDS
        while True:
            owners = [kproxy for kproxy in self.kproxies if slot in kproxy.owned_slots()]
            if len(owners) == 1:
                return owners[0]
            assert time.monotonic() < deadline, f"slot {slot} is served by {len(owners)} processes"
            time.sleep(POLL_SECONDS)

    def new_group_of(self, kproxy: KproxyProcess) -> str:
        """A name of a group that `kproxy` serves now."""
        slots = kproxy.owned_slots()
        return next(name for name in _names() if slot_of(name) in slots)


def slot_of(group: str) -> int:
    """The slot of a group, of as many as a kproxy of the tests has."""
    return group_partition(GroupId(group), STATE_TOPIC_PARTITIONS)


def group_in_slot(slot: int) -> str:
    """A new name of a group that lives in `slot`."""
    return next(name for name in _names() if slot_of(name) == slot)


@contextmanager
def kproxy_fleet(
    cluster: KafkaCluster, count: int, *, settings: Mapping[str, str | int] | None = None
) -> Iterator[KproxyFleet]:
    """Yield `count` kproxies that have shared out their slots. Raises what starting them raises."""
    in_common = {**QUICK_HEARTBEATS, **state_topic_settings(), **(settings or {})}
    with ExitStack() as stack:
        fleet = KproxyFleet(cluster, start_all(cluster, count, in_common, stack), in_common)
        fleet.wait_until_shared_out()
        yield fleet


def start_all(
    cluster: KafkaCluster, count: int, settings: Mapping[str, str | int], stack: ExitStack
) -> list[KproxyProcess]:
    """Start so many at once, until `stack` ends; returns when all are ready."""
    kproxies = [
        stack.enter_context(
            KproxyProcess(cluster.bootstrap_servers, node_ids=cluster.node_ids, settings=settings)
        )
        for _ in range(count)
    ]
    for kproxy in kproxies:
        kproxy.wait_until_ready()
    return kproxies


def _names() -> Iterator[str]:
    while True:
        yield unique_name("of-a-fleet")
