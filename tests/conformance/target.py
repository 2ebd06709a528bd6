"""Where cases are played: Kafka's own share groups, the reference, and kproxy in front of clusters without."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tests.conformance.grounds import Ground
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.node_settings import Settings
from tests.real_kafka.versions import REFERENCE, WITHOUT_SHARE_GROUPS

GROUP_SETTINGS: Final[Settings] = {
    "group.share.heartbeat.interval.ms": 1_000,
    "group.share.min.heartbeat.interval.ms": 1_000,
    "group.share.min.session.timeout.ms": 1_500,
    "group.share.min.record.lock.duration.ms": 1_000,
    "group.share.assignment.interval.ms": 0,
}
"""Of broker and kproxy alike: nobody waits 15 s for a lock to end, or a second for an assignment."""
BROKER_SETTINGS: Final[Settings] = {
    "share.coordinator.append.linger.ms": 0,
    "log.cleaner.backoff.ms": 100,
}
SWITCHED_OFF: Final[Settings] = {"kproxy.share.enable": "false"}
OWN_SETTINGS: Final = {"kproxy.share.heartbeat.max.wait.ms": 0, "kproxy.share.assignment.delay.ms": 0}
"""Of kproxy alone: heartbeats are answered as a broker answers them."""


@dataclass(slots=True)
class Target:
    """What a case is played against. Its one broker has node id 1."""

    name: str
    cluster: KafkaCluster
    kproxy: KproxyProcess | None = None
    restart: Callable[[], None] = field(default=lambda: None)
    """Restarts what leads the share-partitions: the broker of the reference, otherwise kproxy."""

    @property
    def is_reference(self) -> bool:
        """Whether it is Kafka itself."""
        return self.kproxy is None

    @property
    def address(self) -> str:
        """`HOST:PORT` of broker 1."""
        return self.cluster.broker_address(1) if self.kproxy is None else self.kproxy.broker_addresses[1]

    def wait_until(self, is_so: Callable[[], bool], *, what: str, timeout_seconds: float = 30.0) -> None:
        """Return when `is_so`. Raises AssertionError when it is not so in time."""
        deadline = time.monotonic() + timeout_seconds
        while not is_so():
            assert time.monotonic() < deadline, (
                f"{self.name}: waited {timeout_seconds} s in vain until {what}"
            )
            time.sleep(0.02)


REFERENCE_NAME: Final = f"Kafka {REFERENCE.version}"
BACKINGS: Final = (REFERENCE.version, WITHOUT_SHARE_GROUPS.version)
KPROXY_NAMES: Final = tuple(f"kproxy on {version}" for version in BACKINGS)


Targets: TypeAlias = Mapping[str, Target]
"""By name: the reference, and kproxy in front of each backing version."""


def start_targets(grounds: Collection[Ground], owned: ExitStack) -> Mapping[Ground, Targets]:
    """Start what these grounds need; all of it ends with `owned`."""
    reference = KafkaCluster(share_groups=True, broker_settings={**BROKER_SETTINGS, **GROUP_SETTINGS})
    backings = [KafkaCluster(version, broker_settings=_without_share_groups()) for version in BACKINGS]
    with ThreadPoolExecutor() as threads:
        list(threads.map(owned.enter_context, [reference, *backings]))
    started = {Ground.SHARED: _targets(reference, backings, GROUP_SETTINGS, owned)}
    if Ground.DISABLED in grounds:
        started[Ground.DISABLED] = _targets(backings[0], backings, SWITCHED_OFF, owned)
    return started


def _targets(
    reference: KafkaCluster, backings: Sequence[KafkaCluster], settings: Settings, owned: ExitStack
) -> Targets:
    kproxies = [
        owned.enter_context(KproxyProcess(each.bootstrap_servers, settings={**OWN_SETTINGS, **settings}))
        for each in backings
    ]
    for kproxy in kproxies:
        kproxy.wait_until_ready()
    targets = [Target(REFERENCE_NAME, reference)]
    targets += map(Target, KPROXY_NAMES, backings, kproxies)
    return {target.name: target for target in targets}


def _without_share_groups() -> dict[str, str | int]:
    """The settings that a broker without share groups reads."""
    return {key: value for key, value in BROKER_SETTINGS.items() if not key.startswith("share.")}
