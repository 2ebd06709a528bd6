"""What a cluster consists of before anything runs: ports, formatted data folders, settings files, nodes."""

import functools
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.real_kafka import jars, kept_data, prerequisites
from tests.real_kafka.java_command import ClassData, java_command
from tests.real_kafka.kept_data import ClusterKind
from tests.real_kafka.node import Node, NodePlan
from tests.real_kafka.node_settings import (
    BrokerPorts,
    Settings,
    kraft_settings,
    proxied_listener_settings,
    write_settings,
    zookeeper_broker_settings,
    zookeeper_settings,
)
from tests.real_kafka.ports import ReservedPort
from tests.real_kafka.run_folder import RunFolder
from tests.real_kafka.storage_format import format_data_folder, random_kafka_id
from tests.real_kafka.versions import KafkaRelease, MetadataMode

BROKER_MAIN_CLASS: Final = "kafka.Kafka"
BROKER_READY_TEXTS: Final = {
    MetadataMode.KRAFT: "Kafka Server started",
    MetadataMode.ZOOKEEPER: "] started (kafka.server.KafkaServer)",
}
ZOOKEEPER_MAIN_CLASS: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
ZOOKEEPER_READY_TEXT: Final = "binding to port"


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """What was asked for."""

    release: KafkaRelease
    host: str
    """The IPv4 address that brokers listen on and advertise."""
    node_ids: tuple[int, ...]
    share_groups: bool
    broker_settings: Settings
    settings_by_node: Mapping[int, Settings]
    """Settings of single brokers by node id, over those of all."""
    jvm_options: tuple[str, ...]
    first_port: int = 0
    """The client port of the first broker, the next one's is one more; 0 for any free ones."""
    data_folder: Path | None = None
    """Where the data is to stay; None for a folder that goes with the cluster."""
    proxied_host: str = ""
    """The host that clients of a second listener are told; empty if there is no such listener."""

    @property
    def kind(self) -> ClusterKind:
        """What data that was kept must be of."""
        return ClusterKind(self.release.version, len(self.node_ids), self.share_groups)

    def client_port(self, node_id: int) -> ReservedPort:
        """Reserve the port that a broker serves clients on. Raises `PortTaken`."""
        number = self.first_port + node_id - min(self.node_ids) if self.first_port else 0
        return ReservedPort(self.host, number)


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """The nodes of one run, running or not, and their ports, which are held until `release_ports`."""

    plan: ClusterPlan
    run: RunFolder
    ports: dict[int, BrokerPorts]
    brokers: dict[int, Node]
    zookeeper_port: ReservedPort | None
    zookeeper: Node | None
    left_ports: list[ReservedPort] = field(default_factory=list)
    """Where brokers were; nobody gets them, so that nobody listens there."""

    @property
    def nodes(self) -> Sequence[Node]:
        """ZooKeeper, if there is one, and all brokers."""
        return [*([self.zookeeper] if self.zookeeper else []), *self.brokers.values()]

    def move_broker(self, node_id: int, client: ReservedPort | None = None) -> None:
        """Let a broker that does not run serve clients on port `client` from its next start on, or on any free one."""
        before = self.ports[node_id]
        self.ports[node_id] = replace(before, client=client or ReservedPort(self.plan.host))
        self.left_ports.append(before.client)
        self.brokers[node_id] = _broker_node(self.run, self.plan, self.ports, node_id, self.zookeeper_port)

    def release_ports(self) -> None:
        """Give all ports back."""
        for left in self.left_ports:
            left.release()
        for ports in self.ports.values():
            ports.client.release()
            ports.controller.release()
            if ports.proxied is not None:
                ports.proxied.release()
        if self.zookeeper_port is not None:
            self.zookeeper_port.release()


def lay_out(plan: ClusterPlan) -> ClusterLayout:
    """Reserve ports, write settings, and format data folders where the release wants that; starts nothing.

    Raises what fetching jars and formatting raise, `MissingPrerequisite`, `PortTaken` and `DataFolderUnusable`; nothing
    is reserved then.
    """
    prerequisites.java()
    jars.fetch(plan.release)
    run = RunFolder.create(f"kafka-{plan.release.version}")
    try:
        return _lay_out_in(run, plan)
    except BaseException:
        run.remove()
        raise


