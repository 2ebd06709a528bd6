"""What is kept of inputs: `corpus/TARGET.hex`, and in `corpus/crashes/TARGET.hex` each that was a crash once.

An input is a line: its bytes as hexadecimal digits, and behind `#` what it is. `python -m tests.fuzz.corpus` writes the
seeds of new messages and targets, and takes nothing away: bytes of an earlier kproxy are what a later one may meet.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.fuzz.execution import Seed, Target

FOLDER: Final = Path(__file__).with_name("corpus")
CRASHES: Final = FOLDER / "crashes"


def kept(target: Target) -> Sequence[Seed]:
    """Return every input that is kept for `target`, former crashes first."""
    return [*_read(CRASHES / f"{target.name}.hex"), *_read(FOLDER / f"{target.name}.hex")]


def missing(target: Target) -> Sequence[Seed]:
    """Return the seeds of `target` that are not kept yet."""
    known = {seed.data for seed in kept(target)}
    found = []
    for seed in target.seeds():
        if seed.data not in known:
            known.add(seed.data)
            found.append(seed)
    return found


def line_of(seed: Seed) -> str:
    """Return the line that keeps `seed`."""
    return f"{seed.data.hex()} # {seed.name}\n"


def _read(file: Path) -> Sequence[Seed]:
    lines = file.read_text().splitlines() if file.exists() else []
    found = (line.partition("#") for line in lines)
    return [Seed(name.strip(), bytes.fromhex(digits)) for digits, _, name in found]


def _write(targets: Sequence[Target]) -> None:
    for target in targets:
        with (FOLDER / f"{target.name}.hex").open("a") as file:
            file.writelines(line_of(seed) for seed in missing(target))


if __name__ == "__main__":
    from tests.fuzz.registry import TARGETS

    _write([target for name, target in TARGETS.items() if name in sys.argv[1:] or len(sys.argv) == 1])
