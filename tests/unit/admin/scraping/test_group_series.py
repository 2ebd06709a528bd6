"""What is told by group, topic and partition, and what is not when there is too much of it."""

from collections.abc import Mapping
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kproxy.admin.live_share_partitions import LiveSharePartitions
from kproxy.admin.scraping.group_series import GroupSeries
from kproxy.admin.turns import AT_ONCE
from kproxy.handlers.live.pauses import MOST_AT_FIRST
from kproxy.handlers.live.share_counters import ShareCounters
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey
from kproxy.share.limits import GroupLimits, ShareLimits
from kproxy.share.share_partition import SharePartition
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.inspectable import ORDERS, PAYMENTS, InMemorySharePartitions
from tests.in_memory.recording_observer import RecordingObserver
from tests.worlds.share_group_world import ORDERS as THESE_ORDERS
from tests.worlds.share_group_world import world_with_orders
from tests.worlds.waiting import turns_during, until

LABELS: Final = ("group", "topic", "partition", "event", "state")
LIMITS: Final = ShareLimits(partition_max_record_locks=200)


def with_in_flight(key: SharePartitionKey, *extents: tuple[int, int]) -> SharePartition:
    live = SharePartition(key, start_offset=0, state_batches=(), limits=LIMITS)
    for number, extent in enumerate(extents):
        live.acquire(
            MemberId(f"member {number}"),
            [extent],
            fetch_offset=live.next_fetch_offset(),
            max_records=1_000,
            batch_size=1_000,
            is_record_limit=False,
            now_ms=0,
        )
    return live


class Scraped:
    def __init__(self, *, max_series: int = 1_000, directory: LiveSharePartitions | None = None) -> None:
        self.metrics = Metrics(max_series)
        self.live = InMemorySharePartitions()
        self.counters = ShareCounters(RecordingObserver())
        watched = self.live if directory is None else directory
        self.coordinator = GroupCoordinator()
        self.series = GroupSeries(
            watched,
            self.counters,
            {ORDERS: "orders"}.get,
            coordinator=self.coordinator,
            metrics=self.metrics,
        )
        self.series.register()

    def hold(self, group: str, partition: int, *extents: tuple[int, int]) -> None:
        key = SharePartitionKey(GroupId(group), ORDERS, partition)
        self.live[key] = with_in_flight(key, *extents)

    async def samples(self, name: str) -> Mapping[tuple[str, ...], float]:
        await self.series.freshen()
        return {
            tuple(sample.labels[label] for label in LABELS if label in sample.labels): sample.value
            for family in text_string_to_metric_families(self.metrics.exposition().body.decode())
            for sample in family.samples
            if sample.name == name
        }


async def test_records_and_batches_in_flight_are_told_of_each_share_partition() -> None:
    # Given
    scraped = Scraped()
    scraped.hold("workers", 0, (0, 9), (10, 29))
    scraped.hold("workers", 1)

    # When
    records = await scraped.samples("kproxy_share_partition_inflight_records")
    batches = await scraped.samples("kproxy_share_partition_inflight_batches")

    # Then
    assert records == {("workers", "orders", "0"): 30}
    assert batches == {("workers", "orders", "0"): 2}


async def test_of_all_share_partitions_it_is_told_how_many_there_are_and_how_many_records_they_have() -> None:
    # Given
    scraped = Scraped(max_series=1)
    scraped.hold("workers", 0, (0, 9))
    scraped.hold("others", 0, (0, 4))
    scraped.hold("others", 1)

    # When
    counts = [await scraped.samples(f"kproxy_share_{name}") for name in ("partitions", "inflight_records")]

    # Then
    assert counts == [{(): 3}, {(): 15}]


