"""Lets misfortunes strike a fleet under load, checks what its clients saw, and prints one JSON line of figures.

The exit status is 0 if all that was accepted was accepted once and for good, and nothing is missing.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import FrameType
from typing import Final, NoReturn

from tests.compatibility.namespaces import BROKERS_ADDRESS, start_again_on_brokers_host
from tests.misfortunes import checks, gaps
from tests.misfortunes.catalogue import CATALOGUE, chosen, let_strike
from tests.misfortunes.fleet import Fleet, running_fleet
from tests.misfortunes.kept_story import keep_story
from tests.misfortunes.load import LOCK_SECONDS, Load, under_load
from tests.real_kafka import jars
from tests.real_kafka.accepter import RecordId
from tests.real_kafka.acquisitions import times_of_acquisition
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.expiring_producers import EXPIRING_PRODUCERS
from tests.real_kafka.versions import REFERENCE, release_of

MODULE: Final = "tests.misfortunes"
EXIT_TERMINATED: Final = 143
BROKERS: Final = 3
KPROXIES: Final = 3
GROUPS: Final = 3
KINDS: Final = ("confluent", "confluent", "confluent", "java")
FIRST_ANSWERS_SECONDS: Final = 90.0
RECOVERY_SECONDS: Final = 60.0
QUIET_SECONDS: Final = 1.0
"""Between two misfortunes."""
LONG_QUIET_SECONDS: Final = 10.0
"""Before the first one: what is usual."""


def main() -> None:
    """Run what the command line asks for."""
    signal.signal(signal.SIGTERM, _end_in_order)
    options = _options()
    if not options.inside:
        jars.fetch(release_of(options.version))
        start_again_on_brokers_host(MODULE, [*sys.argv[1:], "--inside"])
    with tempfile.TemporaryDirectory() as folder:
        report = _run(options, Path(folder))
    print(json.dumps(report), flush=True)


def _run(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    chance = Random(options.seed)
    names = options.only or list(chosen(options.misfortunes, chance))
    _say(f"seed {options.seed}: {', '.join(names)}")
    brokers = KafkaCluster(
        options.version,
        brokers=BROKERS,
        host=BROKERS_ADDRESS,
        broker_settings=EXPIRING_PRODUCERS if options.producers == "expiring" else None,
    )
    with (
        running_fleet(brokers, folder, kproxies=KPROXIES) as fleet,
        under_load(fleet, folder, groups=GROUPS, kinds=KINDS) as load,
    ):
        load.wait_for_answers(since=time.monotonic(), timeout_seconds=FIRST_ANSWERS_SECONDS)
        quiet_since = time.monotonic()
        time.sleep(LONG_QUIET_SECONDS)
        story = gaps.Story(quiet_since, time.monotonic())
        for number, name in enumerate(names, start=1):
            _happen(name, fleet, load, chance, story)
            _say(f"{number} of {len(names)}: {story.told[-1]}")
        untold = load.acceptances.take_what_landed()
        load.acceptances.wait_until_calm()
        _require_order(fleet, load, story)
        assert not untold or options.producers == "expiring", f"written twice: {sorted(untold)}"
        return {
            "seed": options.seed,
            "producers": options.producers,
            "misfortunes": dict(Counter(names)),
            "records produced": len(load.acceptances.production.produced),
            "records written twice": len(untold),
            "acceptances answered": len(load.acceptances.answers()),
            "records answered for to two": len(_answered_twice(load)),
            "errors of members": dict(load.acceptances.errors()),
            "gaps": story.summary(),
        }


def _happen(name: str, fleet: Fleet, load: Load, chance: Random, story: gaps.Story) -> None:
    owners = fleet.owners()
    struck = let_strike(name, fleet, chance)
    load.wait_for_answers(since=struck.ended, timeout_seconds=RECOVERY_SECONDS)
    fleet.wait_until_shared_out()
    recovered = time.monotonic()
    time.sleep(QUIET_SECONDS)
    story.add(struck, recovered, load.groups, owners, fleet.owners())


def _require_order(fleet: Fleet, load: Load, story: gaps.Story) -> None:
    logs = load.acceptances.read_log()
    acquisitions = [each for kproxy in fleet.kproxies for each in kproxy.acquisitions()]
    acquired_at = times_of_acquisition(acquisitions, load.acceptances.names_by_id())
    last_acquired_at = {record: times[-1] for record, times in acquired_at.items()}
    receipts = [receipt for accepter in load.acceptances.accepters for receipt in accepter.received]
    try:
        load.acceptances.require_in_order(logs, may_be_answered_late=True)
        _require_none(
            "was delivered after its answer",
            checks.delivered_after_its_answer(receipts, load.acceptances.answers(), last_acquired_at),
        )
        claimed_at = load.acceptances.claimed_at(logs)
        held = checks.held_by_two_at_once(
            receipts,
            unquiet=story.unquiet,
            claimed_at={group.topic: claimed_at[group.slot] for group in load.groups},
            lock_seconds=LOCK_SECONDS,
            acquired_at=acquired_at,
        )
        _require_none("was held by two", held)
    except AssertionError as error:
        struck = [
            f"{began:.3f} to {over:.3f}: {told}"
            for (began, over), told in zip(story.unquiet, story.told, strict=True)
        ]
        error.add_note("\n".join([*struck, f"the state log: {keep_story(logs)}"]))
        raise


def _require_none(what: str, found: Sequence[str]) -> None:
    assert not found, "\n  ".join([what, *found])


def _answered_twice(load: Load) -> list[RecordId]:
    times = Counter(answer.record for answer in load.acceptances.answers())
    return [record for record, count in times.items() if count > 1]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--misfortunes", type=int, default=10, help="how many (10)")
    parser.add_argument(
        "--seed", type=int, default=1, help="chooses them, whom they strike and for how long (1)"
    )
    parser.add_argument(
        "--only", action="append", choices=sorted(CATALOGUE), help="this one; may be repeated"
    )
    parser.add_argument(
        "--producers",
        choices=("kept", "expiring"),
        default="kept",
        help="how long brokers know who wrote: as shipped (kept), or for a second, so that they fence nobody",
    )
    parser.add_argument("--version", default=REFERENCE.version, help=f"of Apache Kafka ({REFERENCE.version})")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _end_in_order(_signal_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(EXIT_TERMINATED)


if __name__ == "__main__":
    main()
