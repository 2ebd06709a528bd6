"""The settings files of nodes: a small cluster on loopback that starts fast, otherwise stock Kafka."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from tests.real_kafka.ports import LOOPBACK, ReservedPort

Settings: TypeAlias = Mapping[str, str | int]

CLIENT_LISTENER: Final = "CLIENTS"
CONTROLLER_LISTENER: Final = "CONTROLLER"
PROXIED_LISTENER: Final = "PROXIED"
INTERNAL_TOPIC_PARTITIONS: Final = 4
INTERNAL_TOPIC_REPLICAS: Final = 3
ZOOKEEPER_SESSION_TIMEOUT_MS: Final = 6_000


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """The ports of one broker node; the controller's is unused in ZooKeeper mode."""

    node_id: int
    client: ReservedPort
    controller: ReservedPort
    proxied: ReservedPort | None = None
    """Of a listener whose clients are told another host."""


def kraft_settings(own: BrokerPorts, every: Sequence[BrokerPorts], data: Path) -> dict[str, str | int]:
    """Settings of a combined broker and controller node."""
    voters = ",".join(f"{ports.node_id}@{ports.controller.address}" for ports in every)
    listeners = f"{CLIENT_LISTENER}://{own.client.address}"
    return {
        **_common_settings(len(every), data),
        "process.roles": "broker,controller",
        "node.id": own.node_id,
        "listeners": f"{listeners},{CONTROLLER_LISTENER}://{own.controller.address}",
        "advertised.listeners": listeners,
        "controller.listener.names": CONTROLLER_LISTENER,
        "controller.quorum.voters": voters,
        "listener.security.protocol.map": f"{CLIENT_LISTENER}:PLAINTEXT,{CONTROLLER_LISTENER}:PLAINTEXT",
        "share.coordinator.state.topic.num.partitions": INTERNAL_TOPIC_PARTITIONS,
        "share.coordinator.state.topic.replication.factor": min(len(every), INTERNAL_TOPIC_REPLICAS),
        "share.coordinator.state.topic.min.isr": 1,
    }


def zookeeper_broker_settings(
    own: BrokerPorts, every: Sequence[BrokerPorts], data: Path, zookeeper: ReservedPort
) -> dict[str, str | int]:
    """Settings of a broker whose metadata ZooKeeper keeps."""
    listeners = f"{CLIENT_LISTENER}://{own.client.address}"
    return {
        **_common_settings(len(every), data),
        "broker.id": own.node_id,
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": f"{CLIENT_LISTENER}:PLAINTEXT",
        "zookeeper.connect": zookeeper.address,
        "zookeeper.session.timeout.ms": ZOOKEEPER_SESSION_TIMEOUT_MS,
    }


def proxied_listener_settings(settings: Settings, port: ReservedPort, host: str) -> dict[str, str]:
    """Settings of a broker that also listens on `port`, and tells who comes there to come to that port of `host`."""
    return {
        "listeners": f"{settings['listeners']},{PROXIED_LISTENER}://{port.address}",
        "advertised.listeners": f"{settings['advertised.listeners']},{PROXIED_LISTENER}://{host}:{port.number}",
        "listener.security.protocol.map": (
            f"{settings['listener.security.protocol.map']},{PROXIED_LISTENER}:PLAINTEXT"
        ),
    }


def zookeeper_settings(port: ReservedPort, data: Path) -> dict[str, str | int]:
    """Settings of a standalone ZooKeeper; `dump` lists the brokers that are registered."""
    return {
        "dataDir": str(data),
        "clientPort": port.number,
        "clientPortAddress": LOOPBACK,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "dump",
        "tickTime": 1000,
        "maxClientCnxns": 0,
    }


def write_settings(path: Path, settings: Settings) -> None:
    """Write a Java properties file; a value's line breaks and backslashes are escaped."""
    lines = (f"{key}={_escaped(str(value))}\n" for key, value in settings.items())
    path.write_text("".join(lines))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _common_settings(broker_count: int, data: Path) -> dict[str, str | int]:
    replicas = min(broker_count, INTERNAL_TOPIC_REPLICAS)
    return {
        "log.dirs": str(data),
        "inter.broker.listener.name": CLIENT_LISTENER,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "offsets.topic.num.partitions": INTERNAL_TOPIC_PARTITIONS,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.num.partitions": INTERNAL_TOPIC_PARTITIONS,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        # 128 MiB of heap by default, too much for the small heaps of tests.
        "log.cleaner.dedupe.buffer.size": 8 * 1024 * 1024,
    }
