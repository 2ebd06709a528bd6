"""One target, for some time: `python -m tests.fuzz.engines TARGET SECONDS FOLDER SEED`, run by `make fuzz`.

With atheris, inputs that reach code that none did before are kept in FOLDER, and mutated on. Without it seeds are.
Figures come as libFuzzer's `stat::…` lines. An input that is a crash is written to FOLDER/crash-…, its traceback beside
it, and the exit status is not 0 then.
"""

import hashlib
import resource
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tests.fuzz.execution import MOST_BYTES, Target, execute, execute_measured
from tests.fuzz.mutation import inputs

MEASURED_EVERY: Final = 500
"""Of so many executions one is measured: tracing memory makes it some ten times slower."""

MOST_MEMORY_MB: Final = 1024
"""Of the whole process, which keeps its corpus in memory."""

HANG_SECONDS: Final = 60
"""Of the clock, for what holds the interpreter so that no signal gets through."""

_LEAST_LEFT: Final = 0.5
"""Of a turn, for inputs, however long it took to begin."""

_BEGAN: Final = time.monotonic()


class Crash(Exception):
    """An input broke a rule of its target; the cause says how."""


class Runner:
    """Runs one target, measures some executions, and keeps the first input that is a crash."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target = target
        self.executions = 0
        self._folder = folder

    def run(self, data: bytes) -> None:
        """Run the target once. Raises Crash, having written the input down."""
        self.executions += 1
        try:
            if self.executions % MEASURED_EVERY:
                execute(self.target, data)
            else:
                execute_measured(self.target, data)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            kept = self._folder / f"crash-{hashlib.sha1(data).hexdigest()[:12]}"
            kept.write_bytes(data)
            kept.with_suffix(".txt").write_text(traceback.format_exc())
            raise Crash(f"{kept}: {type(error).__name__}: {error}") from error


def fuzz(target_name: str, seconds: float, folder: Path, seed: int) -> int:
    """Fuzz for `seconds`; return the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    atheris = _atheris()
    run = _by_mutation if atheris is None else _by_coverage
    return run(target_name, seconds, folder, seed)


def _by_mutation(target_name: str, seconds: float, folder: Path, seed: int) -> int:
    runner = Runner(_target(target_name), folder)
    seeds = _inputs_to_begin_with(runner.target)
    end = time.monotonic() + _left_of(seconds)
    try:
        for data in seeds:
            runner.run(data)
        while time.monotonic() < end:
            for data in inputs(seeds, 1_000, seed=seed):
                runner.run(data)
                if time.monotonic() >= end:
                    break
            seed += 1
    except Crash as crash:
        print(crash)
        return _told(runner, status=1)
    return _told(runner, status=0)


def _by_coverage(target_name: str, seconds: float, folder: Path, seed: int) -> int:
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["kproxy"], enable_loader_override=False):
        target = _target(target_name)
    _instrument_codecs(atheris)
    runner = Runner(target, folder)
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for data in _inputs_to_begin_with(target):
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)

    def one(data: bytes) -> None:
        try:
            runner.run(data)
        except Crash as crash:
            print(crash, flush=True)
            raise

    flags = {
        "max_total_time": max(round(_left_of(seconds)), 1),
        "max_len": MOST_BYTES,
        "timeout": HANG_SECONDS,
        "rss_limit_mb": MOST_MEMORY_MB,
        "seed": seed % (1 << 31) or 1,
        "print_final_stats": 1,
        "artifact_prefix": f"{folder}/libfuzzer-",
    }
    atheris.Setup(
        [sys.argv[0], *(f"-{name}={value}" for name, value in flags.items()), str(corpus)],
        one,
        internal_libfuzzer=True,
    )
    atheris.Fuzz()
    return 0


def _left_of(seconds: float) -> float:
    """Return what is left of a turn of `seconds`, which began with the process: targets take long to be imported."""
    return max(seconds - (time.monotonic() - _BEGAN), _LEAST_LEFT * seconds)


def _instrument_codecs(atheris: Any) -> None:
    """Let coverage be seen in the codecs, too, which are no modules that are imported but made when they are needed."""
    codecs: Any = import_module("kproxy.wire.codecs")
    for key in import_module("tests.worlds.message_values").message_versions():
        codec = codecs._EMITTED[key]
        with suppress(Exception):
            codec.decode(b"", 0)
        atheris.instrument_func(codec.decode)


def _atheris() -> Any:
    try:
        return import_module("atheris")
    except ImportError:
        return None


def _target(name: str) -> Target:
    found: Target = import_module("tests.fuzz.registry").TARGETS[name]
    return found


def _inputs_to_begin_with(target: Target) -> Sequence[bytes]:
    return [seed.data for seed in import_module("tests.fuzz.corpus").kept(target)]


def _told(runner: Runner, *, status: int) -> int:
    """Say how it went, in libFuzzer's words; return `status`."""
    print(f"stat::number_of_executed_units: {runner.executions}")
    print(f"stat::peak_rss_mb: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(fuzz(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
