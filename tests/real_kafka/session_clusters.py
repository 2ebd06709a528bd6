"""Clusters that the tests of a session share."""

from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from tests.real_kafka import tools
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.versions import REFERENCE

QUICK_HEARTBEATS: Final = {
    "group.share.heartbeat.interval.ms": 500,
    "group.share.min.heartbeat.interval.ms": 500,
}
"""A member of a stock broker learns its assignment with its second heartbeat, by default 5 s after the first."""

SHORT_LOCKS: Final = {"group.share.min.record.lock.duration.ms": 1_000}
"""Locks may be shorter than the 15 s which are the least by default."""


class ClusterOfSession(Protocol):
    """The running cluster of this kind, started by the first test that asks; others share it.

    Where it serves share groups, their heartbeats are quick and their locks may be short.

    A test that stops brokers or wants settings of its own makes a `KafkaCluster` itself.
    """

    def __call__(
        self, version: str = REFERENCE.version, *, brokers: int = 1, share_groups: bool = False
    ) -> KafkaCluster: ...


class SessionClusters:
    """The clusters that a test session has started so far, one of a kind; `get` is a `ClusterOfSession`."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, int, bool], KafkaCluster] = {}

    def get(
        self, version: str = REFERENCE.version, *, brokers: int = 1, share_groups: bool = False
    ) -> KafkaCluster:
        """The running cluster of this kind, started now if it is the first call for it."""
        kind = (version, brokers, share_groups)
        if kind not in self._running:
            cluster = KafkaCluster(
                version,
                brokers=brokers,
                share_groups=share_groups,
                broker_settings={**QUICK_HEARTBEATS, **SHORT_LOCKS} if share_groups else None,
            )
            cluster.start()
            self._running[kind] = cluster
            if version == REFERENCE.version:
                tools.record_class_data(cluster.bootstrap_servers)
        return self._running[kind]

    def stop_all(self, *, keep_logs: bool) -> None:
        """Stop every cluster that was started, all at once."""
        if keep_logs:
            for cluster in self._running.values():
                cluster.keep_logs()
        with ThreadPoolExecutor() as threads:
            list(threads.map(KafkaCluster.stop, self._running.values()))
