"""The rules of a share-partition offset by offset, as slow and as plain as they can be: an oracle."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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


def _ranges(told: Sequence[tuple[int, int, tuple[int, int]]]) -> list[tuple[int, int, int]]:
    """Merge offsets, given with count and batch, that follow each other in one batch with one count."""
    ranges: list[tuple[int, int, int]] = []
    previous: tuple[int, int, tuple[int, int]] | None = None
    for offset, count, batch in told:
        if previous == (offset - 1, count, batch):
            ranges[-1] = (ranges[-1][0], offset, count)
        else:
            ranges.append((offset, offset, count))
        previous = (offset, count, batch)
    return ranges


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


@dataclass(frozen=True)
class Undo:
    """The start offset before a change, what changed as it was, and what it let the start offset pass."""

    start: int
    records: dict[int, Record]
    passed: dict[int, Record] = field(default_factory=dict)


class NaiveSharePartition:
    """The rules of KIP-932, offset by offset."""

    def __init__(self, start: int, batches: Sequence[StateBatch], limits: ShareLimits) -> None:
        self.start = self.end = start
        self.limits = limits
        self.records: dict[int, Record] = {}
        self.renewed: dict[int, Record] = {}
        """What the last acknowledgement renewed, as it was then."""
        self.undelivered: set[tuple[int, int]] = set()
        self.cut: tuple[int, set[int]] | None = None
        """The end of the window that the log lost last, and what of it was not done with."""
        for batch in batches:
            if self.end < batch.first_offset:
                self.undelivered.add((self.end, batch.first_offset - 1))
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

    def acquire(  # noqa: C901, PLR0912, PLR0915 - an oracle has its rules in one place
        self,
        member: MemberId,
        extents: Sequence[tuple[int, int]],
        *,
        fetch_offset: int,
        reach: Reach,
        node_id: int,
        now_ms: int,
        aborted: Sequence[tuple[int, int]] = (),
    ) -> list[tuple[int, int, int]]:
        """Return first offset, last offset and delivery count of what a member is told."""
        if reach.max_records <= 0 or not extents or fetch_offset > self.end:
            return []
        self._pass_full_window()
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
        taken, may_go_on = self._again(extents, last, budget, reach)
        below: dict[int, Record] = {}
        """What is given of a record batch in which the log was cut, and is done with all the same."""
        if may_go_on and len(taken) < budget and last >= self.end:
            if self.end < extents[0][0]:
                self.extend(extents[0][0] - 1, ARCHIVED, 0)
                self.pass_prefix()
            first, budget_left = self.end, budget - len(taken)
            if self.cut is not None:
                first = min(first, max(extents[0][0], self.cut[0]))
            self.cut, end = None, first
            for batch in self._new_batches(extents, first, last, budget_left, reach):
                for offset in range(batch[0], batch[1] + 1):
                    if offset >= self.start:
                        self.records[offset] = Record(AVAILABLE, 0, batch)
                    else:
                        below[offset] = Record(AVAILABLE, 0, batch)
                end = batch[1] + 1
            self.end = max(self.end, end)
            taken += range(first, min(end, first + budget_left) if reach.is_record_limit else end)
        for offset in taken:
            record = below.get(offset) or self.records[offset]
            record.state, record.count = ACQUIRED, record.count + 1
            record.member, record.node_id = member, node_id
            record.deadline_ms = now_ms + self.limits.record_lock_duration_ms
        given = {**self.records, **below}
        told = [(offset, given[offset].count, given[offset].batch) for offset in taken]
        if taken and aborted:
            self._archive_aborted(aborted)
        lost = {offset for first, last in aborted for offset in range(first, last + 1)}
        return _ranges([each for each in told if each[0] not in lost])

    def _archive_aborted(self, aborted: Sequence[tuple[int, int]]) -> None:
        for first, last in aborted:
            for offset in range(first, last + 1):
                record = self.records.get(offset)
                if record is not None and record.state is ACQUIRED:
                    record.state, record.member, record.deadline_ms = ARCHIVED, None, -1
        self._pass_full_window()

    def is_done_with(self) -> bool:
        """Whether nobody is to get anything of the window any more."""
        return all(record.is_terminal for record in self.records.values())

    def _pass_full_window(self) -> None:
        if self.is_done_with() and self.end - self.start >= self.limits.partition_max_record_locks:
            self.pass_prefix()

    def _again(
        self, extents: Sequence[tuple[int, int]], last: int, budget: int, reach: Reach
    ) -> tuple[list[int], bool]:
        """Delivery batch after delivery batch, of what is read."""
        taken: list[int] = []
        in_reach = range(max(extents[0][0], self.start), min(last + 1, self.end))
        available = [offset for offset in in_reach if self.records[offset].state is AVAILABLE]
        while available and len(taken) < budget:
            batch = self.records[available[0]].batch
            of_batch = [offset for offset in available if self.records[offset].batch == batch]
            available = available[len(of_batch) :]
            if batch in self.undelivered:
                taken += self._undelivered(extents, of_batch, budget - len(taken), reach)
                continue
            is_throttled = any(self.records[offset].count >= self._threshold() for offset in of_batch)
            if not (is_throttled and taken):
                taken += self._of_batch(of_batch, batch[1] - batch[0] + 1, budget - len(taken), reach)
            if is_throttled:
                return taken, False
        return taken, True

    def _threshold(self) -> int:
        return max(2, -(-self.limits.delivery_count_limit // 2))

    def _of_batch(self, offsets: list[int], size: int, budget: int, reach: Reach) -> list[int]:
        limit = self.limits.delivery_count_limit
        most: int | None = None
        taken: list[int] = []
        for offset in offsets:
            count = self.records[offset].count
            is_last_attempt = limit > 2 and count == limit - 1
            if is_last_attempt and taken:
                break
            if count >= self._threshold() and most is None:
                most = max(1, size >> (count - self._threshold() + 1))
            taken.append(offset)
            if is_last_attempt or len(taken) == most or (reach.is_record_limit and len(taken) == budget):
                break
        return taken

    def _undelivered(
        self, extents: Sequence[tuple[int, int]], offsets: list[int], budget: int, reach: Reach
    ) -> list[int]:
        """What lies between loaded states and was never delivered is acquired as new offsets are."""
        first, last = offsets[0], offsets[-1]
        whole = self.records[first].batch
        batches = self._new_batches(extents, first, last, budget, reach)
        self.undelivered.discard(whole)
        end = batches[-1][1]
        parts = [(whole[0], first - 1), *batches, (end + 1, whole[1])]
        self.undelivered.update(part for part in (parts[0], parts[-1]) if part[0] <= part[1])
        for part in parts:
            for offset in range(part[0], part[1] + 1):
                if offset in self.records:
                    self.records[offset].batch = part
        taken = [offset for offset in offsets if offset <= end]
        return taken[:budget] if reach.is_record_limit else taken

    @staticmethod
    def _new_batches(
        extents: Sequence[tuple[int, int]], first: int, last: int, budget: int, reach: Reach
    ) -> list[tuple[int, int]]:
        wanted = first + budget - 1
        end = last
        if wanted < last:
            begun = [batch for batch in extents if batch[0] <= wanted]
            end = min(max(wanted, begun[-1][1] if begun else wanted), last)
        batches = []
        if not reach.is_record_limit and end - first + 1 > reach.batch_size:
            for base, _ in extents:
                if base <= end and base - first >= reach.batch_size:
                    batches.append((first, base - 1))
                    first = base
        return [*batches, (first, end)]

    def operate(  # noqa: C901 - an oracle has its rules in one place
        self, action: str, spans: Sequence[tuple[int, int]]
    ) -> dict[int, Record]:
        """Do what an operator says, or raise; who holds the records does not matter."""
        offsets = [offset for first, last in spans for offset in range(first, last + 1)]
        if not offsets or offsets != sorted(set(offsets)):
            raise InvalidRequest("spans")
        for first, last in spans:
            if not self.records or first < self.start:
                raise InvalidRecordState("done with")
            inside = [self.records.get(offset) for offset in range(first, last + 1)]
            if None in inside or all(record is not None and record.is_hole for record in inside):
                raise InvalidRequest("never delivered")
            allowed = (ACQUIRED, AVAILABLE) if action == "archive" else (ACQUIRED,)
            for record in inside:
                assert record is not None
                if not record.is_hole and (record.state not in allowed or not record.count):
                    raise InvalidRecordState("another state")
        changed = {offset: self.records[offset] for offset in offsets if not self.records[offset].is_hole}
        for record in changed.values():
            record.come_back(self.limits)
            if action != "release":
                record.state = ACKNOWLEDGED if action == "accept" else ARCHIVED
        changed = {offset: replace(record) for offset, record in changed.items()}
        self.pass_prefix()
        return changed

    def acknowledge(
        self, member: MemberId, batches: Sequence[AcknowledgementBatch], *, node_id: int, now_ms: int
    ) -> dict[int, Record]:
        before = {offset: replace(record) for offset, record in self.records.items()}
        changed: dict[int, Record] = {}
        self.renewed.clear()
        try:
            for batch in batches:
                self._acknowledge_batch(member, batch, changed, node_id=node_id, now_ms=now_ms)
        except ApiError:
            self.records = self._with_renewals(before)
            raise
        if changed or any(batch.first_offset < self.start for batch in batches):
            self.pass_prefix()
        self._settle_cut(batches)
        return changed

    def _settle_cut(self, batches: Sequence[AcknowledgementBatch]) -> None:
        """What was in flight before the cut may all be done with before anybody reads behind it."""
        if self.cut is None:
            return
        for batch in batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                number = 0 if len(batch.acknowledge_types) == 1 else offset - batch.first_offset
                if batch.acknowledge_types[number] not in (2, 4):
                    self.cut[1].discard(offset)
        if not self.cut[1]:
            self.cut = None

    def _with_renewals(self, before: dict[int, Record]) -> dict[int, Record]:
        """What was before a refusal: renewals are not undone, as a broker undoes states and no timers."""
        for offset, record in self.renewed.items():
            before[offset].node_id, before[offset].deadline_ms = record.node_id, record.deadline_ms
        return before

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
        types = list(batch.acknowledge_types) * (last - first + 1 if len(batch.acknowledge_types) == 1 else 1)
        for offset, acknowledge_type in zip(range(first, last + 1), types, strict=True):
            record = self.records.get(offset)
            if record is None or record.is_hole:
                continue
            if record.state is not ACQUIRED or record.member != member or record.deadline_ms <= now_ms:
                raise InvalidRecordState
            if acknowledge_type == 4:
                record.node_id = node_id
                record.deadline_ms = now_ms + self.limits.record_lock_duration_ms
                self.renewed[offset] = replace(record)
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

    def copied_records(self) -> dict[int, Record]:
        return {offset: replace(record) for offset, record in self.records.items()}

    def undo(self, undo: Undo) -> None:
        """Records are held again, unless somebody holds them; what else was passed is done with."""
        if not undo.records:
            return  # it stays as it is
        self.cut = None if undo.start < self.start else self.cut
        for offset in range(undo.start, self.start):
            self.records[offset] = undo.passed.get(offset) or Record(ARCHIVED, 1, (offset, offset))
        self.records = dict(sorted(self.records.items()))
        self.start = min(self.start, undo.start)
        for offset, record in undo.records.items():
            now = self.records[offset]
            if now.member is None and now.count <= record.count:
                self.records[offset] = replace(record)

    def move_start(self, log_start: int) -> None:
        if log_start <= self.start:
            return
        if self.records and self.end <= log_start:
            self.cut = self.end, {offset for offset, record in self.records.items() if not record.is_terminal}
        self.extend(log_start - 1, ARCHIVED, 0)
        self.records = {offset: record for offset, record in self.records.items() if offset >= log_start}
        self.start = max(self.start, log_start)
        self.pass_prefix()
