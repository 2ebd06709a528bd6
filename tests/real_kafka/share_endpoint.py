"""Where share consumers of a test connect: a kproxy in front of a cluster, or a cluster with share groups itself.

A test that holds for both says with `native` what stock Kafka does, and otherwise that kproxy does the same.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS, SHORT_LOCKS, ClusterOfSession
from tests.real_kafka.versions import OLDEST, REFERENCE, WITHOUT_SHARE_GROUPS

LONG_LOCK_MS: Final = 60_000
"""The longest lock that may be configured: what happens earlier, no expired lock explains."""
SHORT_LOCK_MS: Final = 15_000
"""The shortest lock that may be configured, unless kproxy is told otherwise."""
BRIEF_LOCK_MS: Final = 5_000
"""Where locks may be short, as in `QUICK_GROUPS`; a test that waits for its end takes that much longer."""

QUICK_GROUPS: Final = {
    **QUICK_HEARTBEATS,
    **SHORT_LOCKS,
    "group.share.session.timeout.ms": 5_000,
    "group.share.min.session.timeout.ms": 5_000,
}
"""A member that says nothing any more is assigned its partitions for a session timeout, by default 45 s."""


@dataclass(frozen=True, slots=True)
class EndpointKind:
    """What an endpoint is made of."""

    version: str
    brokers: int = 1
    is_native: bool = False
    """No kproxy; the cluster serves share groups."""
    settings: Mapping[str, str | int] = field(default_factory=dict)
    """Of kproxy."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of kproxy."""


NATIVE: Final = "native"
KPROXY_REFERENCE: Final = f"kproxy-{REFERENCE.version}"
KPROXY_WITHOUT_SHARE_GROUPS: Final = f"kproxy-{WITHOUT_SHARE_GROUPS.version}"
KPROXY_OLDEST: Final = f"kproxy-{OLDEST.version}"
KPROXY_CONSTRUCT: Final = f"kproxy-{REFERENCE.version}-construct"
KPROXY_QUICK_GROUPS: Final = f"kproxy-{REFERENCE.version}-quick-groups"
KPROXY_WITHOUT_SHARE_GROUPS_QUICK_GROUPS: Final = f"kproxy-{WITHOUT_SHARE_GROUPS.version}-quick-groups"
KPROXY_OLDEST_QUICK_GROUPS: Final = f"kproxy-{OLDEST.version}-quick-groups"
KPROXY_THREE_BROKERS: Final = f"kproxy-{REFERENCE.version}-three-brokers"

ENDPOINT_KINDS: Final[Mapping[str, EndpointKind]] = {
    NATIVE: EndpointKind(REFERENCE.version, is_native=True),
    KPROXY_REFERENCE: EndpointKind(REFERENCE.version),
    KPROXY_WITHOUT_SHARE_GROUPS: EndpointKind(WITHOUT_SHARE_GROUPS.version),
    KPROXY_OLDEST: EndpointKind(OLDEST.version),
    KPROXY_CONSTRUCT: EndpointKind(REFERENCE.version, environment={"KPROXY_CODEC": "construct"}),
    KPROXY_QUICK_GROUPS: EndpointKind(REFERENCE.version, settings=QUICK_GROUPS),
    KPROXY_WITHOUT_SHARE_GROUPS_QUICK_GROUPS: EndpointKind(
        WITHOUT_SHARE_GROUPS.version, settings=QUICK_GROUPS
    ),
    KPROXY_OLDEST_QUICK_GROUPS: EndpointKind(OLDEST.version, settings=QUICK_GROUPS),
    KPROXY_THREE_BROKERS: EndpointKind(REFERENCE.version, brokers=3),
}


@dataclass(frozen=True, slots=True)
class ShareEndpoint:
    """An address that share consumers are given, and what is behind it."""

    bootstrap_servers: str
    cluster: KafkaCluster
    kproxy: KproxyProcess | None

    def new_topic(self, *, partitions: int = 1, replicas: int = 1) -> str:
        """A topic of its own for a test."""
        name = unique_name("topic")
        return administration.create_topic(
            self.bootstrap_servers, name, partitions=partitions, replicas=replicas
        )

    def new_group(self, *, lock_ms: int = LONG_LOCK_MS) -> str:
        """A group that begins with the earliest record and locks records for `lock_ms`."""
        group = unique_name("group")
        settings = {
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": str(lock_ms),
        }
        administration.set_group_settings(self.bootstrap_servers, group, settings)
        return group

    def keep_logs(self) -> None:
        """Let the logs stay: something failed that they may explain."""
        if self.kproxy is None:
            self.cluster.keep_logs()
        else:
            self.kproxy.keep_log()


class EndpointsOfSession:
    """The endpoints by name, each started by the first test that asks for it and shared by the others."""

    def __init__(self, cluster_of_session: ClusterOfSession) -> None:
        self._cluster_of_session = cluster_of_session
        self._started: dict[str, ShareEndpoint] = {}
        self._owned = ExitStack()

    def __call__(self, name: str) -> ShareEndpoint:
        """The running endpoint of this name."""
        if name not in self._started:
            kind = ENDPOINT_KINDS[name]
            self._started[name] = self._native(kind) if kind.is_native else self._through_kproxy(kind)
        return self._started[name]

    def stop_all(self, *, keep_logs: bool) -> None:
        """End what was started for endpoints alone: every kproxy."""
        if keep_logs:
            for endpoint in self._started.values():
                endpoint.keep_logs()
        self._owned.close()

    def _native(self, kind: EndpointKind) -> ShareEndpoint:
        cluster = self._cluster_of_session(kind.version, brokers=kind.brokers, share_groups=True)
        return ShareEndpoint(cluster.bootstrap_servers, cluster, kproxy=None)

    def _through_kproxy(self, kind: EndpointKind) -> ShareEndpoint:
        cluster = self._cluster_of_session(kind.version, brokers=kind.brokers)
        kproxy = KproxyProcess(
            cluster.bootstrap_servers,
            node_ids=cluster.node_ids,
            settings=kind.settings,
            environment=kind.environment,
        )
        self._owned.callback(kproxy.stop)
        kproxy.wait_until_ready()
        return ShareEndpoint(kproxy.bootstrap_servers, cluster, kproxy)
