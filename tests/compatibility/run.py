"""Runs clients through kproxy on one cluster, on three hosts, and writes a JSON line for each scenario.

`python -m tests.compatibility.run 4.3.1x1 [--client NAME]… [--scenario NAME]… [--direct]`, or `--help`. The program
replaces itself by one in new namespaces. A person sees on standard error how far it is; `--direct` lets the clients
talk to the brokers themselves, to see what is not kproxy's doing. The exit status is 0 if all passed.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from tests.compatibility import kafkajs_packages
from tests.compatibility.backings import BACKINGS, Backing, UnknownBacking, backing_of
from tests.compatibility.kproxy_host import KproxyOnItsHost
from tests.compatibility.namespaces import (
    BROKERS_ADDRESS,
    NamespacesRefused,
    ThreeHosts,
    command_on_brokers_host,
)
from tests.compatibility.play import Stage, play
from tests.compatibility.results import Result
from tests.compatibility.roster import CLIENTS, Client
from tests.compatibility.scenarios import Scenario
from tests.kafka import jars, tools
from tests.kafka.cluster import KafkaCluster
from tests.kafka.prerequisites import MissingPrerequisite
from tests.kafka.versions import REFERENCE

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_TERMINATED: Final = 143
CLIENTS_AT_A_TIME: Final = 3
"""Clients wait much of their time, but Java's start-up is all work."""

QUICK_GROUPS: Final = {
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 500,
}
"""A member of a KIP-848 group learns its assignment with a heartbeat, every 5 s by default."""


def main() -> int:
    """Run what the command line asks for; the exit status."""
    signal.signal(signal.SIGTERM, _end_in_order)
    options = _options()
    try:
        backing = backing_of(options.backing)
        if not options.inside:
            _go_inside(backing, options.direct)
        clients = [client for client in CLIENTS if client.name in (options.client or _names(CLIENTS))]
        scenarios = {Scenario(name) for name in options.scenario or Scenario}
        return _run(backing, clients, scenarios, is_direct=options.direct)
    except (UnknownBacking, ValueError) as mistake:
        return _complain(mistake, EXIT_USAGE)
    except (NamespacesRefused, MissingPrerequisite) as failure:
        return _complain(failure, EXIT_FAILED)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.compatibility.run", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("backing", help=", ".join(backing.label for backing in BACKINGS))
    parser.add_argument(
        "--client", action="append", choices=_names(CLIENTS), help="only this one; repeatable"
    )
    parser.add_argument("--scenario", action="append", help="only this one; repeatable")
    parser.add_argument("--direct", action="store_true", help="no kproxy: clients get the brokers' addresses")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _go_inside(backing: Backing, is_direct: bool) -> NoReturn:
    """Fetch what is needed while there is a network, then start again where there is none."""
    jars.fetch(backing.release)
    jars.fetch(REFERENCE)
    kafkajs_packages.node_modules()
    myself = [sys.executable, "-m", "tests.compatibility.run", *sys.argv[1:], "--inside"]
    command = [str(word) for word in command_on_brokers_host(myself)]
    os.execv(command[0], command)


def _run(backing: Backing, clients: Sequence[Client], scenarios: set[Scenario], *, is_direct: bool) -> int:
    cluster = KafkaCluster(
        backing.version,
        brokers=backing.broker_count,
        host=BROKERS_ADDRESS,
        broker_settings={**QUICK_GROUPS, **backing.broker_settings()},
        settings_by_node=backing.settings_by_node(),
    )
    with ThreeHosts() as hosts, cluster, tempfile.TemporaryDirectory() as scratch:
        direct = cluster.bootstrap_servers
        tools.record_class_data(direct)
        if is_direct:
            return _play_all(Stage(backing, direct, direct, (), Path(scratch)), clients, scenarios)
        with KproxyOnItsHost(hosts, direct, binds_every_address=backing.broker_count > 1) as kproxy:
            kproxy.wait_until_ready()
            stage = Stage(
                backing, kproxy.bootstrap_servers, direct, tuple(hosts.on_clients_host()), Path(scratch)
            )
            return _play_all(stage, clients, scenarios)


def _play_all(stage: Stage, clients: Sequence[Client], scenarios: set[Scenario]) -> int:
    writing = threading.Lock()
    has_failed = threading.Event()

    def play_one(client: Client) -> None:
        wanted = tuple(one for one in client.scenarios_on(stage.backing) if one in scenarios)
        for result in play(stage, client, wanted):
            with writing:
                _tell(result)
            if not result.has_passed:
                has_failed.set()

    with ThreadPoolExecutor(CLIENTS_AT_A_TIME) as threads:
        for done in [threads.submit(play_one, client) for client in _slowest_first(clients)]:
            done.result()
    return EXIT_FAILED if has_failed.is_set() else 0


def _slowest_first(clients: Sequence[Client]) -> Sequence[Client]:
    # Java's stand last in the table, and take longest.
    return list(reversed(clients))


def _tell(result: Result) -> None:
    print(result.to_line(), flush=True)
    verdict = "passed" if result.has_passed else f"FAILED: {result.error}"
    print(
        f"{result.seconds:6.2f} s  {result.client}: {result.scenario}: {verdict}", file=sys.stderr, flush=True
    )


def _names(clients: Iterable[Client]) -> list[str]:
    return [client.name for client in clients]


def _end_in_order(_signal_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(EXIT_TERMINATED)


def _complain(problem: Exception, exit_status: int) -> int:
    print(problem, file=sys.stderr, flush=True)
    return exit_status


if __name__ == "__main__":
    sys.exit(main())
