"""How much memory a kproxy occupies while something goes on."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from tests.real_kafka.kproxy_process import KproxyProcess

LOOK_SECONDS: Final = 0.02


@contextmanager
def watched_memory(kproxy: KproxyProcess) -> Iterator[list[int]]:
    """Look at the memory of kproxy every 20 ms until the block ends; the bytes of each look."""
    seen_bytes: list[int] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(LOOK_SECONDS):
            seen_bytes.append(kproxy.resident_bytes())

    with ThreadPoolExecutor() as threads:
        loop = threads.submit(watch)
        try:
            yield seen_bytes
        finally:
            is_over.set()
            loop.result()
