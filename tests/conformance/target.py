"""Where cases are played: Kafka's own share groups, the reference, and kproxy in front of clusters without."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tests.conformance.grounds import MOST_SESSIONS, Ground
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
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
FEW_SESSIONS: Final[Settings] = {
    "group.share.max.share.sessions": MOST_SESSIONS,
    "group.share.max.size": MOST_SESSIONS,
}
SETTINGS_ON: Final[Mapping[Ground, Settings]] = {
    Ground.SHARED: GROUP_SETTINGS,
    Ground.RESTARTED: {**GROUP_SETTINGS, **FEW_SESSIONS},
    Ground.TWO_BROKERS: GROUP_SETTINGS,
    Ground.DISABLED: {"kproxy.share.enable": "false"},
}
OWN_SETTINGS: Final[Settings] = {
    "kproxy.share.heartbeat.max.wait.ms": 0,
    "kproxy.share.assignment.delay.ms": 0,
    "kproxy.share.coordinator.enable": "true",
}
"""Of kproxy alone: heartbeats are answered as a broker answers them, and the share coordinator as well."""


@dataclass(slots=True)
class Target:
    """What a case is played against. Its brokers have node ids from 1; most have one."""

    name: str
    cluster: KafkaCluster
    kproxy: KproxyProcess | None = None
    settings: Settings = field(default_factory=dict)
    """Of kproxy."""

    @property
    def is_reference(self) -> bool:
        """Whether it is Kafka itself."""
        return self.kproxy is None

    def address(self, node_id: int = 1) -> str:
        """`HOST:PORT` of a broker."""
        if self.kproxy is None:
            return self.cluster.broker_address(node_id)
        return self.kproxy.broker_addresses[node_id]

    @property
    def state_topic(self) -> str:
        """The name of the topic that holds the state of share-partitions."""
        return "__share_group_state" if self.is_reference else str(self.settings["kproxy.state.topic.name"])

    def restart(self) -> None:
        """Kill what leads the share-partitions, the broker of the reference or kproxy, and start it again."""
        if self.kproxy is None:
            self.cluster.kill_broker(1)
            self.cluster.start_broker(1)
        else:
            self.kproxy.kill()
            self.kproxy = KproxyProcess(self.cluster.bootstrap_servers, settings=self.settings)
            self.kproxy.wait_until_ready()

    def stop(self) -> None:
        """End kproxy; clusters belong to others."""
        if self.kproxy is not None:
            self.kproxy.stop()

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
    clusters = {Ground.SHARED: _clusters(GROUP_SETTINGS)}
    if Ground.TWO_BROKERS in grounds:
        clusters[Ground.TWO_BROKERS] = _clusters(GROUP_SETTINGS, brokers=2)
    backings = clusters[Ground.SHARED][1:]
    if Ground.RESTARTED in grounds:
        few_sessions = _reference({**GROUP_SETTINGS, **FEW_SESSIONS})
        clusters[Ground.RESTARTED] = [few_sessions, *backings]
    different = {id(cluster): cluster for of_ground in clusters.values() for cluster in of_ground}
    with ThreadPoolExecutor() as threads:
        list(threads.map(owned.enter_context, different.values()))
    clusters[Ground.DISABLED] = [backings[0], *backings]
    return {
        ground: _targets(clusters[ground], SETTINGS_ON[ground], owned)
        for ground in Ground
        if ground in grounds
    }


def _clusters(settings: Settings, *, brokers: int = 1) -> list[KafkaCluster]:
    """The reference, then what kproxy stands in front of."""
    return [
        _reference(settings, brokers=brokers),
        *(KafkaCluster(each, brokers=brokers, broker_settings=_without_share_groups()) for each in BACKINGS),
    ]


def _reference(settings: Settings, *, brokers: int = 1) -> KafkaCluster:
    return KafkaCluster(brokers=brokers, share_groups=True, broker_settings={**BROKER_SETTINGS, **settings})


def _targets(clusters: Sequence[KafkaCluster], settings: Settings, owned: ExitStack) -> Targets:
    reference, *backings = clusters
    targets = [Target(REFERENCE_NAME, reference)]
    for name, backing in zip(KPROXY_NAMES, backings, strict=True):
        all_settings = {**state_topic_settings(), **OWN_SETTINGS, **settings}
        kproxy = KproxyProcess(backing.bootstrap_servers, node_ids=backing.node_ids, settings=all_settings)
        targets.append(Target(name, backing, kproxy, all_settings))
        owned.callback(targets[-1].stop)
    for target in targets:
        if target.kproxy is not None:
            target.kproxy.wait_until_ready()
    return {target.name: target for target in targets}


def _without_share_groups() -> dict[str, str | int]:
    """The settings that a broker without share groups reads."""
    return {key: value for key, value in BROKER_SETTINGS.items() if not key.startswith("share.")}
