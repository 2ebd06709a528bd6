"""Runs clients through kproxy on one cluster, on three hosts, and writes a JSON line for each scenario.

`python -m tests.compatibility.run 4.3.1x1 [--client NAME]… [--scenario NAME]… [--direct]`, or `--help`. The program
replaces itself by one in new namespaces. A person sees on standard error how far it is; `--direct` lets the clients
talk to the brokers themselves, to see what is not kproxy's doing; `--leaky` puts a proxy in kproxy's place that
rewrites nothing, to see that this makes clients fail. The exit status is 0 if all passed.
"""

import argparse
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from tests.compatibility import kafkajs_packages
from tests.compatibility.backings import BACKINGS, Backing, UnknownBacking, backing_of
from tests.compatibility.kproxy_host import KproxyOnItsHost
from tests.compatibility.leaky_proxy import LeakyProxy
from tests.compatibility.namespaces import (
    BROKERS_ADDRESS,
    NamespacesRefused,
    ThreeHosts,
    start_again_on_brokers_host,
)
from tests.compatibility.play import Stage, play
from tests.compatibility.results import Result
from tests.compatibility.roster import CLIENTS, Client
from tests.compatibility.scenarios import Scenario
from tests.real_kafka import jars, tools
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.prerequisites import MissingPrerequisite
from tests.real_kafka.versions import REFERENCE

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


class Way(Enum):
    """What stands between clients and brokers."""

    KPROXY = auto()
    DIRECT = auto()
    LEAKY_PROXY = auto()


class KproxyComplained(RuntimeError):
    """kproxy logged a warning or worse, though nothing was wrong with the brokers and the clients."""


def main() -> int:
    """Run what the command line asks for; the exit status."""
    signal.signal(signal.SIGTERM, _end_in_order)
    options = _options()
    try:
        backing = backing_of(options.backing)
        if not options.inside:
            _go_inside(backing)
        clients = [client for client in CLIENTS if client.name in (options.client or _names(CLIENTS))]
        scenarios = {Scenario(name) for name in options.scenario or Scenario}
        return _run(backing, clients, scenarios, options.way or Way.KPROXY)
    except (UnknownBacking, ValueError) as mistake:
        return _complain(mistake, EXIT_USAGE)
    except (KproxyComplained, NamespacesRefused, MissingPrerequisite) as failure:
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
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--direct",
        dest="way",
        action="store_const",
        const=Way.DIRECT,
        help="clients get the brokers' addresses",
    )
    ways.add_argument(
        "--leaky",
        dest="way",
        action="store_const",
        const=Way.LEAKY_PROXY,
        help="a proxy that rewrites nothing",
    )
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _go_inside(backing: Backing) -> NoReturn:
    """Fetch what is needed while there is a network, then start again where there is none."""
    jars.fetch(backing.release)
    jars.fetch(REFERENCE)
    kafkajs_packages.node_modules()
    start_again_on_brokers_host("tests.compatibility.run", [*sys.argv[1:], "--inside"])


def _run(backing: Backing, clients: Sequence[Client], scenarios: set[Scenario], way: Way) -> int:
    cluster = KafkaCluster(
        backing.version,
        brokers=backing.broker_count,
        host=BROKERS_ADDRESS,
        broker_settings={**QUICK_GROUPS, **backing.broker_settings()},
        settings_by_node=backing.settings_by_node(),
    )
    with ThreeHosts() as hosts, cluster, tempfile.TemporaryDirectory() as scratch:
        tools.record_class_data(cluster.bootstrap_servers)
        with _reachable(way, hosts, cluster) as bootstrap_servers:
            stage = Stage(
                backing=backing,
                bootstrap_servers=bootstrap_servers,
                direct_servers=cluster.bootstrap_servers,
                within=() if way is Way.DIRECT else tuple(hosts.on_clients_host()),
                scratch=Path(scratch),
            )
            return _play_all(stage, clients, scenarios)


@contextmanager
def _reachable(way: Way, hosts: ThreeHosts, cluster: KafkaCluster) -> Iterator[str]:
    """The bootstrap servers that clients are given, while they are served."""
    direct = cluster.bootstrap_servers
    match way:
        case Way.DIRECT:
            yield direct
        case Way.LEAKY_PROXY:
            with LeakyProxy(hosts, cluster.broker_address(1)) as proxy:
                yield proxy.bootstrap_servers
        case Way.KPROXY:
            with KproxyOnItsHost(hosts, direct, binds_every_address=len(cluster.node_ids) > 1) as kproxy:
                kproxy.wait_until_ready()
                yield kproxy.bootstrap_servers
                if kproxy.troubles():
                    raise KproxyComplained(f"kproxy's warnings: {kproxy.troubles()}")


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
