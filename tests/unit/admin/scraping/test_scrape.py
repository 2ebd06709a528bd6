"""A scrape lets others go on while it is made."""

import asyncio

from kproxy.admin.scraping.scrape import Scrape
from kproxy.telemetry.metrics import Metrics
from tests.worlds.waiting import turns_during


async def test_others_have_turns_while_very_many_series_are_written() -> None:
    # Given
    metrics = Metrics(max_series=20_000)
    metrics.register_gauge(
        "share_lag_records", lambda: {(f"group {number}",): number for number in range(20_000)}
    )

    # When
    turn_count = await turns_during(Scrape(metrics).answer(""))

    # Then
    assert turn_count >= 3


async def test_what_needs_a_look_is_looked_at_before_and_scrapes_follow_each_other() -> None:
    # Given
    seen: list[str] = []

    async def look() -> None:
        seen.append("begin")
        await asyncio.sleep(0)
        seen.append("end")

    scrape = Scrape(Metrics())
    scrape.looks.append(look)

    # When
    first, second = await asyncio.gather(scrape.answer(""), scrape.answer(""))

    # Then
    assert seen == ["begin", "end", "begin", "end"]
    assert b"kproxy_connections_total" in first.body
    assert second.content_type.startswith("text/plain")
