"""Runs a real Kafka cluster for exploring, until Ctrl-C: `python -m tests.real_kafka --version 4.3.1 --brokers 3`.

Standard output gets one line, the bootstrap address; everything else goes to standard error.
"""

import argparse
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from kproxy.wording import counted
from tests.real_kafka import jars
from tests.real_kafka.administration import NotInTime
from tests.real_kafka.cluster import LARGEST_BROKER_COUNT, KafkaCluster
from tests.real_kafka.jars import FetchFailed
from tests.real_kafka.node import NodeFailed
from tests.real_kafka.ports import PortTaken
from tests.real_kafka.prerequisites import MissingPrerequisite
from tests.real_kafka.storage_format import FormatFailed
from tests.real_kafka.versions import PINNED_RELEASES, REFERENCE, UnknownVersion

FAILURES: Final = (FetchFailed, FormatFailed, MissingPrerequisite, NodeFailed, NotInTime, OSError, PortTaken)
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WATCH_INTERVAL_SECONDS: Final = 0.5


class Interrupted(BaseException):
    """A signal asked to end. Raised in the main thread by the handler below, handled in `main`."""


def main() -> int:
    """Do what the command line says; the exit status: 0 also after a Ctrl-C that ended a running cluster."""
    options = _options()
    for stop_signal in STOP_SIGNALS:
        signal.signal(stop_signal, _interrupt)
    try:
        if options.fetch_only:
            return _fetch_all()
        return _run(_cluster(options))
    except Interrupted:
        return EXIT_INTERRUPTED
    except FAILURES as failure:
        return _complain(failure, EXIT_FAILED)
    except (UnknownVersion, ValueError) as mistake:
        return _complain(mistake, EXIT_USAGE)


def _options() -> argparse.Namespace:
    pinned = ", ".join(release.version for release in PINNED_RELEASES)
    parser = argparse.ArgumentParser(
        prog="python -m tests.real_kafka", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--version", default=REFERENCE.version, help=f"one of {pinned} (default: %(default)s)"
    )
    parser.add_argument(
        "--brokers", type=int, default=1, help=f"1 to {LARGEST_BROKER_COUNT} (default: %(default)s)"
    )
    parser.add_argument(
        "--share", type=int, choices=(0, 1), default=0, help="Kafka's own share groups (default: 0, off)"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        help="broker 1's port, broker 2 has the next one (default: any free ones)",
    )
    parser.add_argument(
        "--keep-data",
        type=Path,
        metavar="FOLDER",
        help="go on with the data in this folder, and leave it there",
    )
    parser.add_argument("--fetch-only", action="store_true", help="fetch the jars of all versions and end")
    return parser.parse_args()


def _cluster(options: argparse.Namespace) -> KafkaCluster:
    return KafkaCluster(
        options.version,
        brokers=options.brokers,
        share_groups=options.share == 1,
        first_port=options.port,
        data_folder=options.keep_data,
    )


def _fetch_all() -> int:
    for release in PINNED_RELEASES:
        _say(f"Apache Kafka {release.version}: {jars.fetch(release)}")
    return 0


def _run(cluster: KafkaCluster) -> int:
    with cluster:
        share_groups = "on" if cluster.share_groups else "off"
        try:
            _say(
                f"Apache Kafka {cluster.version} runs with {counted(len(cluster.node_ids), 'broker')}, "
                f"share groups {share_groups}; Ctrl-C ends it {_fate_of_data(cluster)}"
            )
            print(cluster.bootstrap_servers, flush=True)
            _watch(cluster)
        except Interrupted:
            _say("stopping")
    return 0


def _fate_of_data(cluster: KafkaCluster) -> str:
    return (
        "and removes its data"
        if cluster.data_folder is None
        else f"and leaves its data in {cluster.data_folder}"
    )


def _watch(cluster: KafkaCluster) -> NoReturn:
    while not cluster.dead_nodes:
        time.sleep(WATCH_INTERVAL_SECONDS)
    raise NodeFailed(f"{', '.join(cluster.dead_nodes)} died; the logs are kept under build/kafka-logs/")


def _interrupt(_signal_number: int, _frame: FrameType | None) -> NoReturn:
    # Stopping takes seconds at most; a second Ctrl-C must not stop the stopping.
    for stop_signal in STOP_SIGNALS:
        signal.signal(stop_signal, signal.SIG_IGN)
    raise Interrupted


def _complain(problem: Exception, exit_status: int) -> int:
    _say(str(problem))
    return exit_status


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
