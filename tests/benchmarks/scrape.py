"""What a scrape of very much costs: `python -m tests.benchmarks.scrape [--share-partitions N] [--groups N]`.

The admin port of this process is scraped over HTTP from another thread, with the bound on series that is the
default, and with one that cuts nothing. Beside the time of a scrape stands the longest turn of the event loop while
it went on, and when nobody scraped: in processor time of its thread, so that what else runs does not count.
"""

import argparse
import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeVar
from urllib.request import urlopen

import uvloop

from kproxy.admin.readiness import Readiness
from kproxy.admin.scraping.group_series import GroupSeries
from kproxy.admin.server import AdminServer
from kproxy.handlers.live.share_counters import ShareCounters
from kproxy.settings import HostPort
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey
from kproxy.share.limits import ShareLimits
from kproxy.share.share_partition import SharePartition
from kproxy.telemetry.metrics import DEFAULT_MAX_SERIES, Metrics
from tests.in_memory.inspectable import ORDERS, Inspectable
from tests.in_memory.recording_observer import RecordingObserver

T = TypeVar("T")

TIMED_GROUPS: Final = ("share_fetch_ratio", "share_acquire_seconds", "share_read_turn_seconds")
"""Histograms that have the group as a label."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of one scrape, the longest turn meanwhile, and how many lines came."""

    scrape_s: float
    longest_turn_s: float
    lines: int


def main(arguments: Sequence[str]) -> int:
    """Measure, and print a line for each bound on series."""
    options = _options(arguments)
    most = options.share_partitions * 2
    print(f"{options.share_partitions} share-partitions of {options.groups} groups, {options.rounds} scrapes")
    for max_series in (DEFAULT_MAX_SERIES, most):
        idle_s, measured = uvloop.run(_measure(options, max_series))
        print(
            f"max.series {max_series}: {measured[0].lines} lines; "
            f"scrape {median(each.scrape_s for each in measured) * 1000:.0f} ms, "
            f"longest {max(each.scrape_s for each in measured) * 1000:.0f} ms; "
            f"longest turn {max(each.longest_turn_s for each in measured) * 1000:.1f} ms "
            f"(idle {idle_s * 1000:.1f} ms)"
        )
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.scrape")
    parser.add_argument("--share-partitions", type=int, default=10_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=20)
    return parser.parse_args(arguments)


async def _measure(options: argparse.Namespace, max_series: int) -> tuple[float, list[Measured]]:
    server = _server(options, Metrics(max_series))
    await server.start()
    gc.collect()
    gc.freeze()
    try:
        url = f"http://{server.address}/metrics"
        await asyncio.to_thread(_scraped, url)
        _, idle_s = await _longest_turn(lambda: asyncio.sleep(0.2))
        return idle_s, [await _one(url) for _ in range(options.rounds)]
    finally:
        await server.stop()


async def _one(url: str) -> Measured:
    begun_s = time.perf_counter()
    lines, longest_s = await _longest_turn(lambda: asyncio.to_thread(_scraped, url))
    return Measured(time.perf_counter() - begun_s, longest_s, lines)


def _scraped(url: str) -> int:
    with urlopen(url) as answer:
        body: bytes = answer.read()
    return body.count(b"\n")


async def _longest_turn(work: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    """Do `work`, and return what it returned and the longest time that somebody else waited for a turn."""
    longest_s, is_over = 0.0, False

    async def wait_for_turns() -> None:
        nonlocal longest_s
        while not is_over:
            before_s = time.thread_time()
            await asyncio.sleep(0)
            longest_s = max(longest_s, time.thread_time() - before_s)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(wait_for_turns())
        done = await work()
        is_over = True
    return done, longest_s


def _server(options: argparse.Namespace, metrics: Metrics) -> AdminServer:
    inspectable = Inspectable()
    counters = ShareCounters(RecordingObserver())
    for number in range(options.share_partitions):
        group = GroupId(f"a-share-group-{number % options.groups:06d}")
        key = SharePartitionKey(group, ORDERS, number // options.groups)
        inspectable.live[key] = _in_use(key, number)
        counters.delivered(group, [AcquiredRange(0, 9, 1)])
        for histogram in TIMED_GROUPS:
            metrics.observe(histogram, number / options.share_partitions, group)
    series = GroupSeries(
        inspectable.live,
        counters,
        inspectable.topic_names.get,
        coordinator=inspectable.coordinator,
        metrics=metrics,
    )
    series.register()
    server = AdminServer(
        HostPort("127.0.0.1", 0),
        metrics=metrics,
        readiness=Readiness({}),
        status=dict,
        inspection=inspectable.inspection(),
    )
    server.scrape.looks.append(series.freshen)
    return server


def _in_use(key: SharePartitionKey, number: int) -> SharePartition:
    share_partition = SharePartition(key, start_offset=0, state_batches=(), limits=ShareLimits())
    share_partition.acquire(
        MemberId("member"),
        [(0, number % 500)],
        fetch_offset=0,
        max_records=1_000,
        batch_size=1_000,
        is_record_limit=False,
        now_ms=0,
    )
    return share_partition


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
