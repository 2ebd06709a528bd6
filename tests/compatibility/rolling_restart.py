"""Restarts every broker of a cluster of three, one after the other, under load through kproxy and beside it.

`python -m tests.compatibility.rolling_restart VERSION` writes one JSON line, a `RollingRestart`: what the client
through kproxy met, and what the one that talks to the brokers met at the same time, which is the control.
"""

import argparse
import json
import signal
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Final, NoReturn, Self

from tests.compatibility.backings import Backing
from tests.compatibility.clients.load import PARTITIONS, LoadReport
from tests.compatibility.clients.propagation import wait_until_known_everywhere
from tests.compatibility.kproxy_host import KproxyOnItsHost
from tests.compatibility.namespaces import (
    BROKERS_ADDRESS,
    Command,
    ThreeHosts,
    start_again_on_brokers_host,
)
from tests.real_kafka import administration, jars
from tests.real_kafka.administration import unique_name
from tests.real_kafka.child import Child
from tests.real_kafka.cluster import KafkaCluster

MODULE: Final = "tests.compatibility.rolling_restart"
LOAD_MODULE: Final = "tests.compatibility.clients.load"
REPORT_TIMEOUT_SECONDS: Final = 180.0
EXIT_TERMINATED: Final = 143

TOPIC_SETTINGS: Final = {"min.insync.replicas": "2"}


@dataclass(frozen=True, slots=True)
class RollingRestart:
    """What the same load met with kproxy between, and without."""

    through_kproxy: LoadReport
    direct: LoadReport
    kproxy_troubles: list[dict[str, object]]
    """What kproxy logged as a warning or worse."""

    @classmethod
    def from_line(cls, line: str) -> Self:
        """What `main` has written."""
        told = json.loads(line)
        return cls(
            LoadReport(**told["through_kproxy"]),
            LoadReport(**told["direct"]),
            told["kproxy_troubles"],
        )


def main() -> None:
    """Run it for the version on the command line."""
    signal.signal(signal.SIGTERM, _end_in_order)
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("version")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    backing = Backing(options.version, 3)
    if not options.inside:
        jars.fetch(backing.release)
        start_again_on_brokers_host(MODULE, [*sys.argv[1:], "--inside"])
    print(json.dumps(asdict(_run(backing))), flush=True)


def _run(backing: Backing) -> RollingRestart:
    cluster = KafkaCluster(backing.version, brokers=backing.broker_count, host=BROKERS_ADDRESS)
    with (
        ThreeHosts() as hosts,
        cluster,
        KproxyOnItsHost(hosts, cluster.bootstrap_servers, binds_every_address=True) as kproxy,
    ):
        kproxy.wait_until_ready()
        topics = [_new_topic(cluster) for _ in range(2)]
        with ExitStack() as loads:
            ways: list[tuple[Command, str]] = [
                (hosts.on_clients_host(), kproxy.bootstrap_servers),
                # One address, as the other has one.
                ((), cluster.broker_address(cluster.node_ids[0])),
            ]
            running = [
                loads.enter_context(_load(within, servers, topic))
                for (within, servers), topic in zip(ways, topics, strict=True)
            ]
            for load in running:
                load.next_line(timeout_seconds=REPORT_TIMEOUT_SECONDS)
            _restart_each_broker(cluster, topics)
            through_kproxy, direct = [_report(load) for load in running]
        for report, topic in zip((through_kproxy, direct), topics, strict=True):
            _compare_with_log(report, cluster, topic)
        return RollingRestart(through_kproxy, direct, kproxy.troubles())


def _load(within: Command, bootstrap_servers: str, topic: str) -> Child:
    command = [*within, sys.executable, "-m", LOAD_MODULE, bootstrap_servers, topic, unique_name("group")]
    return Child(f"load on {bootstrap_servers}", command)


def _report(load: Child) -> LoadReport:
    load.send_line("stop")
    report = LoadReport.from_line(load.next_line(timeout_seconds=REPORT_TIMEOUT_SECONDS))
    print(f"{load.name} logged:\n{load.errors()}", file=sys.stderr, flush=True)
    return report


def _new_topic(cluster: KafkaCluster) -> str:
    topic = administration.create_topic(
        cluster.bootstrap_servers,
        unique_name("rolled"),
        partitions=PARTITIONS,
        replicas=len(cluster.node_ids),
        topic_settings=TOPIC_SETTINGS,
    )
    wait_until_known_everywhere(cluster.bootstrap_servers, topic, PARTITIONS)
    return topic


def _compare_with_log(report: LoadReport, cluster: KafkaCluster, topic: str) -> None:
    """Read every record of the topic from the brokers, and note what is missing or there more than once."""
    servers = cluster.bootstrap_servers
    count = sum(administration.end_offset(servers, topic, partition) for partition in range(PARTITIONS))
    logged = Counter(administration.consume(servers, topic, count))
    report.lost = max(0, report.acknowledged - len(logged))
    repeated = {value: times for value, times in logged.items() if times > 1}
    report.repeated = len(repeated)
    print(f"records of {topic} that are there more than once: {repeated}", file=sys.stderr, flush=True)


def _restart_each_broker(cluster: KafkaCluster, topics: list[str]) -> None:
    for node_id in cluster.node_ids:
        cluster.stop_broker(node_id)
        cluster.start_broker(node_id)
        # An operator waits, too, until all replicas are in sync again.
        for topic in topics:
            wait_until_known_everywhere(cluster.bootstrap_servers, topic, PARTITIONS)
        print(f"broker {node_id} is back", file=sys.stderr, flush=True)


def _end_in_order(_signal_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(EXIT_TERMINATED)


if __name__ == "__main__":
    main()
