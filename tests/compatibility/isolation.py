"""Tries who reaches whom on the three hosts, and writes it as one JSON line; then holds them until it is killed.

`python -m tests.compatibility.isolation`. The line has, by name, what each attempt failed with, empty if it got
through, and the ids of the processes that hold the hosts.
"""

import json
import socket
import sys
from typing import Final

from tests.compatibility.namespaces import (
    BROKERS_ADDRESS,
    KPROXY_FRONT_ADDRESS,
    ThreeHosts,
    run_ip,
    start_again_on_brokers_host,
)
from tests.real_kafka.child import Child

MODULE: Final = "tests.compatibility.isolation"
PORT: Final = 9092
NET_OF_BROKERS: Final = "198.51.100.0/24"
LISTEN: Final = """
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("listening", flush=True)
sys.stdin.read()
"""


def main() -> None:
    """Make the hosts, try, tell and hold."""
    if "--inside" not in sys.argv:
        start_again_on_brokers_host(MODULE, ["--inside"])
    with ThreeHosts() as hosts, socket.create_server(("0.0.0.0", PORT)):
        listen = [sys.executable, "-c", LISTEN, KPROXY_FRONT_ADDRESS, str(PORT)]
        with Child("listener on kproxy's host", hosts.on_kproxy_host(listen)) as listener:
            listener.next_line(timeout_seconds=10)
            told = {"failures": _failures(hosts), "holders": hosts.holders}
            print(json.dumps(told), flush=True)
            sys.stdin.read()


def _failures(hosts: ThreeHosts) -> dict[str, str]:
    kproxy, clients = hosts.on_kproxy_host(), hosts.on_clients_host()
    broker, front = f"{BROKERS_ADDRESS}:{PORT}", f"{KPROXY_FRONT_ADDRESS}:{PORT}"
    failures = {
        "clients to kproxy": hosts.failure_to_reach(clients, front),
        "kproxy to brokers": hosts.failure_to_reach(kproxy, broker),
        "clients to brokers": hosts.failure_to_reach(clients, broker),
        "clients to loopback": hosts.failure_to_reach(clients, f"127.0.0.1:{PORT}"),
    }
    run_ip("route", "add", NET_OF_BROKERS, "via", KPROXY_FRONT_ADDRESS, prefix=clients)
    failures["clients to brokers by a route through kproxy"] = hosts.failure_to_reach(clients, broker)
    return failures


if __name__ == "__main__":
    main()