async def test_groups_are_counted_by_state_some_in_a_turn_and_without_a_picture_of_their_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There may be a hundred thousand, and each may have 200 members with thousands of partitions."""
    # Given
    scraped = Scraped()
    described: list[GroupId] = []
    monkeypatch.setattr(GroupCoordinator, "describe", lambda _self, group_id: described.append(group_id))
    for number in range(3 * AT_ONCE):
        joining = Heartbeat(
            GroupId(f"g{number}"), MemberId("m"), 0, None, ("orders",), "client", "/127.0.0.1"
        )
        scraped.coordinator.admit(joining, topics={}, limits=GroupLimits(), now_ms=0)
    leaving = Heartbeat(GroupId("g0"), MemberId("m"), -1, None, None, "client", "/127.0.0.1")
    scraped.coordinator.leave(leaving, now_ms=0)

    # When
    turns = await turns_during(scraped.series.freshen())

    # Then
    counts = await scraped.samples("kproxy_share_groups")
    assert counts == {("Empty",): 1, ("Stable",): 3 * AT_ONCE - 1}
    assert turns >= 3
    assert described == []


async def test_what_a_lost_slot_has_ended_is_not_counted_though_it_is_in_memory_for_a_moment() -> None:
    # Given
    world = await world_with_orders(partition_count=2 * MOST_AT_FIRST)
    scraped = Scraped(directory=world.groups.directory)
    partitions = [(THESE_ORDERS, number) for number in range(2 * MOST_AT_FIRST)]
    world.produce(5)
    await world.member().open(*partitions, max_records=5)
    await until(lambda: len(world.groups.directory) == 2 * MOST_AT_FIRST)
    before = await scraped.samples("kproxy_share_partitions")

    # When
    world.groups.discard_live([GroupId("g")])

    # Then
    assert len(world.groups.directory) > 0
    counts = [await scraped.samples(f"kproxy_share_{name}") for name in ("partitions", "inflight_records")]
    assert [before, *counts] == [{(): 2 * MOST_AT_FIRST}, {(): 0}, {(): 0}]


async def test_of_a_group_all_its_records_are_told_and_how_full_its_fullest_window_is() -> None:
    # Given
    scraped = Scraped()
    scraped.hold("workers", 0, (0, 99))
    scraped.hold("workers", 1, (0, 49))

    # When
    records = await scraped.samples("kproxy_share_group_inflight_records")
    ratios = await scraped.samples("kproxy_share_group_window_ratio")

    # Then
    assert records == {("workers",): 150}
    assert ratios == {("workers",): 0.5}


async def test_a_topic_whose_name_is_not_known_is_told_by_its_id() -> None:
    # Given
    scraped = Scraped()
    key = SharePartitionKey(GroupId("workers"), PAYMENTS, 3)
    scraped.live[key] = with_in_flight(key, (0, 4))

    # When
    records = await scraped.samples("kproxy_share_partition_inflight_records")

    # Then
    assert records == {("workers", "dG9waWMtaWQtcGF5bWVudA", "3"): 5}


async def test_the_largest_are_told_where_there_are_more_than_series_and_the_others_are_counted() -> None:
    # Given
    scraped = Scraped(max_series=2)
    for partition, count in enumerate((5, 50, 20)):
        scraped.hold("workers", partition, (0, count - 1))

    # When
    records = await scraped.samples("kproxy_share_partition_inflight_records")

    # Then
    assert records == {("workers", "orders", "1"): 50, ("workers", "orders", "2"): 20}
    assert scraped.metrics.counted("metrics_dropped_series", "share_partition_inflight_records") == 1


async def test_what_happened_to_the_records_of_a_group_is_told_and_no_record_is_lost_to_the_bound() -> None:
    # Given
    scraped = Scraped(max_series=18)
    for name, count in (("a", 5), ("b", 7), ("c", 11), ("d", 13)):
        scraped.counters.delivered(GroupId(name), [AcquiredRange(0, count - 1, 1)])

    # When
    records = await scraped.samples("kproxy_share_group_records_total")

    # Then
    delivered = {group: count for (group, event), count in records.items() if event == "delivered"}
    assert delivered == {"a": 5, "b": 7, "other": 24}
    assert len(records) == 18
    assert scraped.metrics.counted("metrics_dropped_series", "share_group_records") == 2


async def test_others_have_turns_while_the_largest_of_very_many_are_found() -> None:
    # Given
    scraped = Scraped(max_series=20)
    readings = {number: number * 7_919 % 10_007 for number in range(5 * AT_ONCE)}
    found: dict[int, int] = {}

    async def find() -> None:
        found.update(await scraped.series._largest(readings, "share_group_inflight_records"))

    # When
    turn_count = await turns_during(find())

    # Then
    assert list(found.values()) == sorted(readings.values(), reverse=True)[:20]
    assert turn_count >= 5
