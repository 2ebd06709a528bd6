"""What happened to records, counted: the one place that knows the counters of share groups and their labels."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.handlers.ports import Observer
from kproxy.share.acknowledgement import AcknowledgementBatch
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.identifiers import GroupId
from kproxy.share.operators.settlement import OperatorAction
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import cut_text

# Keys that are no members of an Enum: hashing one is a call of a Python function.
_LABELS: Final[Mapping[int, str]] = {each.value: each.name.lower() for each in AcknowledgeType}
_GAP: Final = AcknowledgeType.GAP.value
_ACCEPT: Final = AcknowledgeType.ACCEPT.value
_RELEASE: Final = AcknowledgeType.RELEASE.value
_REJECT: Final = AcknowledgeType.REJECT.value

MOST_GROUPS: Final = 20_000
"""Of so many groups it is told what happened to their records; about 150 bytes each, and the id."""
MOST_CHARACTERS: Final = 4_000_000
"""Of all their ids together, which may have 32,767 each and may be of groups that are gone: four bytes each at most."""

EVENTS: Final = ("delivered", "redelivered", "acknowledged", "released", "lock_timeout", "archived")
"""What happens to records of a group, as labels."""


@dataclass(slots=True)
class GroupCounts:
    """Records of one group since this process counts them.

    `redelivered_count` of those delivered were no first deliveries. Acknowledged are those that members were done with:
    accepted or rejected. `ended_lock_count` are those whose lock ran out, archived those that will not come again.
    """

    delivered_count: int = 0
    redelivered_count: int = 0
    acknowledged_count: int = 0
    released_count: int = 0
    ended_lock_count: int = 0
    archived_count: int = 0

    def by_event(self) -> tuple[int, ...]:
        """Return the counts in the order of `EVENTS`."""
        return (
            self.delivered_count,
            self.redelivered_count,
            self.acknowledged_count,
            self.released_count,
            self.ended_lock_count,
            self.archived_count,
        )


class ShareCounters:
    """Counts offsets, so a hole that was acquired with its neighbours counts as a record.

    What it counts of single groups is for those who compare two looks: the group that was counted first is forgotten,
    and begins at 0 again, when there are more than `most_groups`, or their ids have more than `most_characters`. One
    that was deleted is kept like any other: the sum of many would shrink without it, and counters do not.
    """

    __slots__ = ("_character_count", "_groups", "_most_characters", "_most_groups", "_observer")

    def __init__(
        self, observer: Observer, *, most_groups: int = MOST_GROUPS, most_characters: int = MOST_CHARACTERS
    ) -> None:
        self._observer = observer
        self._groups: dict[GroupId, GroupCounts] = {}
        self._most_groups = most_groups
        self._most_characters = most_characters
        self._character_count = 0

    def of_group(self, group_id: GroupId) -> GroupCounts:
        """Return what was counted of a group; all 0 where nothing was."""
        return self._groups.get(group_id) or GroupCounts()

    def records_of_groups(self) -> Iterable[tuple[GroupId, GroupCounts]]:
        """Return what was counted of each group, those that were counted first before the others."""
        return self._groups.items()

    def fetched(self, group_id: GroupId, *, asked: int, acquired: int) -> None:
        """Note of how many partitions a ShareFetch asked for records, at least one, and of how many it got some."""
        self._observer.observe("share_fetch_ratio", acquired / asked, cut_text(group_id))

    def delivered(self, group_id: GroupId, acquired: Iterable[AcquiredRange]) -> None:
        """Count records that a member was given, first deliveries apart from repeated ones."""
        first_count = repeated_count = 0
        for run in acquired:
            count = run.last_offset - run.first_offset + 1
            if run.delivery_count == 1:
                first_count += count
            else:
                repeated_count += count
        if first_count:
            self._observer.count("share_deliveries", first_count, "true")
        if repeated_count:
            self._observer.count("share_deliveries", repeated_count, "false")
        counts = self._counts_of(group_id)
        counts.delivered_count += first_count + repeated_count
        counts.redelivered_count += repeated_count

    def acknowledged(
        self,
        group_id: GroupId,
        batches: Iterable[AcknowledgementBatch],
        delta: StateDelta,
        *,
        start_offset: int,
    ) -> None:
        """Count what a member said of records, once it was accepted.

        What was said of offsets below `start_offset`, where the share-partition began before, changed nothing.
        """
        counts = [0] * len(_LABELS)
        for batch in batches:
            if batch.last_offset < start_offset:
                continue
            first_offset, types = max(batch.first_offset, start_offset), batch.acknowledge_types
            if len(types) == 1:
                counts[types[0]] += batch.last_offset - first_offset + 1
            else:
                for acknowledge_type, count in Counter(types[first_offset - batch.first_offset :]).items():
                    counts[acknowledge_type] += count
        for acknowledge_type, count in enumerate(counts):
            if count:
                self._observer.count("share_acknowledgements", count, _LABELS[acknowledge_type])
        of_group = self._counts_of(group_id)
        of_group.acknowledged_count += counts[_ACCEPT] + counts[_REJECT]
        of_group.released_count += counts[_RELEASE]
        rejected, gaps = counts[_REJECT], counts[_GAP]
        self._archived(group_id, "rejected", rejected)
        self._archived(group_id, "gap", gaps)
        self._archived(group_id, "delivery_limit", _count(delta, RecordState.ARCHIVED) - rejected - gaps)

    def released(self, group_id: GroupId, delta: StateDelta) -> None:
        """Count records that a closed or evicted session gave back for the last time."""
        self._archived(group_id, "delivery_limit", _count(delta, RecordState.ARCHIVED))

    def locks_expired(self, group_id: GroupId, delta: StateDelta) -> None:
        """Count records whose lock ended."""
        archived = _count(delta, RecordState.ARCHIVED)
        expired = archived + _count(delta, RecordState.AVAILABLE)
        if expired:
            self._observer.count("share_lock_timeouts", expired)
            self._counts_of(group_id).ended_lock_count += expired
        self._archived(group_id, "delivery_limit", archived)

    def operated(self, group_id: GroupId, delta: StateDelta, action: OperatorAction) -> None:
        """Count records that an operator took out of delivery, or released for the last time."""
        reason = "delivery_limit" if action is OperatorAction.RELEASE else "operator"
        self._archived(group_id, reason, _count(delta, RecordState.ARCHIVED))

    def overtaken_by_log_start(self, group_id: GroupId, record_count: int) -> None:
        """Count records that the log lost before they were done with."""
        self._archived(group_id, "log_start", record_count)

    def sessions_evicted(self, sessions: Sequence[object]) -> None:
        """Count share sessions that ended with their connection."""
        if sessions:
            self._observer.count("share_sessions_evicted", len(sessions))

    def _counts_of(self, group_id: GroupId) -> GroupCounts:
        found = self._groups.get(group_id)
        if found is None:
            self._make_room(len(group_id))
            self._character_count += len(group_id)
            found = self._groups[group_id] = GroupCounts()
        return found

    def _make_room(self, character_count: int) -> None:
        """Forget the groups that were counted first until one more with an id of this length fits, or none is left."""
        while self._groups and (
            len(self._groups) >= self._most_groups
            or self._character_count + character_count > self._most_characters
        ):
            first = next(iter(self._groups))
            del self._groups[first]
            self._character_count -= len(first)

    def _archived(self, group_id: GroupId, reason: str, count: int) -> None:
        if count > 0:
            self._observer.count("share_archived", count, reason)
            self._counts_of(group_id).archived_count += count


def _count(delta: StateDelta, state: RecordState) -> int:
    return sum(batch.last_offset - batch.first_offset + 1 for batch in delta.batches if batch.state is state)
