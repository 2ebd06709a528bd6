"""Runs benchmarks: `python -m tests.benchmarks [--only NAME] [--quick]`.

Tables go to standard output and, with every value, to `build/bench/`; what goes on is told on standard error.
The exit status is 0 when everything was measured, whatever the figures are.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from rich.console import Console

from tests.benchmarks import fleet, refusals, relay, relay_tls, replay, share, sizing
from tests.benchmarks.frame_connection import ConnectionEnded
from tests.benchmarks.placement import TooFewCores
from tests.benchmarks.record_streams import RecordsLost
from tests.benchmarks.replaying_spark import JobBroke
from tests.benchmarks.result_files import Result, write_result
from tests.benchmarks.share_soundness import KproxyBroke
from tests.demo.interruption import Interrupted, raise_on_stop_signals
from tests.real_kafka.administration import NotInTime
from tests.real_kafka.child import ChildEnded, ChildTimedOut
from tests.real_kafka.jars import FetchFailed
from tests.real_kafka.node import NodeFailed
from tests.real_kafka.paths import PROJECT_ROOT
from tests.real_kafka.prerequisites import MissingPrerequisite
from tests.real_kafka.storage_format import FormatFailed

FAILURES: Final = (
    ChildEnded,
    ChildTimedOut,
    ConnectionEnded,
    FetchFailed,
    FormatFailed,
    JobBroke,
    KproxyBroke,
    NodeFailed,
    NotInTime,
    RecordsLost,
)
WIDTH_OF_FILES: Final = 140
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2


class Benchmark(Protocol):
    """Measures, and gives what it found."""

    def __call__(self, *, is_quick: bool) -> Result: ...


BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "fleet": fleet.run,
    "refusals": refusals.run,
    "relay": relay.run,
    "relay-tls": relay_tls.run,
    "replay": replay.run,
    "share": share.run,
    "sizing": sizing.run,
}


def main() -> int:
    """Run what the command line asks for; the exit status."""
    options = _options()
    raise_on_stop_signals()
    try:
        for name in options.only or BENCHMARKS:
            _show(BENCHMARKS[name](is_quick=options.quick))
    except FAILURES as failure:
        return _complain(str(failure), EXIT_FAILED)
    except (MissingPrerequisite, TooFewCores) as mistake:
        return _complain(str(mistake), EXIT_USAGE)
    except Interrupted as interrupted:
        return _complain("interrupted; everything is stopped", interrupted.exit_status)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=sorted(BENCHMARKS),
        help="this benchmark; may be given again (default: all)",
    )
    parser.add_argument("--quick", action="store_true", help="little of everything, to see that it works")
    return parser.parse_args()


def _show(result: Result) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH_OF_FILES
    for table in result.tables:
        console.print(table.for_terminal())
    for remark in result.remarks:
        console.print(remark)
    files: Sequence[str] = [str(path.relative_to(PROJECT_ROOT)) for path in write_result(result)]
    console.print(f"Written to {', '.join(files)}.")


def _complain(problem: str, status: int) -> int:
    print(f"bench: {problem}", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
