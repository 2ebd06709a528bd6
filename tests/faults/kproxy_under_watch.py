"""`kproxy run` that tells what it holds: the real application, started instead of `-m kproxy` with the same arguments.

Each line of the standard input is answered by a JSON object on a line of the standard output: `tasks` and `objects`,
how many there are by name (numbers in names of tasks are N), after a full collection and with unused memory given back.
"""

import asyncio
import concurrent.futures
import ctypes
import gc
import json
import os
import re
import sys
import threading
from collections import Counter
from typing import Final, TypeAlias

import uvloop

from kproxy.cli import main as command_line
from tests.real_kafka.acquisitions import note_acquisitions

NUMBERS: Final = re.compile(r"\d+")
OWN_MODULES: Final = "kproxy."
ANSWER_SECONDS: Final = 30.0

Told: TypeAlias = "concurrent.futures.Future[dict[str, Counter[str]]]"


class Watch:
    """Knows the event loop of this process, and asks in it."""

    def __init__(self) -> None:
        self._loops: list[asyncio.AbstractEventLoop] = []
        self._make_loop = uvloop.new_event_loop

    def install(self) -> None:
        """Learn of the loop that kproxy makes, and answer from now on."""
        uvloop.new_event_loop = self._new_event_loop
        threading.Thread(target=self._answer, name="watch", daemon=True).start()

    def _new_event_loop(self) -> uvloop.Loop:
        loop = self._make_loop()
        self._loops.append(loop)
        return loop

    def _answer(self) -> None:
        for _ in sys.stdin:
            told: Told = concurrent.futures.Future()
            loop = self._loops[-1]
            loop.call_soon_threadsafe(_tell, loop, told)
            os.write(1, json.dumps(told.result(ANSWER_SECONDS)).encode() + b"\n")


def _tell(loop: asyncio.AbstractEventLoop, told: Told) -> None:
    told.set_result(_held(loop))


def _held(loop: asyncio.AbstractEventLoop) -> dict[str, Counter[str]]:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    classes = (type(each) for each in gc.get_objects())
    return {
        "tasks": Counter(NUMBERS.sub("N", task.get_name()) for task in asyncio.all_tasks(loop)),
        "objects": Counter(
            each.__qualname__ for each in classes if str(each.__module__).startswith(OWN_MODULES)
        ),
    }


def main() -> None:
    """Run kproxy."""
    Watch().install()
    note_acquisitions()
    sys.argv[0] = "kproxy"
    command_line.main()


if __name__ == "__main__":
    main()
