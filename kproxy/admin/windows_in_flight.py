"""`WindowsInFlight`: what is in flight of share-partitions, in memory or, where nobody fetches, in the state log."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge

from kproxy.admin.live_share_partitions import LiveSharePartitions
from kproxy.admin.share_views import ClientIds, InFlightView, TopicNames, in_flight_views, is_wanted
from kproxy.admin.state_log_views import StateLogSlots
from kproxy.admin.turns import in_order, in_turns
from kproxy.errors import KproxyError
from kproxy.handlers.ports import Clock
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, SharePartitionKey, topic_id_text
from kproxy.share.limits import ShareLimits
from kproxy.share.share_partition import SharePartition
from kproxy.statelog.durable_state import DurableShareState

LimitsOf = Callable[[GroupId], ShareLimits]
"""Says which limits the share-partitions of a group have now."""


@dataclass(frozen=True, slots=True)
class WindowsInFlight:
    """Finds share-partitions by what is asked for, and their runs of offsets. `clock` is that of the locks."""

    coordinator: GroupCoordinator
    directory: LiveSharePartitions
    topic_name: TopicNames
    client_id: ClientIds
    clock: Clock
    state_log: Callable[[], StateLogSlots | None]
    limits_of: LimitsOf

    async def live_keys(self, wanted: Mapping[str, str]) -> Iterator[SharePartitionKey]:
        """Return the live share-partitions of the `group`, `topic` and `partition` among `wanted`, in order.

        They are sorted in portions, and merged as they are due.
        """
        return await _in_order(self._live(wanted))

    async def keys(self, wanted: Mapping[str, str]) -> Iterator[SharePartitionKey]:
        """Return these, and those that are not live and have something in flight by the state log, in order."""
        live, durable = await _in_order(self._live(wanted)), await _in_order(self._durable(wanted))
        return merge(live, durable)

    async def with_runs(
        self, keys: Iterable[SharePartitionKey], of_runs: Mapping[str, str]
    ) -> list[SharePartitionKey]:
        """Return those with a run that is wanted: what an answer passes over is found out before it begins."""
        return [key async for key in in_turns(keys) if any(self.runs((key,), of_runs))]

    def runs(self, keys: Iterable[SharePartitionKey], wanted: Mapping[str, str]) -> Iterator[InFlightView]:
        """Yield the runs that are wanted of share-partitions, each as it is when it is due."""
        for key in keys:
            live = self.directory.find(key)
            share_partition = live or self._as_it_would_be_loaded(key)
            if share_partition is None:
                continue  # its slot is not here, any more
            views = in_flight_views(
                share_partition.view(),
                self._name(key),
                self.client_id,
                now_ms=self.clock.now_ms(),
                is_live=live is not None,
            )
            yield from (view for view in views if is_wanted(view, wanted))

    async def _live(self, wanted: Mapping[str, str]) -> AsyncIterator[SharePartitionKey]:
        async for key in in_turns(tuple(self.directory.keys())):
            if _is_asked_for(key, self.topic_name(key.topic_id), wanted):
                yield key

    async def _durable(self, wanted: Mapping[str, str]) -> AsyncIterator[SharePartitionKey]:
        group_ids = [GroupId(wanted["group"])] if "group" in wanted else self.coordinator.group_ids
        async for group_id in in_turns(group_ids):
            async for key, name in in_turns(initialized_keys(self.coordinator, group_id)):
                if not _is_asked_for(key, name, wanted) or self.directory.find(key):
                    continue
                state = self._state_of(key)
                if state is not None and state.state_batches:
                    yield key

    def _name(self, key: SharePartitionKey) -> str | None:
        name = self.topic_name(key.topic_id)
        group = None if name is not None else self.coordinator.find(key.group_id)
        return name if group is None else group.state_topic_names.get(key.topic_id)

    def _state_of(self, key: SharePartitionKey) -> DurableShareState | None:
        slots = self.state_log()
        try:
            return None if slots is None else slots.state_of(key)
        except KproxyError:
            return None  # the answer says that its slot is not loaded; of one elsewhere another process tells

    def _as_it_would_be_loaded(self, key: SharePartitionKey) -> SharePartition | None:
        state = self._state_of(key)
        if state is None or state.start_offset < 0:
            return None
        try:
            return SharePartition(
                key,
                start_offset=state.start_offset,
                state_batches=state.state_batches,
                limits=self.limits_of(key.group_id),
            )
        except KproxyError:
            return None  # it contradicts itself: whoever fetches is told


def initialized_keys(
    coordinator: GroupCoordinator, group_id: GroupId
) -> Iterator[tuple[SharePartitionKey, str]]:
    """Yield the share-partitions that a group has initialized, with the names of their topics: no group, none."""
    group = coordinator.find(group_id)
    topics = {} if group is None else group.topics.state_partitions.initialized
    for topic_id, topic in topics.items():
        for partition in topic.partitions:
            yield SharePartitionKey(group_id, topic_id, partition), topic.topic_name


def _is_asked_for(key: SharePartitionKey, name: str | None, wanted: Mapping[str, str]) -> bool:
    return (
        wanted.get("group", key.group_id) == key.group_id
        and int(wanted.get("partition", key.partition)) == key.partition
        and wanted.get("topic", name) in {name, topic_id_text(key.topic_id)}
    )


async def _in_order(keys: AsyncIterator[SharePartitionKey]) -> Iterator[SharePartitionKey]:
    return await in_order([key async for key in keys], key=lambda key: key)
