"""The rules of a share-partition offset by offset, as slow and as plain as they can be: an oracle."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kproxy.errors import ApiError, InvalidRecordState, InvalidRequest
from kproxy.share.acknowledgement import AcknowledgementBatch
from kproxy.share.identifiers import MemberId
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


@dataclass(frozen=True)
class Reach:
    """How much one fetch may take."""

    max_records: int
    batch_size: int
    is_record_limit: bool


@dataclass
class Record:
    """One offset of the window."""

    state: RecordState
    count: int
    batch: tuple[int, int]
    member: MemberId | None = None
    node_id: int = -1
    """Of the share session that acquired or renewed it."""
    deadline_ms: int = -1

    @property
    def is_terminal(self) -> bool:
        return self.state in (ACKNOWLEDGED, ARCHIVED)

    @property
    def is_hole(self) -> bool:
        return self.state is ARCHIVED and self.count == 0

    def come_back(self, limits: ShareLimits) -> None:
        self.state = ARCHIVED if self.count >= limits.delivery_count_limit else AVAILABLE
        self.member, self.deadline_ms = None, -1


class NaiveSharePartition:
    """The rules of KIP-932, offset by offset."""

    def __init__(self, start: int, batches: Sequence[StateBatch], limits: ShareLimits) -> None:
        self.start = self.end = start
        self.limits = limits
        self.records: dict[int, Record] = {}
        for batch in batches:
            self.extend(batch.first_offset - 1, AVAILABLE, 0)
            self.extend(batch.last_offset, batch.state, batch.delivery_count)
        self.pass_prefix()

    def extend(self, last: int, state: RecordState, count: int) -> None:
        batch = (self.end, last)
        for offset in range(self.end, last + 1):
            self.records[offset] = Record(state, count, batch)
        self.end = max(self.end, last + 1)

    def pass_prefix(self) -> None:
        while self.start < self.end and self.records[self.start].is_terminal:
            del self.records[self.start]
            self.start += 1

    def next_fetch_offset(self) -> int:
        return min((o for o, r in self.records.items() if r.state is AVAILABLE), default=self.end)

    def acquire(  # noqa: C901 - an oracle has its rules in one place
        self,
        member: MemberId,
        extents: Sequence[tuple[int, int]],
        *,
        fetch_offset: int,
        reach: Reach,
        node_id: int,
        now_ms: int,
        aborted: Sequence[tuple[int, int]] = (),
    ) -> dict[int, int]:
        if reach.max_records <= 0 or not extents or fetch_offset > self.end:
            return {}
        missing = [
            self.records[offset] for offset in range(fetch_offset, extents[0][0]) if offset in self.records
        ]
        if gone := [record for record in missing if record.state is AVAILABLE]:
            for record in gone:
                record.state = ARCHIVED
            self.pass_prefix()
        room = self.limits.partition_max_record_locks - (self.end - self.start)
        last = extents[-1][1]
        if room <= 0:
            room, last = self.end - fetch_offset, min(last, self.end - 1)
        budget = min(reach.max_records, room)
        self._divide_undelivered([*(first for first, _ in extents), extents[-1][1] + 1])
        taken, may_go_on = self._again(extents[0][0], last, budget, reach)
        if may_go_on and len(taken) < budget and last >= self.end:
            if self.end < extents[0][0]:
                self.extend(extents[0][0] - 1, ARCHIVED, 0)
                self.pass_prefix()
            for batch in self._new_batches(extents, budget - len(taken), reach):
                for offset in range(batch[0], batch[1] + 1):
                    self.records[offset] = Record(AVAILABLE, 0, batch)
                    taken.append(offset)
                self.end = batch[1] + 1
        for offset in taken:
            record = self.records[offset]
            record.state, record.count = ACQUIRED, record.count + 1
            record.member, record.node_id = member, node_id
            record.deadline_ms = now_ms + self.limits.record_lock_duration_ms
        counts = {offset: self.records[offset].count for offset in taken}
        if not taken or not aborted:
            return counts
        self._archive_aborted(aborted)
        lost = {offset for first, last in aborted for offset in range(first, last + 1)}
        return {offset: count for offset, count in counts.items() if offset not in lost}

    def _archive_aborted(self, aborted: Sequence[tuple[int, int]]) -> None:
        for first, last in aborted:
            for offset in range(first, last + 1):
                record = self.records.get(offset)
                if record is not None and record.state is ACQUIRED:
                    record.state, record.member, record.deadline_ms = ARCHIVED, None, -1
        is_full = self.end - self.start >= self.limits.partition_max_record_locks
        if is_full and all(record.is_terminal for record in self.records.values()):
            self.pass_prefix()

    def _divide_undelivered(self, bounds: Sequence[int]) -> None:
        """What was loaded and never delivered goes by record batches, as new offsets do."""
        for bound in bounds:
            record = self.records.get(bound)
            if record is None or record.state is not AVAILABLE or record.count or record.batch[0] == bound:
                continue
            whole = record.batch
            for offset in range(whole[0], whole[1] + 1):
                if offset in self.records:
                    part = (whole[0], bound - 1) if offset < bound else (bound, whole[1])
                    self.records[offset].batch = part

    def _again(self, first: int, last: int, budget: int, reach: Reach) -> tuple[list[int], bool]:  # noqa: C901 - same
        limit = self.limits.delivery_count_limit
        threshold = max(2, -(-limit // 2))
        taken: list[int] = []
        batch: tuple[int, int] | None = None
        allowance, is_throttled = 0, False
        for offset in range(max(first, self.start), min(last + 1, self.end)):
            record = self.records[offset]
            if record.state is not AVAILABLE:
                continue
            if record.batch != batch:
                if is_throttled or len(taken) >= budget:
                    return taken, False
                batch = record.batch
                members = [self.records[o] for o in range(batch[0], batch[1] + 1) if o in self.records]
                highest = max(r.count for r in members if r.state is AVAILABLE)
                allowance = batch[1] - batch[0] + 1
                if highest >= threshold:
                    if taken:
                        return taken, False
                    is_throttled = True
                    allowance = max(1, allowance >> (highest - threshold + 1))
                if reach.is_record_limit:
                    allowance = min(allowance, budget - len(taken))
            is_last_attempt = limit > 2 and record.count == limit - 1
            if allowance == 0 or (is_last_attempt and taken):
                return taken, False
            taken.append(offset)
            allowance -= 1
            if is_last_attempt:
                return taken, False
        return taken, not is_throttled

    def _new_batches(
        self, extents: Sequence[tuple[int, int]], budget: int, reach: Reach
    ) -> list[tuple[int, int]]:
        wanted = self.end + budget - 1
        if reach.is_record_limit:
            return [(self.end, min(wanted, extents[-1][1]))]
        reached = [last for first, last in extents if first <= wanted and last >= self.end]
        end = reached[-1] if reached else next(last for _, last in extents if last >= self.end)
        batches, first = [], self.end
        for _, last in extents:
            if first <= last < end and last - first + 1 >= reach.batch_size:
                batches.append((first, last))
                first = last + 1
        return [*batches, (first, end)]

    def acknowledge(
        self, member: MemberId, batches: Sequence[AcknowledgementBatch], *, node_id: int, now_ms: int
    ) -> dict[int, Record]:
        before = {offset: replace(record) for offset, record in self.records.items()}
        changed: dict[int, Record] = {}
        try:
            for batch in batches:
                self._acknowledge_batch(member, batch, changed, node_id=node_id, now_ms=now_ms)
        except ApiError:
            self.records = before
            raise
        if changed or any(batch.first_offset < self.start for batch in batches):
            self.pass_prefix()
        return changed

    def _acknowledge_batch(  # noqa: C901 - same
        self,
        member: MemberId,
        batch: AcknowledgementBatch,
        changed: dict[int, Record],
        *,
        node_id: int,
        now_ms: int,
    ) -> None:
        first, last = batch.first_offset, batch.last_offset
        if last < self.start:
            return
        if self.start == self.end and first >= self.start:
            raise InvalidRecordState
        if last >= self.end or self.records[last].is_hole:
            raise InvalidRequest
        types = list(batch.types) * (last - first + 1 if len(batch.types) == 1 else 1)
        for offset, acknowledge_type in zip(range(first, last + 1), types, strict=True):
            record = self.records.get(offset)
            if record is None or record.is_hole:
                continue
            if record.state is not ACQUIRED or record.member != member or record.deadline_ms <= now_ms:
                raise InvalidRecordState
            if acknowledge_type == 4:
                record.node_id = node_id
                record.deadline_ms = now_ms + self.limits.record_lock_duration_ms
                continue
            record.come_back(self.limits)
            if acknowledge_type != 2:
                record.state = ACKNOWLEDGED if acknowledge_type == 1 else ARCHIVED
            changed[offset] = record

    def take_back(
        self, *, session: tuple[MemberId, int] | None = None, now_ms: int | None = None
    ) -> dict[int, Record]:
        changed: dict[int, Record] = {}
        for offset, record in self.records.items():
            is_due = now_ms is not None and record.deadline_ms <= now_ms
            if record.state is ACQUIRED and (is_due or (record.member, record.node_id) == session):
                record.come_back(self.limits)
                changed[offset] = record
        if changed:
            self.pass_prefix()
        return changed

    def move_start(self, log_start: int) -> None:
        if log_start <= self.start:
            return
        self.extend(log_start - 1, ARCHIVED, 0)
        self.records = {offset: record for offset, record in self.records.items() if offset >= log_start}
        self.start = max(self.start, log_start)
        self.pass_prefix()
