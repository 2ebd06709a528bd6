"""`Scrape`: the answer to Prometheus, made with the event loop free in between."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from kproxy.admin.json_chunks import SLICE_S
from kproxy.telemetry.metrics import Exposition, Metrics


class Scrape:
    """Answers one scrape after the other."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self.looks: list[Callable[[], Awaitable[None]]] = []
        """Awaited before each scrape; they raise nothing."""
        self._turn = asyncio.Lock()

    async def answer(self, accept: str) -> Exposition:
        """Return all metrics in the format that `accept`, the header of the scraper, asks for."""
        async with self._turn:
            for look in self.looks:
                await look()
            content_type, portions = self._metrics.portions(accept)
            body = bytearray()
            begun_s = time.perf_counter()
            for portion in portions:
                body += portion
                if time.perf_counter() - begun_s >= SLICE_S:
                    await asyncio.sleep(0)
                    begun_s = time.perf_counter()
            return Exposition(content_type, bytes(body))
