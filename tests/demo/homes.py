"""Behind which kproxy a client is: to which of the ports that stand for a broker its process is connected."""

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Final

import psutil
from confluent_kafka import ShareConsumer

MOST_TRIES: Final = 200
TRY_SECONDS: Final = 0.3
"""A client that has not connected by then does so when it has something to ask, and to whom nobody knows."""
LOOK_SECONDS: Final = 0.02


def connected_to(process_id: int | None = None) -> list[tuple[str, int]]:
    """Return host and port of all that a process, or this one, has a connection to; nothing if it has ended."""
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        connections = psutil.Process(process_id).net_connections("tcp4")
        return [
            tuple(one.raddr) for one in connections if one.status == psutil.CONN_ESTABLISHED and one.raddr
        ]
    return []


def consumer_behind(home: Collection[str], settings: Mapping[str, Any]) -> ShareConsumer:
    """Return a consumer that knows the brokers of one kproxy, which clients connect to at the addresses of `home`.

    Any will do if there are none. librdkafka takes any of its bootstrap servers at first, and the brokers that this one
    names from then on. So that members are behind different kproxies from the start the dice are thrown until they say
    so. Raises `SystemExit` if they never do.
    """
    for _ in range(MOST_TRIES):
        consumer = ShareConsumer(dict(settings))
        if not home or _is_settled_at(home):
            return consumer
        consumer.close()
    raise SystemExit(f"none of {MOST_TRIES} clients connected to {' and '.join(home)}")


def _is_settled_at(home: Collection[str]) -> bool:
    """Whether this process connects to the last address of `home`, which stands for a broker, and to no stranger."""
    *_, broker = home
    deadline = time.monotonic() + TRY_SECONDS
    while time.monotonic() < deadline:
        connections = {f"{host}:{port}" for host, port in connected_to()}
        if not connections <= set(home):
            return False
        if connections == {broker}:
            return True
        time.sleep(LOOK_SECONDS)
    return False
