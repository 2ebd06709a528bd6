"""`make demo`: three share consumers on a real Kafka that has no share groups, through kproxy, which dies once.

In the end Spark replays what happened. Environment: `PROXIES` (default 1, at most 8) kproxies serve the group together,
one of which dies and one is updated; `DEMO_RECORDS` (default 3000); `KEEP=1` leaves Kafka and kproxy running;
`DEMO_NATIVE=1` plays the same on Kafka's own share groups, without kproxy and without Spark. Exit status: 0 if all sums
add up and Spark finds nothing wrong, else 1.
"""

import io
import os
import sys
import time
from typing import Final

from confluent_kafka import KafkaException
from rich.console import Console

from tests.demo.failures import DemoFailed, WrongSetting
from tests.demo.interruption import Interrupted, raise_on_stop_signals
from tests.demo.plan import Plan
from tests.demo.stage import LOG_FOLDER
from tests.demo.story import perform
from tests.demo.view import View
from tests.real_kafka.administration import NotInTime
from tests.real_kafka.jars import FetchFailed
from tests.real_kafka.node import NodeFailed
from tests.real_kafka.paths import PROJECT_ROOT, kept_logs_folder
from tests.real_kafka.prerequisites import MissingPrerequisite
from tests.real_kafka.storage_format import FormatFailed

FAILURES: Final = (DemoFailed, FetchFailed, FormatFailed, KafkaException, NodeFailed, NotInTime)
WIDEST: Final = 100
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2


def main() -> int:
    """Perform the demo that the environment asks for; the exit status."""
    started = time.monotonic()
    raise_on_stop_signals()
    try:
        plan = Plan.from_environment(os.environ)
        return 0 if perform(plan, View(_console(), started)) else _failed("")
    except (WrongSetting, MissingPrerequisite) as mistake:
        return _complain(str(mistake), EXIT_USAGE)
    except FAILURES as failure:
        return _failed(f"{failure}\n")
    except Interrupted as interrupted:
        return _complain("interrupted; everything is stopped", interrupted.exit_status)


def _console() -> Console:
    # A terminal that cannot show a bar's line gets a question mark, not a stack trace.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False, markup=False)
    console.width = min(console.width, WIDEST)
    return console


def _failed(problem: str) -> int:
    folders = " and ".join(
        f"{folder.relative_to(PROJECT_ROOT)}/" for folder in (LOG_FOLDER, kept_logs_folder())
    )
    return _complain(f"{problem}the logs of kproxy, its clients and Kafka are in {folders}", EXIT_FAILED)


def _complain(problem: str, status: int) -> int:
    print(f"demo: {problem}", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
