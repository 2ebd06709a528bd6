"""Measures for how long groups go without an answered acceptance, and prints a table and one JSON line.

Each group has a member behind every kproxy of a fleet. Again and again one of them is killed with SIGKILL and started
when the others have its slots, or ended with SIGTERM and started at once, as an update does it.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.compatibility.namespaces import BROKERS_ADDRESS, start_again_on_brokers_host
from tests.misfortunes.fleet import Fleet, running_fleet
from tests.misfortunes.gaps import longest_gap, percentile
from tests.misfortunes.hosted_kproxy import HostedKproxy
from tests.misfortunes.load import Load, under_load
from tests.real_kafka import jars
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.versions import REFERENCE, release_of

MODULE: Final = "tests.misfortunes.measure"
BROKERS: Final = 1
KPROXIES: Final = 3
GROUPS: Final = 6
QUIET_SECONDS: Final = 60.0
AWAY_SECONDS: Final = 9.0
AFTER_SECONDS: Final = 2.0
"""What comes later than that after everything is served again is another story."""
ANSWERS_SECONDS: Final = 90.0

QUIET: Final = "in quiet times, between two answers"
KILLED: Final = "kproxy -9: groups of the killed process"
KILLED_OTHERS: Final = "kproxy -9: groups that did not move"
MOVED: Final = "planned moves (SIGTERM, or a process that joins): groups that moved"
MOVED_OTHERS: Final = "planned moves: groups that did not move"


@dataclass(slots=True)
class Measured:
    """Gaps in seconds by what they are of."""

    gaps: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def rows(self) -> list[tuple[str, int, float, float, float]]:
        """What, how many, median, p99 and longest."""
        return [
            (what, len(gaps), percentile(gaps, 0.5), percentile(gaps, 0.99), max(gaps))
            for what in (QUIET, KILLED, KILLED_OTHERS, MOVED, MOVED_OTHERS)
            if (gaps := self.gaps[what])
        ]

    def table(self) -> str:
        """The same in Markdown."""
        lines = [
            "| time without an answered acceptance | gaps | median | p99 | longest |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {what} | {count} | {median:.2f} s | {p99:.2f} s | {longest:.2f} s |"
            for what, count, median, p99, longest in self.rows()
        ]
        return "\n".join(lines)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--rounds", type=int, default=10, help="of a kill and an end in order of each kproxy (10)"
    )
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        jars.fetch(release_of(REFERENCE.version))
        start_again_on_brokers_host(MODULE, [*sys.argv[1:], "--inside"])
    with tempfile.TemporaryDirectory() as folder:
        measured = _measure(options.rounds, Path(folder))
    print(measured.table(), file=sys.stderr, flush=True)
    print(json.dumps({"rows": measured.rows(), "gaps": measured.gaps}), flush=True)


def _measure(rounds: int, folder: Path) -> Measured:
    measured = Measured()
    cluster = KafkaCluster(brokers=BROKERS, host=BROKERS_ADDRESS)
    with (
        running_fleet(cluster, folder, kproxies=KPROXIES) as fleet,
        under_load(fleet, folder, groups=GROUPS, kinds=("confluent",)) as load,
    ):
        load.wait_for_answers(since=time.monotonic(), timeout_seconds=ANSWERS_SECONDS)
        time.sleep(AFTER_SECONDS)
        began = time.monotonic()
        time.sleep(QUIET_SECONDS)
        for group in load.groups:
            answered_at = [at for at in group.answered_at() if at > began]
            measured.gaps[QUIET] += [later - earlier for earlier, later in pairwise(answered_at)]
        for number in range(rounds):
            kproxy = fleet.kproxies[number % len(fleet.kproxies)]
            _kill(fleet, load, kproxy, measured)
            _restart(fleet, load, kproxy, measured)
            print(f"{number + 1} of {rounds} rounds", file=sys.stderr, flush=True)
        load.acceptances.wait_until_calm()
        load.acceptances.require_in_order(load.acceptances.read_log())
    return measured


def _kill(fleet: Fleet, load: Load, kproxy: HostedKproxy, measured: Measured) -> None:
    owners, began = fleet.owners(), time.monotonic()
    kproxy.kill()
    time.sleep(AWAY_SECONDS)
    load.wait_for_answers(since=time.monotonic(), timeout_seconds=ANSWERS_SECONDS)
    ended = time.monotonic()
    for group in load.groups:
        what = KILLED if owners.get(group.slot) == kproxy.number else KILLED_OTHERS
        measured.gaps[what].append(longest_gap(group.answered_at(), began, ended))
    _planned(fleet, load, kproxy.begin, measured)


def _restart(fleet: Fleet, load: Load, kproxy: HostedKproxy, measured: Measured) -> None:
    def end() -> None:
        assert kproxy.end_in_order() == 0

    _planned(fleet, load, end, measured)
    _planned(fleet, load, kproxy.begin, measured)


def _planned(fleet: Fleet, load: Load, change: Callable[[], object], measured: Measured) -> None:
    """Let the fleet change in order, and measure until every slot is served again."""
    owners, began = fleet.owners(), time.monotonic()
    change()
    fleet.wait_until_shared_out()
    time.sleep(AFTER_SECONDS)
    ended, owners_now = time.monotonic(), fleet.owners()
    load.wait_for_answers(since=ended, timeout_seconds=ANSWERS_SECONDS)
    for group in load.groups:
        what = MOVED_OTHERS if owners.get(group.slot) == owners_now.get(group.slot) else MOVED
        measured.gaps[what].append(longest_gap(group.answered_at(), began, ended))


if __name__ == "__main__":
    main()
