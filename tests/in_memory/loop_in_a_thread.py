"""`LoopInAThread`: an event loop beside the test, for servers of tests whose clients block."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

T = TypeVar("T")

PATIENCE_S: Final = 30.0


class LoopInAThread:
    """Runs coroutines elsewhere while the test waits for them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)


@contextmanager
def loop_in_a_thread() -> Iterator[LoopInAThread]:
    """Give a loop that runs for the length of the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield LoopInAThread(loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()
