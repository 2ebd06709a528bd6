"""Lets connections on both sides of kproxy fail, by a plan that the seed decides, while share groups are at work.

What happens is told on the standard error, a line a second; the standard output gets one JSON line of figures. The exit
status is 0 if every record was accepted once and for good, and nothing was left when all clients had gone.
"""

import argparse
import dataclasses
import json
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from tests.faults import trial

EXIT_TERMINATED: Final = 143


def main() -> None:
    """Run what the command line asks for."""
    signal.signal(signal.SIGTERM, _end_in_order)
    options = _options()
    _say(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        outcome = trial.run(options.seed, options.minutes * 60, Path(folder), _say)
    figures = {each.name: getattr(outcome, each.name) for each in dataclasses.fields(outcome)}
    print(json.dumps(figures), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long connections fail, at least (1)")
    parser.add_argument("--seed", type=int, default=1, help="decides what befalls which connection (1)")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _end_in_order(_signal_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(EXIT_TERMINATED)


if __name__ == "__main__":
    main()
