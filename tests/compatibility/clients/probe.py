"""What every Python client's program shares: the command line, the records, and the JSON lines it writes.

Arguments: `BOOTSTRAP_SERVERS BROKER_COUNT SCENARIO…`. Each scenario ends in one line
`{"scenario": …, "error": …, "seconds": …}`, where an empty error means that it passed.
"""

import itertools
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from tests.compatibility.scenarios import Scenario

T = TypeVar("T")

RECORD_COUNT: Final = 60
BATCHES: Final = 3
ANSWER_TIMEOUT_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.05
ERROR_CHARACTERS: Final = 1500
OFFSET_OF_A_TRANSACTION: Final = "the offset is committed in the transaction"
"""What to wait for: a coordinator shows what a transaction committed some time after its end was answered
(GroupCoordinator.scheduleHandleTxnCompletion of Kafka 2.8)."""

_numbers: Final = itertools.count(1)


class Unexpected(Exception):
    """A client got something else than what was to be."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a scenario plays."""

    bootstrap_servers: str
    broker_count: int

    @property
    def bootstrap_list(self) -> list[str]:
        return self.bootstrap_servers.split(",")

    @property
    def node_ids(self) -> set[int]:
        return set(range(1, self.broker_count + 1))

    def name(self, label: str) -> str:
        """A name of a topic, a group or a transactional id that nobody else uses."""
        return f"{label}-{os.getpid()}-{next(_numbers)}"


Check: TypeAlias = Callable[[Ground], None]
"""Plays a scenario; raises whatever goes wrong."""


def run_probe(checks: Mapping[Scenario, Check]) -> None:
    """Run the scenarios that the command line names, one after the other, and tell of each."""
    bootstrap_servers, broker_count, *names = sys.argv[1:]
    ground = Ground(bootstrap_servers, int(broker_count))
    for name in names:
        scenario = Scenario(name)
        started = time.monotonic()
        error = _error_of(checks[scenario], ground)
        seconds = round(time.monotonic() - started, 2)
        print(json.dumps({"scenario": name, "error": error, "seconds": seconds}), flush=True)


def values(label: str, count: int = RECORD_COUNT) -> list[bytes]:
    """Values that compress well, each different."""
    return [f"{label} {number:04d} ".encode() * 8 for number in range(count)]


def expect_equal(actual: T, expected: T, what: str) -> None:
    """Raise `Unexpected` unless both are the same."""
    if actual != expected:
        raise Unexpected(f"{what}: {_short(actual)}, not {_short(expected)}")


def expect_values(actual: Iterable[bytes], expected: Sequence[bytes]) -> None:
    """Raise `Unexpected` unless the values are these in this order."""
    expect_equal(list(actual), list(expected), "values")


def expect(is_so: object, what: str) -> None:
    """Raise `Unexpected` unless it is so."""
    if not is_so:
        raise Unexpected(what)


def eventually(is_so: Callable[[], object], what: str) -> None:
    """Return when it is so; raises `Unexpected` when it is not in time."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise Unexpected(what)
        time.sleep(POLL_SECONDS)


def _error_of(check: Check, ground: Ground) -> str:
    # Whatever a client raises is an answer that the test judges.
    try:
        check(ground)
    except Exception:  # noqa: BLE001
        return traceback.format_exc()[-ERROR_CHARACTERS:]
    return ""


def _short(thing: object) -> str:
    text = repr(thing)
    return text if len(text) <= 300 else f"{text[:150]} … {text[-100:]}"
