"""Measures for how long groups go without an answered acceptance, and prints a line per figure and one JSON line.

Each group has a member behind every kproxy of a fleet. Again and again one of them is killed with SIGKILL and started
when the others have its slots, or ended with SIGTERM and started at once, as an update does it.

**What is compared with what.** A group's figure is the longest time between two answers within a window of
`WINDOW_SECONDS`, counted from the last answer before the window to the first one after it. Each event has two windows
of that length: one in which nothing happens, when the fleet has settled, and next to it the one that the event begins.
The groups that an event moved, and those that it did not, are compared with the very same groups in the quiet windows
before the same events. So both sides have as many windows, as long, of the same groups, at the same time of the run,
and a percentile of one may be held against that of the other.

**How to judge "groups that did not move: none above their p99 of quiet times".** Of windows in which nothing happened
one in a hundred is above that p99, too; of fewer than 100 the p99 is the longest, and of two equal sides either has a
longer one as often as the other. So the line says how many windows were above, and how often chance alone gives as many
(`Comparison.chance_of_as_many`): a few per cent or more, and the run shows no effect; 0.1 % or less, and it shows one.
A process that starts takes something from all that share its cores, whoever it is. So in every round a kproxy of
another fleet starts and ends beside this one, in front of the same brokers: what groups see of that is the machine's.
25 rounds give 100 windows of groups that a kill did not move. A run with other load on the machine takes nothing away
from that, for both windows of a pair have it.

**What is in every gap.** A group that gets no record accepts none, so records come one at a time, and each group gets
one every 48 ms: a gap is longer by that than what the fleet made of it, and by what the client waits for beside.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.compatibility.namespaces import BROKERS_ADDRESS, start_again_on_brokers_host
from tests.misfortunes.fleet import Fleet, running_fleet
from tests.misfortunes.gaps import longest_gap
from tests.misfortunes.hosted_kproxy import HostedKproxy
from tests.misfortunes.load import Load, under_load
from tests.misfortunes.paired_windows import Comparison, Pair
from tests.real_kafka import jars
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.versions import REFERENCE, release_of

MODULE: Final = "tests.misfortunes.measure"
BROKERS: Final = 1
KPROXIES: Final = 3
GROUPS: Final = 6
WINDOW_SECONDS: Final = 10.0
"""Longer than a session, 6 s, and what it takes to serve its slots elsewhere; a gap may last beyond it."""
SETTLING_SECONDS: Final = 2.0
"""From when everything is served again to the next quiet window."""
ANSWERS_SECONDS: Final = 90.0

KILLED: Final = "kproxy -9: groups of the killed process"
KILLED_OTHERS: Final = "kproxy -9: groups that did not move"
MOVED: Final = "planned moves (SIGTERM, or a process that joins): groups that moved"
MOVED_OTHERS: Final = "planned moves: groups that did not move"
BESIDE: Final = "a kproxy of another fleet starts or ends beside: all groups"
UNDISTURBED: Final = (KILLED_OTHERS, MOVED_OTHERS)


@dataclass(slots=True)
class Measured:
    """Pairs of windows by what happened in the second one, and to whom."""

    pairs: defaultdict[str, list[Pair]] = field(default_factory=lambda: defaultdict(list))
    events: int = 0

    def comparisons(self) -> dict[str, Comparison]:
        """Each kind that there was."""
        kinds = (KILLED, KILLED_OTHERS, MOVED, MOVED_OTHERS, BESIDE)
        return {what: Comparison(self.pairs[what]) for what in kinds if self.pairs[what]}

    def lines(self) -> list[str]:
        """A line per figure."""
        return [line for what, found in self.comparisons().items() for line in _lines(what, found.as_json())]


def _lines(what: str, found: Mapping[str, Any]) -> list[str]:
    quiet = f"{found['quiet median']:.2f}, {found['quiet p99']:.2f} and {found['quiet longest']:.2f} s"
    gaps = f"median {found['median']:.2f} s, p99 {found['p99']:.2f} s, longest {found['longest']:.2f} s"
    lines = [f"{what}: longest gaps of {found['windows']} windows: {gaps}; quiet windows before: {quiet}"]
    if what in (*UNDISTURBED, BESIDE):
        lines.append(
            f"{what}: {found['above quiet p99']} of {found['windows']} windows above the quiet p99; by chance as many "
            f"or more in {found['chance of as many']:.1%} of cases"
        )
    return lines


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
    print("\n".join(measured.lines()), file=sys.stderr, flush=True)
    report = {what: found.as_json() for what, found in measured.comparisons().items()}
    print(json.dumps(report), flush=True)


def _measure(rounds: int, folder: Path) -> Measured:
    measured = Measured()
    cluster = KafkaCluster(brokers=BROKERS, host=BROKERS_ADDRESS)
    with (
        running_fleet(cluster, folder, kproxies=KPROXIES) as fleet,
        under_load(fleet, folder, groups=GROUPS, kinds=("confluent",), records_at_once=1) as load,
    ):
        load.wait_for_answers(since=time.monotonic(), timeout_seconds=ANSWERS_SECONDS)
        for number in range(rounds):
            kproxy = fleet.kproxies[number % len(fleet.kproxies)]
            _kill(fleet, load, kproxy, measured)
            _restart(fleet, load, kproxy, measured)
            _start_beside(fleet, load, measured)
            print(f"{number + 1} of {rounds} rounds", file=sys.stderr, flush=True)
        load.acceptances.wait_until_calm()
        load.acceptances.require_in_order(load.acceptances.read_log())
    return measured


def _kill(fleet: Fleet, load: Load, kproxy: HostedKproxy, measured: Measured) -> None:
    _observe(fleet, load, kproxy.kill, measured, (KILLED, KILLED_OTHERS))
    _observe(fleet, load, kproxy.begin, measured, (MOVED, MOVED_OTHERS))


def _restart(fleet: Fleet, load: Load, kproxy: HostedKproxy, measured: Measured) -> None:
    _observe(fleet, load, lambda: _end(kproxy), measured, (MOVED, MOVED_OTHERS))
    _observe(fleet, load, kproxy.begin, measured, (MOVED, MOVED_OTHERS))


def _start_beside(fleet: Fleet, load: Load, measured: Measured) -> None:
    _observe(fleet, load, fleet.stranger.begin, measured, (BESIDE, BESIDE))
    _observe(fleet, load, lambda: _end(fleet.stranger), measured, (BESIDE, BESIDE))


def _end(kproxy: HostedKproxy) -> None:
    assert kproxy.end_in_order() == 0


def _observe(
    fleet: Fleet, load: Load, change: Callable[[], object], measured: Measured, names: tuple[str, str]
) -> None:
    """Look at a quiet window, let something change, and look at a window as long.

    `names` are of the groups that moved, and of those that did not.
    """
    _settle(fleet, load)
    owners, quiet_since = fleet.owners(), time.monotonic()
    time.sleep(WINDOW_SECONDS)
    _wait_for_answers(load)
    began = time.monotonic()
    change()
    time.sleep(max(0.0, began + WINDOW_SECONDS - time.monotonic()))
    _settle(fleet, load)
    owners_now = fleet.owners()
    measured.events += 1
    for group in load.groups:
        answered_at = group.answered_at()
        quiet = longest_gap(answered_at, quiet_since, quiet_since + WINDOW_SECONDS)
        disturbed = longest_gap(answered_at, began, began + WINDOW_SECONDS)
        has_moved = owners.get(group.slot) != owners_now.get(group.slot)
        measured.pairs[names[0] if has_moved else names[1]].append(Pair(measured.events, quiet, disturbed))


def _settle(fleet: Fleet, load: Load) -> None:
    """Return some time after every slot is served, with an answer to each group."""
    fleet.wait_until_shared_out()
    time.sleep(SETTLING_SECONDS)
    _wait_for_answers(load)


def _wait_for_answers(load: Load) -> None:
    """Return when no gap of now can last: a window begins with answers, and what follows it is not counted to it."""
    load.wait_for_answers(since=time.monotonic(), timeout_seconds=ANSWERS_SECONDS)


if __name__ == "__main__":
    main()
