"""Clusters of real Apache Kafka brokers on this machine, each broker a plain `java` process."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kproxy.wording import counted
from tests.real_kafka import administration, zookeeper_probe
from tests.real_kafka.administration import ClientSettings
from tests.real_kafka.cluster_layout import ClusterLayout, ClusterPlan, lay_out
from tests.real_kafka.java_command import QUICK_START_OPTIONS
from tests.real_kafka.node import Node
from tests.real_kafka.node_settings import Settings
from tests.real_kafka.ports import LOOPBACK
from tests.real_kafka.versions import REFERENCE, release_of

LARGEST_BROKER_COUNT: Final = 3
LAST_PORT: Final = 65_535
START_TIMEOUT_SECONDS: Final = 90.0
BROKER_STOP_GRACE_SECONDS: Final = 30.0
KEPT_DATA_STOP_GRACE_SECONDS: Final = 10.0
CLUSTER_STOP_GRACE_SECONDS: Final = 2.0
"""Short, since the data goes anyway: brokers that lose their quorum while they hand over wait for nothing."""


class KafkaCluster:
    """One to three brokers with node ids from 1, started by `start` or `with`, gone after `stop`.

    With KRaft every node is broker and controller; Kafka 2.8 runs on a ZooKeeper of its own. Whatever happens
    to this Python process, its brokers end with it. The logs of a cluster that failed, or that is told to
    `keep_logs`, stay under `build/kafka-logs/`; data stays only in a `data_folder`.

    Not for use by several threads at a time.
    """

    def __init__(
        self,
        version: str = REFERENCE.version,
        *,
        brokers: int = 1,
        share_groups: bool = False,
        host: str = LOOPBACK,
        broker_settings: Settings | None = None,
        settings_by_node: Mapping[int, Settings] | None = None,
        client_settings: ClientSettings | None = None,
        heap: str = "512m",
        jvm_options: Sequence[str] = QUICK_START_OPTIONS,
        first_port: int = 0,
        data_folder: Path | None = None,
        proxied_host: str = "",
    ) -> None:
        """Describe a cluster; nothing is started.

        The brokers listen on and advertise `host`, an IPv4 address of this machine; with `first_port` broker 1
        at that port, broker 2 at the next one. What is in `data_folder` stays, and a later cluster of the same
        kind goes on with it. `broker_settings` overrides and adds to every broker's settings,
        `settings_by_node` to those of single brokers by node id. `client_settings` are what a librdkafka
        client needs to be let in where those settings ask for it. With a `proxied_host` each broker has a second
        listener, at `proxied_addresses`, whose clients are told to come to the same port of that host: whoever listens
        there stands between them and all brokers.
        Raises `UnknownVersion`, and `ValueError` for what the version cannot be asked.
        """
        release = release_of(version)
        if not 1 <= brokers <= LARGEST_BROKER_COUNT:
            raise ValueError(f"a cluster has 1 to {LARGEST_BROKER_COUNT} brokers, not {brokers}")
        if share_groups and not release.has_share_groups:
            raise ValueError(f"Apache Kafka {version} has no share groups to switch on")
        if not 0 <= first_port <= LAST_PORT - brokers + 1:
            raise ValueError(f"the first port of {counted(brokers, 'broker')} cannot be {first_port}")
        self._plan = ClusterPlan(
            release=release,
            host=host,
            node_ids=tuple(range(1, brokers + 1)),
            share_groups=share_groups,
            broker_settings=dict(broker_settings or {}),
            settings_by_node=dict(settings_by_node or {}),
            jvm_options=(f"-Xmx{heap}", *jvm_options),
            first_port=first_port,
            data_folder=None if data_folder is None else data_folder.resolve(),
            proxied_host=proxied_host,
        )
        self._client_settings = dict(client_settings or {})
        self._layout: ClusterLayout | None = None
        self._keeps_logs = False
        self.kept_logs: Path | None = None
        """Where the logs are after `stop`, if they were kept."""

    @property
    def version(self) -> str:
        """Apache Kafka's version."""
        return self._plan.release.version

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The brokers' node ids, from 1."""
        return self._plan.node_ids

    @property
    def data_folder(self) -> Path | None:
        """Where the data stays; None if it goes with the cluster."""
        return self._plan.data_folder

    @property
    def share_groups(self) -> bool:
        """Whether the brokers serve share groups themselves."""
        return self._plan.share_groups

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of every broker, separated by commas."""
        return ",".join(self.broker_address(node_id) for node_id in self.node_ids)

    @property
    def process_ids(self) -> list[int]:
        """The ids of all `java` processes of this cluster that run now."""
        nodes = self._layout.nodes if self._layout else []
        return [node.process_id for node in nodes if node.is_running]

    @property
    def dead_nodes(self) -> list[str]:
        """The names of nodes that ended though nobody asked them to."""
        nodes = self._layout.nodes if self._layout else []
        return [node.name for node in nodes if node.has_died]

    def broker_address(self, node_id: int) -> str:
        """`HOST:PORT` of one broker; stays the same while it is stopped and started, unless it is moved."""
        return self._running().ports[node_id].client.address

    @property
    def proxied_addresses(self) -> dict[int, tuple[str, int]]:
        """Host and port of each broker's second listener, by node id; empty without a `proxied_host`."""
        return {
            node_id: (ports.proxied.host, ports.proxied.number)
            for node_id, ports in self._running().ports.items()
            if ports.proxied is not None
        }

    def broker_process_id(self, node_id: int) -> int:
        """The id of a broker's `java` process."""
        return self._broker(node_id).process_id

    def broker_log(self, node_id: int) -> Path:
        """The log file of a running cluster's broker."""
        return self._broker(node_id).log

    def start(self) -> None:
        """Start all nodes; returns when every broker serves and lists every other.

        Raises `NodeFailed` with the end of a node's log if one dies or is not ready in time, after stopping
        all.
        """
        if self._layout is not None:
            raise RuntimeError("the cluster is running")
        self._keeps_logs, self.kept_logs = False, None
        self._layout = lay_out(self._plan)
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        try:
            self._start_zookeeper(deadline)
            self._start_brokers(self.node_ids, deadline)
        except BaseException as error:
            self._stop_after(error)
            raise

    def stop(self) -> None:
        """End every node with SIGTERM, 2 s later with SIGKILL (10 s if the data stays). May be called again."""
        if self._layout is None:
            return
        if self.dead_nodes:
            self.keep_logs()
        _end_nodes(
            self._layout,
            CLUSTER_STOP_GRACE_SECONDS if self.data_folder is None else KEPT_DATA_STOP_GRACE_SECONDS,
        )
        if self._keeps_logs:
            self.kept_logs = self._layout.run.keep_logs()
        self._layout.run.remove()
        self._layout.release_ports()
        self._layout = None

    def keep_logs(self) -> None:
        """Let the logs stay after `stop`: something failed that they may explain."""
        self._keeps_logs = True

    def stop_broker(self, node_id: int) -> None:
        """Shut one broker down as an operator would: it hands its leaderships over first."""
        self._broker(node_id).ask_to_end()
        self._broker(node_id).finish(grace_seconds=BROKER_STOP_GRACE_SECONDS)

    def kill_broker(self, node_id: int) -> None:
        """SIGKILL one broker; its port refuses when this returns."""
        self._broker(node_id).kill()

    def start_broker(self, node_id: int) -> None:
        """Start a broker that was stopped or killed, on the same port and data; returns when it serves."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        zookeeper_port = self._running().zookeeper_port
        if zookeeper_port is not None:
            zookeeper_probe.wait_until_broker_is_forgotten(zookeeper_port.number, node_id, deadline)
        self._start_brokers([node_id], deadline)

    def start_all_brokers(self) -> None:
        """Do the same for all of them at once, after all were stopped or killed. With KRaft only."""
        self._start_brokers(self.node_ids, time.monotonic() + START_TIMEOUT_SECONDS)

    def move_broker(self, node_id: int) -> None:
        """Let a broker that was stopped or killed come back at another port."""
        self._running().move_broker(node_id)

    def swap_addresses(self, first: int, second: int) -> None:
        """Let two brokers that were stopped or killed come back each where the other one was. With KRaft only.

        They are to be started at once, by `start_brokers`.
        """
        layout = self._running()
        ports = {node_id: layout.ports[node_id].client for node_id in (first, second)}
        layout.move_broker(first, ports[second])
        layout.move_broker(second, ports[first])

    def start_brokers(self, node_ids: Sequence[int]) -> None:
        """Start brokers at once that were stopped or killed; returns when they serve. With KRaft only."""
        self._start_brokers(node_ids, time.monotonic() + START_TIMEOUT_SECONDS)

    def pause_broker(self, node_id: int) -> None:
        """Freeze one broker: its connections stay open, nothing is answered."""
        self._broker(node_id).pause()

    def resume_broker(self, node_id: int) -> None:
        """Let a frozen broker go on."""
        self._broker(node_id).resume()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop_after(error)

    def _start_zookeeper(self, deadline: float) -> None:
        zookeeper = self._running().zookeeper
        if zookeeper is not None:
            zookeeper.start()
            zookeeper.wait_until_ready(deadline)

    def _start_brokers(self, node_ids: Sequence[int], deadline: float) -> None:
        for node_id in node_ids:
            self._broker(node_id).start()
        for node_id in node_ids:
            self._broker(node_id).wait_until_ready(deadline)
        running = [node_id for node_id in self.node_ids if self._broker(node_id).is_running]
        administration.wait_until_brokers_are_listed(
            [self.broker_address(node_id) for node_id in running],
            deadline,
            client_settings=self._client_settings,
        )

    def _stop_after(self, error: BaseException | None) -> None:
        # Ctrl-C is no failure that a log would explain.
        if isinstance(error, Exception):
            self.keep_logs()
        self.stop()

    def _broker(self, node_id: int) -> Node:
        return self._running().brokers[node_id]

    def _running(self) -> ClusterLayout:
        if self._layout is None:
            raise RuntimeError("the cluster is not running")
        return self._layout


def _end_nodes(layout: ClusterLayout, grace_seconds: float) -> None:
    give_up_at = time.monotonic() + grace_seconds
    for broker in layout.brokers.values():
        broker.ask_to_end()
    for broker in layout.brokers.values():
        broker.finish(grace_seconds=max(0.0, give_up_at - time.monotonic()))
    if layout.zookeeper is not None:
        layout.zookeeper.ask_to_end()
        layout.zookeeper.finish(grace_seconds=CLUSTER_STOP_GRACE_SECONDS)