def _lay_out_in(run: RunFolder, plan: ClusterPlan) -> ClusterLayout:
    uses_zookeeper = plan.release.metadata_mode is MetadataMode.ZOOKEEPER
    _prepare_data(run, plan)
    ports = _reserve_ports(plan)
    zookeeper_port = ReservedPort() if uses_zookeeper else None
    zookeeper = _zookeeper_node(run, plan, zookeeper_port) if zookeeper_port else None
    brokers = {node_id: _broker_node(run, plan, ports, node_id, zookeeper_port) for node_id in plan.node_ids}
    return ClusterLayout(plan, run, ports, brokers, zookeeper_port, zookeeper)


def _reserve_ports(plan: ClusterPlan) -> dict[int, BrokerPorts]:
    with ExitStack() as reserved:
        ports = {
            node_id: BrokerPorts(
                node_id,
                reserved.enter_context(plan.client_port(node_id)),
                reserved.enter_context(ReservedPort(plan.host)),
                reserved.enter_context(ReservedPort(plan.host)) if plan.proxied_host else None,
            )
            for node_id in plan.node_ids
        }
        reserved.pop_all()
        return ports


def _prepare_data(run: RunFolder, plan: ClusterPlan) -> None:
    """Have the data folders formatted, unless they were kept. ZooKeeper's brokers format theirs themselves."""
    if plan.data_folder is not None and kept_data.take_up(plan.data_folder, plan.kind):
        return
    if plan.release.metadata_mode is not MetadataMode.ZOOKEEPER:
        _format_data_folders(run, plan)
    if plan.data_folder is not None:
        kept_data.describe(plan.data_folder, plan.kind)


def _format_data_folders(run: RunFolder, plan: ClusterPlan) -> None:
    cluster_id = random_kafka_id()
    for node_id in plan.node_ids:
        format_data_folder(
            plan.release,
            _data_folder(run, plan, node_id),
            node_id=node_id,
            cluster_id=cluster_id,
            share_groups=plan.share_groups,
        )


def _broker_node(
    run: RunFolder,
    plan: ClusterPlan,
    ports: Mapping[int, BrokerPorts],
    node_id: int,
    zookeeper_port: ReservedPort | None,
) -> Node:
    own, every, data = ports[node_id], list(ports.values()), _data_folder(run, plan, node_id)
    if zookeeper_port is None:
        settings = kraft_settings(own, every, data)
    else:
        settings = zookeeper_broker_settings(own, every, data, zookeeper_port)
    if own.proxied is not None:
        settings |= proxied_listener_settings(settings, own.proxied, plan.proxied_host)
    name = f"broker-{node_id}"
    settings_path = run.logs / f"{name}.properties"
    more_settings = {**plan.broker_settings, **plan.settings_by_node.get(node_id, {})}
    write_settings(settings_path, {**settings, **more_settings})
    return Node(
        NodePlan(
            name=name,
            command=functools.partial(_command, plan, BROKER_MAIN_CLASS, settings_path),
            log=run.logs / f"{name}.log",
            port=own.client,
            ready_text=BROKER_READY_TEXTS[plan.release.metadata_mode],
            class_data=ClassData(plan.release, "broker", recorder=f"{run.path.name}-{name}"),
            # Recording takes seconds at the end: one broker of a cluster is enough.
            may_record_class_data=node_id == min(plan.node_ids),
        )
    )


def _zookeeper_node(run: RunFolder, plan: ClusterPlan, port: ReservedPort) -> Node:
    settings_path = run.logs / "zookeeper.properties"
    write_settings(settings_path, zookeeper_settings(port, _data_root(run, plan) / "zookeeper-data"))
    return Node(
        NodePlan(
            name="zookeeper",
            command=functools.partial(_command, plan, ZOOKEEPER_MAIN_CLASS, settings_path),
            log=run.logs / "zookeeper.log",
            port=port,
            ready_text=ZOOKEEPER_READY_TEXT,
            class_data=ClassData(plan.release, "zookeeper", recorder=run.path.name),
            may_record_class_data=True,
        )
    )


def _command(
    plan: ClusterPlan, main_class: str, settings_path: Path, class_data_options: list[str]
) -> list[str | Path]:
    options = [*plan.jvm_options, *class_data_options]
    return java_command(plan.release, main_class, [settings_path], options=options, log_role="node")


def _data_folder(run: RunFolder, plan: ClusterPlan, node_id: int) -> Path:
    return _data_root(run, plan) / f"broker-{node_id}-data"


def _data_root(run: RunFolder, plan: ClusterPlan) -> Path:
    return plan.data_folder or run.path
