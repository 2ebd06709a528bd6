"""What happened to records, counted: the one place that knows the counters of share groups and their labels."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kproxy.handlers.ports import Observer
from kproxy.share.acknowledgement import AcknowledgementBatch
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.state_batches import StateDelta

# Keys that are no members of an Enum: hashing one is a call of a Python function.
_LABELS: Final[Mapping[int, str]] = {each.value: each.name.lower() for each in AcknowledgeType}
_GAP: Final = AcknowledgeType.GAP.value
_REJECT: Final = AcknowledgeType.REJECT.value


class ShareCounters:
    """Counts offsets, so a hole that was acquired with its neighbours counts as a record."""

    __slots__ = ("_observer",)

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def delivered(self, acquired: Iterable[AcquiredRange]) -> None:
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

    def acknowledged(
        self, batches: Iterable[AcknowledgementBatch], delta: StateDelta, *, start_offset: int
    ) -> None:
        """Count what a member said of records, once it was accepted.

        What was said of offsets below `start_offset`, where the share-partition began before, changed nothing.
        """
        counts: Counter[int] = Counter()
        for batch in batches:
            first_offset = max(batch.first_offset, start_offset)
            if len(batch.acknowledge_types) == 1:
                counts[batch.acknowledge_types[0]] += max(0, batch.last_offset - first_offset + 1)
            else:
                counts.update(batch.acknowledge_types[first_offset - batch.first_offset :])
        for acknowledge_type, count in counts.items():
            self._observer.count("share_acknowledgements", count, _LABELS[acknowledge_type])
        rejected, gaps = counts[_REJECT], counts[_GAP]
        self._archived("rejected", rejected)
        self._archived("gap", gaps)
        self._archived("delivery_limit", _count(delta, RecordState.ARCHIVED) - rejected - gaps)

    def released(self, delta: StateDelta) -> None:
        """Count records that a closed or evicted session gave back for the last time."""
        self._archived("delivery_limit", _count(delta, RecordState.ARCHIVED))

    def locks_expired(self, delta: StateDelta) -> None:
        """Count records whose lock ended."""
        archived = _count(delta, RecordState.ARCHIVED)
        expired = archived + _count(delta, RecordState.AVAILABLE)
        if expired:
            self._observer.count("share_lock_timeouts", expired)
        self._archived("delivery_limit", archived)

    def overtaken_by_log_start(self, record_count: int) -> None:
        """Count records that the log lost before they were done with."""
        self._archived("log_start", record_count)

    def sessions_evicted(self, sessions: Sequence[object]) -> None:
        """Count share sessions that ended with their connection."""
        if sessions:
            self._observer.count("share_sessions_evicted", len(sessions))

    def _archived(self, reason: str, count: int) -> None:
        if count > 0:
            self._observer.count("share_archived", count, reason)


def _count(delta: StateDelta, state: RecordState) -> int:
    return sum(batch.last_offset - batch.first_offset + 1 for batch in delta.batches if batch.state is state)
