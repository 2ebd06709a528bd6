"""`GroupSeries`: what is told by group, topic and partition, with a bound on how many series that makes; and in all.

Of gauges the largest are told, of what is counted the groups that were counted first; the others together are the group
`other`. How many were not told is counted, too.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from operator import itemgetter
from typing import Final, Protocol, TypeVar

from kproxy.admin.live_share_partitions import LiveSharePartitions
from kproxy.admin.turns import in_order, in_turns
from kproxy.handlers.live.share_counters import EVENTS, GroupCounts
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId, topic_id_text
from kproxy.share.share_group_image import ShareGroupState
from kproxy.statelog.actors import cut_text
from kproxy.telemetry.metrics import OTHER, Metrics

K = TypeVar("K")
T = TypeVar("T", int, float, tuple[int, int])
Labels = tuple[str, ...]

_AT_ONCE: Final = 500
"""Share-partitions, or groups, that are looked at in a turn of the loop: a millisecond."""


def _no_groups() -> dict[Labels, float]:
    return {(state.value,): 0 for state in ShareGroupState}


class RecordCounts(Protocol):
    """What happened to the records of each group: `ShareCounters`."""

    def records_of_groups(self) -> Iterable[tuple[GroupId, GroupCounts]]:
        """Return what was counted of each group."""
        ...


class GroupSeries:
    """Looks at all groups and share-partitions in memory before a scrape, some at a time; `register` once.

    Args:
        directory: the share-partitions in memory.
        coordinator: the groups.
        counts: what happened to the records of groups.
        topic_name: the name of a topic id, None when it is not known.
        metrics: where they are told; each metric has `metrics.max_series` series at most.
    """

    def __init__(
        self,
        directory: LiveSharePartitions,
        counts: RecordCounts,
        topic_name: Callable[[TopicId], str | None],
        *,
        coordinator: GroupCoordinator,
        metrics: Metrics,
    ) -> None:
        self._directory = directory
        self._coordinator = coordinator
        self._counts = counts
        self._topic_name = topic_name
        self._metrics = metrics
        self._live_count = self._in_flight_count = 0
        self._by_state: Mapping[Labels, float] = _no_groups()
        self._records: Mapping[Labels, int] = {}
        self._of_groups: tuple[Mapping[Labels, float], Mapping[Labels, float]] = ({}, {})
        self._of_partitions: tuple[Mapping[Labels, float], Mapping[Labels, float]] = ({}, {})

    def register(self) -> None:
        """Let every scrape read what the last look found."""
        metrics = self._metrics
        metrics.register_counter("share_group_records", lambda: self._records)
        metrics.register_gauge("share_groups", lambda: self._by_state)
        metrics.register_gauge("share_partitions", lambda: self._live_count)
        metrics.register_gauge("share_inflight_records", lambda: self._in_flight_count)
        metrics.register_gauge("share_group_inflight_records", lambda: self._of_groups[0])
        metrics.register_gauge("share_group_window_ratio", lambda: self._of_groups[1])
        metrics.register_gauge("share_partition_inflight_records", lambda: self._of_partitions[0])
        metrics.register_gauge("share_partition_inflight_batches", lambda: self._of_partitions[1])

    async def freshen(self) -> None:
        """Look at everything again; others have a turn now and then."""
        await self._look_at_groups()
        await self._look_at_windows()
        await self._look_at_counts()

    async def _look_at_groups(self) -> None:
        counts = _no_groups()
        async for group_id in in_turns(self._coordinator.group_ids, at_once=_AT_ONCE):
            if (group := self._coordinator.find(group_id)) is not None:
                counts[group.state.value,] += 1
        self._by_state = counts

    async def _look_at_windows(self) -> None:
        in_flight: dict[SharePartitionKey, tuple[int, int]] = {}
        of_groups: dict[GroupId, int] = {}
        fullest: dict[GroupId, float] = {}
        live_count = 0
        async for key in in_turns(tuple(self._directory.keys()), at_once=_AT_ONCE):
            share_partition = self._directory.find(key)
            if share_partition is None:
                continue  # its topic or group ended, and it is let go of soon
            live_count += 1
            if not (records := share_partition.in_flight_count):
                continue
            group_id = key.group_id
            in_flight[key] = (records, share_partition.run_count)
            of_groups[group_id] = of_groups.get(group_id, 0) + records
            ratio = records / max(share_partition.limits.partition_max_record_locks, 1)
            fullest[group_id] = max(fullest.get(group_id, 0.0), ratio)
        self._live_count, self._in_flight_count = live_count, sum(of_groups.values())
        told = await self._largest(of_groups, "share_group_inflight_records")
        ratios = await self._largest(fullest, "share_group_window_ratio")
        self._of_groups = (
            {(cut_text(group_id),): records for group_id, records in told.items()},
            {(cut_text(group_id),): ratio for group_id, ratio in ratios.items()},
        )
        windows = await self._largest(in_flight, "share_partition_inflight_records")
        labels = {key: self._labels(key) for key in windows}
        self._of_partitions = (
            {labels[key]: records for key, (records, _) in windows.items()},
            {labels[key]: batches for key, (_, batches) in windows.items()},
        )

    async def _look_at_counts(self) -> None:
        found: dict[Labels, int] = {}
        beyond = [0] * len(EVENTS)
        room = self._metrics.max_series // len(EVENTS) - 1
        count = 0
        async for group_id, counts in in_turns(tuple(self._counts.records_of_groups()), at_once=_AT_ONCE):
            count += 1
            if count <= room:
                label = cut_text(group_id)
                for event, amount in zip(EVENTS, counts.by_event(), strict=True):
                    found[label, event] = found.get((label, event), 0) + amount
            else:
                beyond = [sum(both) for both in zip(beyond, counts.by_event(), strict=True)]
        if count > room:
            found |= {(OTHER, event): amount for event, amount in zip(EVENTS, beyond, strict=True)}
            self._metrics.count("metrics_dropped_series", count - room, "share_group_records")
        self._records = found

    async def _largest(self, readings: Mapping[K, T], gauge: str) -> Mapping[K, T]:
        """Return as many as may be told, the largest ones, and count the others as dropped; others have turns."""
        most = self._metrics.max_series
        if len(readings) <= most:
            return readings
        self._metrics.count("metrics_dropped_series", len(readings) - most, gauge)
        ordered = await in_order(readings.items(), itemgetter(1), reverse=True)
        return {key: reading async for key, reading in in_turns(islice(ordered, most), at_once=_AT_ONCE)}

    def _labels(self, key: SharePartitionKey) -> Labels:
        topic = self._topic_name(key.topic_id) or topic_id_text(key.topic_id)
        return (cut_text(key.group_id), topic, str(key.partition))
