"""The setting of the share benchmark: two brokers with the same records, one behind kproxy, one with share groups."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from tests.benchmarks.workload import Arm
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess

KPROXY: Final = "kproxy"
NATIVE: Final = "stock broker"

HEAP: Final = "1g"
STATE_TOPIC_PARTITIONS: Final = 50
"""Kafka's own default, for both; what tests start has fewer."""
HEARTBEAT_INTERVAL_MS: Final = 1_000
"""Of members that are there before anything is measured: with Kafka's 5 s every group would take that long to begin."""

STATE_TOPIC_SETTINGS: Final[Mapping[str, str | int]] = {
    "share.coordinator.state.topic.num.partitions": STATE_TOPIC_PARTITIONS,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
}
HASTY_SETTINGS: Final[Mapping[str, str | int]] = {
    **STATE_TOPIC_SETTINGS,
    "group.share.heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
    "group.share.min.heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
}


@dataclass(frozen=True, slots=True)
class ShareSetting:
    """What runs, and how to reach it."""

    kproxy: KproxyProcess
    arms: Sequence[Arm]
    broker_addresses: Mapping[str, str]
    """The broker itself, by the name of the arm: where topics are made and filled."""
    broker_process_ids: Mapping[str, int]
    """By the name of the arm."""

    @property
    def process_ids(self) -> Sequence[int]:
        """Brokers and kproxy."""
        return [self.kproxy.process_id, *self.broker_process_ids.values()]


@contextmanager
def share_setting(settings: Mapping[str, str | int]) -> Iterator[ShareSetting]:
    """Start both brokers and kproxy, all with `settings`; everything is gone when the `with` ends."""
    with ExitStack() as running:
        behind = running.enter_context(_broker(settings, share_groups=False))
        native = running.enter_context(_broker(settings, share_groups=True))
        kproxy = running.enter_context(_kproxy(behind.bootstrap_servers, settings))
        kproxy.wait_until_ready()
        clusters = {KPROXY: behind, NATIVE: native}
        yield ShareSetting(
            kproxy,
            arms=[
                Arm(KPROXY, kproxy.bootstrap_servers, kproxy.process_id),
                Arm(NATIVE, native.bootstrap_servers, None),
            ],
            broker_addresses={name: cluster.bootstrap_servers for name, cluster in clusters.items()},
            broker_process_ids={name: cluster.broker_process_id(1) for name, cluster in clusters.items()},
        )


def _broker(settings: Mapping[str, str | int], *, share_groups: bool) -> KafkaCluster:
    # As the JVM runs by default, not as tests start it: both compilers, its own choice of collector.
    return KafkaCluster(share_groups=share_groups, heap=HEAP, jvm_options=(), broker_settings=dict(settings))


def _kproxy(bootstrap_servers: str, settings: Mapping[str, str | int]) -> KproxyProcess:
    # A crash below Python leaves its trace in the log.
    environment = {"PYTHONFAULTHANDLER": "1"}
    return KproxyProcess(bootstrap_servers, settings=settings, environment=environment)
