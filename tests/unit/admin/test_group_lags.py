"""Who gets which look at all groups, and what Prometheus is told."""

import asyncio
from collections.abc import Mapping, Sequence

from kproxy.admin.group_lag import GroupLag
from kproxy.admin.group_lags import FIRST_SCRAPE_SECONDS, FRESH_MS, REST, SCRAPED_MS, STALE_MS, GroupLags
from kproxy.handlers.backlog import Backlog, BacklogQuestion
from kproxy.share.identifiers import GroupId, TopicIdPartition
from kproxy.statelog.actors import MAX_TEXT_LENGTH
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.inspectable import NOON_MS, ORDERS, Inspectable
from tests.in_memory.scripted_partition_reader import InMemoryLog

WORKERS = GroupId("workers")


def a_group_that_is_behind(*group_ids: str) -> Inspectable:
    """Groups at offset 4 of a log of ten records, the first of an hour ago."""
    inspectable = Inspectable()
    for group_id in group_ids or (WORKERS,):
        inspectable.join("alice", group_id=group_id)
        for partition in range(2):
            inspectable.share_partition(group_id=group_id, partition=partition, start_offset=4)
    for partition in range(2):
        log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, partition)] = InMemoryLog()
        log.append([b"a"] * 10, timestamp_ms=NOON_MS - 3_600_000)
    return inspectable


def lags_of(inspectable: Inspectable) -> GroupLags:
    return inspectable.inspection().lags


def test_a_group_is_told_with_all_its_share_partitions_together() -> None:
    # When
    found = asyncio.run(lags_of(a_group_that_is_behind()).look())

    # Then
    assert found == {WORKERS: GroupLag(12, True, NOON_MS - 3_600_000, True, "")}


def test_who_asks_within_a_second_is_told_what_was_found_then() -> None:
    # Given
    inspectable = a_group_that_is_behind()
    lags = lags_of(inspectable)

    async def questions_after(pause_ms: int) -> int:
        inspectable.backlogs.asked.clear()
        inspectable.clock.advance(pause_ms)
        await lags.look()
        return len(inspectable.backlogs.asked)

    async def go() -> list[int]:
        return [await questions_after(pause_ms) for pause_ms in (0, FRESH_MS, 1)]

    # When
    asked = asyncio.run(go())

    # Then
    assert asked == [4, 0, 2], "two ends and two records, nothing, and the ends again"


class SlowBacklogs:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.is_let = asyncio.Event()
        self.asked = 0

    async def look(self, questions: Sequence[BacklogQuestion]) -> Sequence[Backlog]:
        self.asked += 1
        await self.is_let.wait()
        return [Backlog(4)] * len(questions)


def test_all_who_ask_at_once_wait_for_one_look() -> None:
    # Given
    async def go() -> tuple[int, list[Mapping[GroupId, GroupLag]]]:
        inspectable, slow = a_group_that_is_behind(), SlowBacklogs()
        inspectable.backlogs = slow  # type: ignore[assignment]  # the same port
        lags = lags_of(inspectable)
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(lags.look()) for _ in range(3)]
            await asyncio.sleep(0)
            slow.is_let.set()
        return slow.asked, [each.result() for each in asking]

    # When
    asked, answers = asyncio.run(go())

    # Then
    assert asked == 1
    assert answers == [{WORKERS: GroupLag(0, True, None, True, "")}] * 3


def test_who_has_no_patience_is_told_what_is_known() -> None:
    # Given
    async def go() -> list[Mapping[GroupId, GroupLag]]:
        inspectable, slow = a_group_that_is_behind(), SlowBacklogs()
        inspectable.backlogs = slow  # type: ignore[assignment]  # the same port
        lags = lags_of(inspectable)
        nothing = await lags.look(patience_s=0)
        slow.is_let.set()
        something = await lags.look()
        slow.is_let.clear()
        inspectable.clock.advance(FRESH_MS + 1)
        return [nothing, something, await lags.look(patience_s=0)]

    # When
    nothing, something, same = asyncio.run(go())

    # Then
    assert (nothing, same) == ({}, something)


def exposed(metrics: Metrics) -> list[str]:
    lines = metrics.exposition().body.decode().splitlines()
    return [line for line in lines if line.startswith(("kproxy_share_lag", "kproxy_share_oldest"))]


def scraped(inspectable: Inspectable, *, after_ms: Sequence[int] = (0,)) -> list[list[str]]:
    """Return what scrapes say, one after the other, with so much time before each."""
    metrics, lags = Metrics(max_series=2), lags_of(inspectable)
    lags.register_gauges(metrics)

    async def go() -> list[list[str]]:
        said = []
        for pause_ms in after_ms:
            inspectable.clock.advance(pause_ms)
            await lags.freshen()
            said.append(exposed(metrics))
        return said

    return asyncio.run(go())


def test_prometheus_is_told_the_lag_and_the_age_of_each_group() -> None:
    assert scraped(a_group_that_is_behind()) == [
        [
            'kproxy_share_lag_records{group="workers"} 12.0',
            'kproxy_share_oldest_unfinished_seconds{group="workers"} 3600.0',
        ]
    ]


