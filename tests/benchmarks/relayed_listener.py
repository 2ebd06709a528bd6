"""A second address of a running broker, for clients behind a relay that rewrites nothing.

haproxy passes bytes on, so clients connect wherever the broker tells them to. The broker therefore has a further
listener that is haproxy's target and advertises haproxy's port; whoever comes through haproxy is told to come back
through haproxy, and whoever comes to the first listener is told of the first.
"""

from collections.abc import Mapping
from typing import Final

from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.ports import ReservedPort

NAME: Final = "RELAYED"


def add_relayed_listener(cluster: KafkaCluster, listen: ReservedPort, advertised_address: str) -> None:
    """Restart the only broker of `cluster` with a listener on `listen` that advertises `advertised_address`."""
    add_listeners(cluster, {NAME: (listen.address, advertised_address)}, "PLAINTEXT")


def add_listeners(
    cluster: KafkaCluster,
    addresses: Mapping[str, tuple[str, str]],
    protocol: str,
    more_settings: Mapping[str, str] | None = None,
) -> None:
    """Restart the only broker of `cluster` with more listeners: by name, where each listens and what it advertises."""
    # A cluster learns its ports when it starts and writes them beside the broker's log.
    (node_id,) = cluster.node_ids
    settings = cluster.broker_log(node_id).with_suffix(".properties")
    added = {
        "listeners": ",".join(f"{name}://{listen}" for name, (listen, _) in addresses.items()),
        "advertised.listeners": ",".join(f"{name}://{told}" for name, (_, told) in addresses.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name in addresses),
    }
    lines = [_extended(line, added) for line in settings.read_text().splitlines()]
    assert not added, f"{settings.name} has no {', '.join(added)}"
    cluster.stop_broker(node_id)
    lines += [f"{key}={value}" for key, value in (more_settings or {}).items()]
    settings.write_text("\n".join([*lines, ""]))
    cluster.start_broker(node_id)


def _extended(line: str, added: dict[str, str]) -> str:
    """`line`, with what is to be added to its key, which is taken out of `added`."""
    key, _, _value = line.partition("=")
    return f"{line},{added.pop(key)}" if key in added else line
