"""Asks a ZooKeeper which brokers it knows."""

import socket
import time
from typing import Final

from tests.real_kafka.administration import NotInTime
from tests.real_kafka.ports import LOOPBACK

POLL_SECONDS: Final = 0.1


def wait_until_broker_is_forgotten(port: int, node_id: int, deadline: float) -> None:
    """Return when no session registers the broker any more.

    A killed broker stays registered until its session times out, and its successor would refuse to start.
    `deadline` is in seconds of the monotonic clock; raises `NotInTime` when it passes.
    """
    while f"/brokers/ids/{node_id}\n" in _ephemeral_nodes(port):
        if time.monotonic() > deadline:
            raise NotInTime(f"ZooKeeper still knows broker {node_id}")
        time.sleep(POLL_SECONDS)


def _ephemeral_nodes(port: int) -> str:
    with socket.create_connection((LOOPBACK, port), timeout=5) as connection:
        connection.sendall(b"dump")
        with connection.makefile("rb") as answer:
            return answer.read().decode() + "\n"
