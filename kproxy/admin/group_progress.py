"""`GroupProgress`: every share-partition of a group, or of all, fetched from or not, with what lies before it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kproxy.admin.live_share_partitions import LiveSharePartitions
from kproxy.admin.progress_views import (
    SharePartitionProgress,
    SharePartitionWindow,
    backlog_question,
    durable_window,
    live_window,
    progress_view,
    unknown_window,
)
from kproxy.admin.share_views import TopicNames
from kproxy.admin.state_log_views import StateLogSlots
from kproxy.admin.turns import in_order, in_turns
from kproxy.admin.windows_in_flight import LimitsOf, initialized_keys
from kproxy.errors import ApiError
from kproxy.handlers.backlog import Backlog, Backlogs
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import Clock
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, SharePartitionKey

WINDOWS_AT_ONCE: Final = 100
"""After so many, about a millisecond, whoever waits for the proxy has a turn."""

IsolationOf = Callable[[GroupId], IsolationLevel]
"""Says which records a group is given."""

NOT_ASKED: Final = Backlog(None, None, "")
"""What is known of a log that nobody was asked about."""


def read_uncommitted(_: GroupId) -> IsolationLevel:
    """Return what groups are given unless they are set up otherwise."""
    return IsolationLevel.READ_UNCOMMITTED


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """Looks at what kproxy holds first, and asks the brokers then: so no lag is less than it was."""

    coordinator: GroupCoordinator
    directory: LiveSharePartitions
    topic_name: TopicNames
    state_log: Callable[[], StateLogSlots | None]
    backlogs: Backlogs
    wall_clock: Clock
    limits_of: LimitsOf
    isolation_of: IsolationOf = read_uncommitted

    async def of(self, group_id: GroupId, *, has_lag: bool) -> Iterator[SharePartitionProgress]:
        """Return the share-partitions of a group by topic name and number; without `has_lag` no broker is asked.

        Each is made when it is due.
        """
        windows = await self._windows(group_id)
        backlogs: Sequence[Backlog] = [NOT_ASKED] * len(windows)
        if has_lag and windows:
            isolation = self.isolation_of(group_id)
            questions = [backlog_question(window, isolation) async for window in in_turns(windows)]
            backlogs = await self.backlogs.look(questions)
        now_ms = self.wall_clock.now_ms()
        return (
            progress_view(window, backlog, now_ms) for window, backlog in zip(windows, backlogs, strict=True)
        )

    async def windows_of_all(self) -> Mapping[GroupId, Sequence[SharePartitionWindow]]:
        """Return what kproxy itself knows of each share-partition, by group, in no order; a group may have none."""
        group_ids = self.coordinator.group_ids
        found: dict[GroupId, list[SharePartitionWindow]] = {group_id: [] for group_id in group_ids}
        names = await self._names(group_ids, tuple(self.directory.keys()))
        async for key, name in in_turns(names.items(), at_once=WINDOWS_AT_ONCE):
            found.setdefault(key.group_id, []).append(self._window(key, name))
        return found

    async def _windows(self, group_id: GroupId) -> Sequence[SharePartitionWindow]:
        """Look at one share-partition after the other, and let others do something in between."""
        # The directory is no mapping.
        all_live = tuple(self.directory.keys())
        live = [key async for key in in_turns(all_live) if key.group_id == group_id]
        names = await self._names([group_id], live)
        ordered = await in_order(names.items(), key=lambda named: (named[1] or "", named[0]))
        return [self._window(key, name) async for key, name in in_turns(ordered, at_once=WINDOWS_AT_ONCE)]

    async def _names(
        self, group_ids: Collection[GroupId], live: Sequence[SharePartitionKey]
    ) -> dict[SharePartitionKey, str | None]:
        """Return what is live, and what the groups have initialized. Groups know names that the cluster forgot."""
        found = {key: self.topic_name(key.topic_id) async for key in in_turns(live)}
        async for group_id in in_turns(group_ids, at_once=WINDOWS_AT_ONCE):
            async for key, name in in_turns(initialized_keys(self.coordinator, group_id)):
                found[key] = name  # noqa: PERF403 - to take over a whole dictionary has no turns
        return found

    def _window(self, key: SharePartitionKey, name: str | None) -> SharePartitionWindow:
        share_partition = self.directory.find(key)
        if share_partition is not None:
            return live_window(share_partition, name)
        window, why_not_live = self._durable(key, name), self.directory.why_not_live(key)
        return replace(window, not_live_reason=why_not_live) if why_not_live else window

    def _durable(self, key: SharePartitionKey, name: str | None) -> SharePartitionWindow:
        slots = self.state_log()
        if slots is None:
            return unknown_window(key, name, "the state log is not there yet")
        try:
            state = slots.state_of(key)
        except ApiError as refusal:
            return unknown_window(key, name, str(refusal))
        return durable_window(key, state, name, self.limits_of(key.group_id).partition_max_record_locks)
