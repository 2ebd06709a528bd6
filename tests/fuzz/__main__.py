"""`make fuzz`: every target in turn, again and again, for as long as it may take.

Progress and figures go to standard error, a table to standard output at the end. The exit status is 0 when nothing was
found, 1 when something was, 2 when the command line made no sense.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.fuzz.corpus import CRASHES
from tests.fuzz.registry import TARGETS

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "build" / "fuzzing"
LONGEST_TURN_S: Final = 240.0
SHORTEST_TURN_S: Final = 1.0
GRACE_S: Final = 180.0
"""What a turn may take beyond its time: to start, to instrument, to stop at a hang."""

_EXECUTIONS: Final = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_PEAK_MB: Final = re.compile(r"stat::peak_rss_mb:\s*(\d+)")


@dataclass(slots=True)
class Figures:
    """What came of one target so far."""

    executions: int = 0
    seconds: float = 0.0
    peak_mb: int = 0
    crashes: set[str] = field(default_factory=set)

    @property
    def row(self) -> str:
        rate = self.executions / self.seconds if self.seconds else 0.0
        return f"{self.executions:>12,} {rate:>9,.0f}/s {self.peak_mb:>6} MB {len(self.crashes):>4} crashes"


def fuzz(names: Sequence[str], minutes: float, *, seed: int) -> dict[str, Figures]:
    """Give each target the same time, in turns; return what came of it."""
    figures = {name: Figures() for name in names}
    for turn in turns(names, minutes * 60):
        _take_turn(turn.name, figures[turn.name], turn.seconds, seed + turn.round_number)
        _say(f"round {turn.round_number + 1}  {turn.name:<17} {figures[turn.name].row}")
    return figures


@dataclass(frozen=True, slots=True)
class Turn:
    """What one target is given next."""

    name: str
    round_number: int
    seconds: float


def turns(
    names: Sequence[str], seconds: float, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Turn]:
    """Yield the turns of all targets, each with its share of what is left when it begins.

    What one takes beyond its share all that come behind it lose alike; in the next round those come first that have had
    least so far.
    """
    end, round_count = clock() + seconds, max(round(seconds / len(names) / LONGEST_TURN_S), 1)
    had = dict.fromkeys(names, 0.0)
    turns_left = round_count * len(names)
    for number in range(round_count):
        for name in sorted(names, key=lambda each: had[each]):
            began = clock()
            yield Turn(name, number, max((end - began) / turns_left, SHORTEST_TURN_S))
            had[name] += clock() - began
            turns_left -= 1


def _take_turn(name: str, figures: Figures, seconds: float, seed: int) -> None:
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    before = _crashes_in(folder)
    command = [sys.executable, "-m", "tests.fuzz.engines", name, str(seconds), str(folder), str(seed)]
    began = time.monotonic()
    try:
        ended = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + GRACE_S,
            check=False,
        )
        said, is_failed = ended.stdout + ended.stderr, ended.returncode != 0
    except subprocess.TimeoutExpired:
        said, is_failed = f"{name} did not end", True
    figures.seconds += time.monotonic() - began
    figures.executions += _found(_EXECUTIONS, said)
    figures.peak_mb = max(figures.peak_mb, _found(_PEAK_MB, said))
    new = _crashes_in(folder) - before
    figures.crashes |= new or ({f"{name} failed, and left no input"} if is_failed else set())
    if is_failed:
        _say(said[-4_000:])


def _crashes_in(folder: Path) -> set[str]:
    found = [*folder.glob("crash-*"), *folder.glob("libfuzzer-*")]
    return {str(file.relative_to(ROOT)) for file in found if file.suffix != ".txt"}


def _found(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.findall(text)
    return int(found[-1]) if found else 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _report(figures: dict[str, Figures]) -> int:
    for name, each in figures.items():
        print(f"{name:<17} {each.row}")
    total = sum(each.executions for each in figures.values())
    crashes = sorted(crash for each in figures.values() for crash in each.crashes)
    print(f"{total:,} executions of {len(figures)} targets, {len(crashes)} new crashes")
    for crash in crashes:
        print(f"  {crash}")
    if crashes:
        print(
            f"Each has its traceback beside it. Add a line of its bytes to {CRASHES.relative_to(ROOT)}/TARGET.hex"
        )
    return 1 if crashes else 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Fuzz everything that reads bytes of others."
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="for all targets together (60)")
    parser.add_argument(
        "--only", action="append", choices=sorted(TARGETS), help="a target; may be given again"
    )
    parser.add_argument(
        "--seed", type=int, default=int.from_bytes(os.urandom(3)), help="another one each time by default"
    )
    given = parser.parse_args()
    if given.minutes <= 0:
        parser.error(f"--minutes {given.minutes}: expected more than 0")
    _say(f"{given.minutes:g} minutes, seed {given.seed}, {'with' if _has_atheris() else 'without'} coverage")
    return _report(fuzz(given.only or list(TARGETS), given.minutes, seed=given.seed))


def _has_atheris() -> bool:
    return (
        subprocess.run([sys.executable, "-c", "import atheris"], capture_output=True, check=False).returncode
        == 0
    )


if __name__ == "__main__":
    sys.exit(main())