def test_a_group_that_has_finished_everything_is_0_behind_and_0_old() -> None:
    # Given
    inspectable = a_group_that_is_behind()
    for partition in range(2):
        inspectable.share_partition(partition=partition, start_offset=10)

    # When
    (said,) = scraped(inspectable)

    # Then
    assert [line.split()[1] for line in said] == ["0.0", "0.0"]


def test_of_what_is_not_known_prometheus_is_told_nothing() -> None:
    # Given
    inspectable = a_group_that_is_behind()
    inspectable.backlogs.silent.update(inspectable.backlogs.logs)

    # When
    (said,) = scraped(inspectable)

    # Then
    assert said == []


def test_of_more_groups_than_series_those_that_are_furthest_behind_are_told() -> None:
    # Given
    inspectable = a_group_that_is_behind("a", "b", "c")
    inspectable.share_partition(group_id="b", start_offset=10)

    # When
    (said,) = scraped(inspectable)

    # Then
    assert [line for line in said if "lag_records" in line] == [
        'kproxy_share_lag_records{group="a"} 12.0',
        'kproxy_share_lag_records{group="c"} 12.0',
    ]


def test_a_scrape_looks_at_no_more_groups_than_it_tells() -> None:
    """They are put in order when groups are looked at, with turns for others; a scrape is one turn."""
    # Given
    inspectable = a_group_that_is_behind(*(f"group-{number}" for number in range(5)))
    lags, metrics = lags_of(inspectable), Metrics(max_series=2)
    lags.register_gauges(metrics)

    # When
    asyncio.run(lags.freshen())

    # Then
    assert (len(lags.lag_records()), len(lags.oldest_unfinished_seconds())) == (2, 2)
    lines = metrics.exposition().body.decode().splitlines()
    assert [line for line in lines if line.startswith("kproxy_metrics_dropped_series_total")] == [
        'kproxy_metrics_dropped_series_total{metric="share_lag_records"} 3.0',
        'kproxy_metrics_dropped_series_total{metric="share_oldest_unfinished_seconds"} 3.0',
    ]


def test_a_long_group_id_is_cut() -> None:
    # When
    (said,) = scraped(a_group_that_is_behind("g" * 30_000))

    # Then
    assert max(map(len, said)) < MAX_TEXT_LENGTH + 100


def test_scrapes_share_a_look_for_ten_seconds() -> None:
    # Given
    inspectable = a_group_that_is_behind()

    # When
    scraped(inspectable, after_ms=(0, 5_000, SCRAPED_MS - 5_000))
    asked = len(inspectable.backlogs.asked)
    scraped(inspectable, after_ms=(0, SCRAPED_MS + 1))

    # Then
    assert asked == 4
    assert len(inspectable.backlogs.asked) == asked + 6


def test_a_look_that_takes_long_is_followed_by_a_longer_rest() -> None:
    # Given
    inspectable = a_group_that_is_behind()
    look = inspectable.backlogs.look

    class Costly:
        async def look(self, questions: Sequence[BacklogQuestion]) -> Sequence[Backlog]:
            inspectable.clock.advance(1_000)
            return await look(questions)

    inspectable_backlogs, inspectable.backlogs = inspectable.backlogs, Costly()  # type: ignore[assignment]  # the same port

    # When
    scraped(inspectable, after_ms=(0, SCRAPED_MS + 1, 2 * REST * 1_000 - SCRAPED_MS - 3_000))

    # Then
    assert len(inspectable_backlogs.asked) == 4


def test_a_scrape_that_knows_something_does_not_wait_for_brokers_that_are_slow() -> None:
    # Given
    async def go() -> tuple[list[str], float]:
        inspectable, slow = a_group_that_is_behind(), SlowBacklogs()
        inspectable.backlogs = slow  # type: ignore[assignment]  # the same port
        metrics, lags = Metrics(), lags_of(inspectable)
        lags.register_gauges(metrics)
        slow.is_let.set()
        await lags.freshen()
        slow.is_let.clear()
        inspectable.clock.advance(SCRAPED_MS + 1)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        await lags.freshen()
        waited_s = loop.time() - began_s
        slow.is_let.set()
        return exposed(metrics), waited_s

    # When
    said, waited_s = asyncio.run(go())

    # Then
    assert said
    assert waited_s < FIRST_SCRAPE_SECONDS


def test_what_is_too_old_is_told_to_nobody() -> None:
    # Given
    async def go() -> list[str]:
        inspectable, slow = a_group_that_is_behind(), SlowBacklogs()
        inspectable.backlogs = slow  # type: ignore[assignment]  # the same port
        metrics, lags = Metrics(), lags_of(inspectable)
        lags.register_gauges(metrics)
        slow.is_let.set()
        await lags.freshen()
        inspectable.clock.advance(STALE_MS + 1)
        return exposed(metrics)

    # Then
    assert asyncio.run(go()) == []
