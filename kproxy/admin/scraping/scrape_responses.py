"""`ScrapeResponses`: `/metrics` over HTTP, to so many readers at a time as there may be copies of it in memory."""

from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from kproxy.admin.entrance.access import Reason
from kproxy.admin.json_chunks import CHUNK_LENGTH, LongAnswers, TooManyStreams
from kproxy.admin.scraping.scrape import Scrape
from kproxy.telemetry.metrics import Metrics

MOST_AT_ONCE: Final = 16
"""Scrapes that are made, or read, at a time. Nobody has so many Prometheuses, and whoever reaches the port may ask."""


class ScrapeResponses:
    """Sends what `scrape` answers in portions, so that of a reader who reads nothing no more is held than the answer.

    Refusals are counted in `metrics`.
    """

    def __init__(self, scrape: Scrape, metrics: Metrics) -> None:
        self._scrape = scrape
        self._metrics = metrics
        self._under_way = LongAnswers(MOST_AT_ONCE)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Answer with all metrics, in the format that the scraper asks for; 503 where too many ask."""
        try:
            with self._under_way.reserved():
                return await self._answer(request)
        except TooManyStreams as refusal:
            self._metrics.count("admin_requests_refused", 1, Reason.TOO_MANY)
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=f"{refusal}\n")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        exposition = await self._scrape.answer(request.headers.get(hdrs.ACCEPT, ""))
        headers = {hdrs.CONTENT_TYPE: exposition.content_type}
        if request.method == hdrs.METH_HEAD:
            return web.Response(body=exposition.body, headers=headers)
        response = web.StreamResponse(headers=headers)
        response.content_length = len(exposition.body)
        await response.prepare(request)
        whole = memoryview(exposition.body)
        for begin in range(0, len(whole), CHUNK_LENGTH):
            await response.write(whole[begin : begin + CHUNK_LENGTH])
        await response.write_eof()
        return response
