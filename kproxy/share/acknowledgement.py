"""What a member says of records that it acquired: whether it may, what becomes of them, and how that is undone.

Source: KIP-932, "Acknowledge"; KIP-1222 (RENEW); `SharePartition.acknowledge`,
`KafkaApis.validateAcknowledgementBatches`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Protocol

from kproxy.errors import ApiError, InvalidRecordState, InvalidRequest
from kproxy.share.limits import ShareLimits
from kproxy.share.offset_ranges import (
    MOST_RUNS,
    MOST_RUNS_AT_ONCE,
    AcquisitionLock,
    InFlightRange,
    OffsetRanges,
)
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.redelivery import DeliveryBatches

_GAP: Final = int(AcknowledgeType.GAP)
_REJECT: Final = int(AcknowledgeType.REJECT)
_RENEW: Final = AcknowledgeType.RENEW
_AVAILABLE: Final = RecordState.AVAILABLE
_ACQUIRED: Final = RecordState.ACQUIRED
_ACKNOWLEDGED: Final = RecordState.ACKNOWLEDGED
_ARCHIVED: Final = RecordState.ARCHIVED
_STATES: Final = (_ARCHIVED, _ACKNOWLEDGED, None, _ARCHIVED)
"""What becomes of a record by the type of its acknowledgement; of one that is released `state_after_attempt` tells."""


class AcknowledgementBatch(Protocol):
    """What a member says of offsets `first_offset` to `last_offset`, both inclusive.

    `acknowledge_types` holds values of AcknowledgeType: one for all offsets, or one for each. The batches of both
    requests are such, and are not copied: there may be very many of one offset.
    """

    @property
    def first_offset(self) -> int: ...

    @property
    def last_offset(self) -> int: ...

    @property
    def acknowledge_types(self) -> Sequence[int]: ...


def validate_acknowledgement_batches(
    batches: Sequence[AcknowledgementBatch], *, highest_type: AcknowledgeType, is_renew_ack: bool
) -> None:
    """Check what one request says of one partition, before its share-partition is looked at.

    `highest_type` is REJECT for version 1 of the APIs, RENEW from version 2 on; `is_renew_ack` is the
    request's flag, without which RENEW is refused. A batch may begin with the last offset of the one
    before: whether that is an error depends on the record.

    Raises:
        InvalidRequest: offsets out of order, a number of types that does not fit, or a type that is not
        allowed.
    """
    previous_last = -1
    for batch in batches:
        first_offset, last_offset, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if first_offset > last_offset:
            raise InvalidRequest(f"acknowledged offsets {first_offset} to {last_offset} are reversed")
        if first_offset < previous_last:
            raise InvalidRequest(f"acknowledged offset {first_offset} is not above {previous_last}")
        # Almost all of them, of which there may be very many.
        is_plain = len(types) == 1 and _GAP <= types[0] <= _REJECT
        if not is_plain:
            _validate_types(batch, highest_type=highest_type, is_renew_ack=is_renew_ack)
        previous_last = last_offset


def _validate_types(
    batch: AcknowledgementBatch, *, highest_type: AcknowledgeType, is_renew_ack: bool
) -> None:
    types = batch.acknowledge_types
    if not types:
        raise InvalidRequest(f"no acknowledge type for offset {batch.first_offset}")
    if len(types) not in (1, batch.last_offset - batch.first_offset + 1):
        raise InvalidRequest(
            f"{len(types)} acknowledge types for offsets {batch.first_offset} to {batch.last_offset}"
        )
    kinds = set(types)
    if min(kinds) < AcknowledgeType.GAP or max(kinds) > highest_type:
        raise InvalidRequest(f"acknowledge types {min(kinds)} to {max(kinds)}, expected 0 to {highest_type}")
    if _RENEW in kinds and not is_renew_ack:
        raise InvalidRequest("acknowledge type RENEW in a request that is no renewal")


class Acknowledgement:
    """The changes that one request asks of one share-partition: planned in full, then put in place.

    Its batches passed `validate_acknowledgement_batches`. A batch below the start offset is passed over:
    those records are done with, whoever asks. Planning raises at the first offset that is not the member's
    to settle. Of all that it would change only the renewals before that one are left then (`SharePartition.acknowledge`
    takes back states, and no timers). `renewal` is the lock of all records that are renewed; it names the member.
    """

    __slots__ = (
        "_end_offset",
        "_held",
        "_last_renewed",
        "_last_settled",
        "_limits",
        "_now_ms",
        "_ranges",
        "_renewal",
        "_renewed",
        "_run_count",
        "_start_offset",
        "before",
        "has_passed",
        "rewrites",
    )

    def __init__(
        self, ranges: OffsetRanges, renewal: AcquisitionLock, *, limits: ShareLimits, now_ms: int
    ) -> None:
        self.has_passed = False
        """Part of the request lay below the start offset."""
        self.before: list[InFlightRange] = []
        """What the offsets are that are settled, until the rewrites are put in place."""
        self._renewed: list[InFlightRange] = []
        self.rewrites: list[list[InFlightRange]] = []
        """What to put in place, list after list; the runs of each list follow each other without a gap."""
        self._run_count = 0
        """How many runs are in the rewrites."""
        self._last_renewed = self._last_settled = -1
        """Where batches ended: with an offset that is renewed, and with one that is settled."""
        self._held: AcquisitionLock | None = None
        """The lock that was looked at last: the member's, and not over."""
        self._ranges = ranges
        self._start_offset = ranges.start_offset
        self._end_offset = ranges.end_offset
        self._renewal = renewal
        self._limits = limits
        self._now_ms = now_ms

    @property
    def has_renewed(self) -> bool:
        """A record is renewed."""
        return bool(self._renewed)

    def plan(self, batches: Sequence[AcknowledgementBatch]) -> None:
        """Plan all batches of the request; once, for what is left after a refusal is in `rewrites`.

        Raises:
            InvalidRecordState: a record is not acquired by the member, its lock ran out, or it was settled by
                an earlier batch of the request; or renewal is not enabled.
            InvalidRequest: a batch ends where nothing was ever delivered; or it is about more runs of offsets than
                `MOST_RUNS_AT_ONCE`, or would leave more of them than `MOST_RUNS`, and more than there were.
        """
        try:
            for batch in batches:
                self._plan_batch(batch)
        except _TooManyRuns:
            self.rewrites, self._renewed = [], []
            raise
        except ApiError:
            self.rewrites, self._run_count = [[run] for run in self._renewed], len(self._renewed)
            self._require_few_runs()
            raise
        self._require_few_runs()

    def settled_runs(self) -> Iterator[InFlightRange]:
        """Yield the runs whose new state must become durable, ascending."""
        for rewritten in self.rewrites:
            for run in rewritten:
                if run.state is not _ACQUIRED and not run.is_hole:
                    yield run

    def _plan_batch(self, batch: AcknowledgementBatch) -> None:
        first_offset, last_offset, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if first_offset < self._start_offset:
            self.has_passed = True
            if last_offset < self._start_offset:
                return
            first_offset = self._start_offset
        if types[0] == _RENEW and first_offset == last_offset == self._last_renewed:
            return  # once more, as a request may very often
        if last_offset >= self._end_offset:
            self._refuse_unknown(batch)
        self._plan_from(first_offset, batch)

    def _plan_from(self, first_offset: int, batch: AcknowledgementBatch) -> None:
        """Plan what the batch says from `first_offset` on, all of which is in flight."""
        last_offset = batch.last_offset
        runs = self._ranges.clipped(first_offset, last_offset)
        if runs[-1].is_hole:
            raise InvalidRequest(f"there is no record at offset {last_offset}")
        if first_offset <= self._last_settled:
            raise InvalidRecordState(f"offset {first_offset} is acknowledged twice in one request")
        is_renewing = _RENEW in batch.acknowledge_types
        if is_renewing and not self._limits.is_renew_enabled:
            raise InvalidRecordState("the group does not allow acquisition locks to be renewed")
        rewritten: list[InFlightRange] = []
        for run in runs:
            self._settle(run, batch, rewritten)
        self._add(rewritten)
        self.before += _settled_of(runs, rewritten) if is_renewing else runs

    def _refuse_unknown(self, batch: AcknowledgementBatch) -> None:
        if not self._ranges and batch.first_offset >= self._start_offset:
            raise InvalidRecordState(f"nothing is in flight, so neither is offset {batch.first_offset}")
        raise InvalidRequest(
            f"offset {batch.last_offset} was never acquired, the last one is {self._end_offset - 1}"
        )

    def _settle(
        self, run: InFlightRange, batch: AcknowledgementBatch, rewritten: list[InFlightRange]
    ) -> None:
        """Add what becomes of `run`; a hole stays, as a batch may reach over it."""
        if run.is_hole:
            rewritten.append(run)
            return
        if run.lock is not self._held or run.lock is None:
            self._held = self._lock_of(run)
        offset, delivery_count = run.first_offset, run.delivery_count
        most = MOST_RUNS_AT_ONCE - self._run_count
        for acknowledge_type, count in equal_types(run.first_offset, run.last_offset, batch):
            last_offset = offset + count - 1
            if acknowledge_type == _RENEW:
                settled = InFlightRange(offset, last_offset, _ACQUIRED, delivery_count, self._renewal)
                self._renew(settled)
            else:
                state = _STATES[acknowledge_type] or state_after_attempt(run, self._limits)
                settled = InFlightRange(offset, last_offset, state, delivery_count, None)
            rewritten.append(settled)
            if len(rewritten) > most:
                raise _TooManyRuns(
                    f"more than {MOST_RUNS_AT_ONCE} runs of offsets that are settled alike, up to {last_offset}: "
                    "acknowledge this partition in several requests"
                )
            offset = last_offset + 1

    def _lock_of(self, run: InFlightRange) -> AcquisitionLock:
        """Return the lock under which the member holds a run."""
        lock = run.lock
        if lock is None:
            raise InvalidRecordState(f"offset {run.first_offset} is {run.state.name}, not acquired")
        if lock.member_id != self._renewal.member_id:
            raise InvalidRecordState(f"offset {run.first_offset} is held by another member")
        if lock.deadline_ms <= self._now_ms:
            raise InvalidRecordState(f"the acquisition lock of offset {run.first_offset} ran out")
        return lock

    def _renew(self, run: InFlightRange) -> None:
        self._renewed.append(run)
        self._renewal.cover(run.first_offset, run.last_offset)

    def _add(self, rewritten: list[InFlightRange]) -> None:
        """Keep what follows on without a gap in one list, for it is put in place at once.

        The next batch may begin with the last offset of this one, if that is no more than renewed.
        """
        if self.rewrites and self.rewrites[-1][-1].last_offset + 1 == rewritten[0].first_offset:
            self.rewrites[-1].extend(rewritten)
        else:
            self.rewrites.append(rewritten)
        self._run_count += len(rewritten)
        last = rewritten[-1]
        if last.state is _ACQUIRED:
            self._last_renewed = last.last_offset
        else:
            self._last_renewed, self._last_settled = -1, last.last_offset

    def _require_few_runs(self) -> None:
        """Refuse all of it, renewals as well, if it would leave the window in too many pieces. See `MOST_RUNS`.

        While nothing more can be acquired from it for that, nothing is renewed either: its locks have to end.
        """
        if len(self._ranges) + self._run_count + len(self.rewrites) <= MOST_RUNS:
            return
        after = self._ranges.copy()
        after.rewrite(self.rewrites)
        after.drop_terminal_prefix()
        is_renewing = self.has_renewed and len(after) >= MOST_RUNS_AT_ONCE
        if is_renewing or len(after) > max(MOST_RUNS, len(self._ranges)):
            self.rewrites, self._renewed = [], []
            raise _TooManyRuns(
                f"{len(after)} runs of offsets would be in flight, expected {MOST_RUNS} at most: "
                f"acknowledge from offset {self._start_offset} on first, or all that is acquired alike"
                + (", and renew no lock before that" if is_renewing else "")
            )


class _TooManyRuns(InvalidRequest):
    """What a member says cuts its offsets into too many runs. Nothing of it takes effect, not even renewals."""


def _settled_of(before: Sequence[InFlightRange], after: Sequence[InFlightRange]) -> list[InFlightRange]:
    """Return the parts of `before` that are not renewed in `after`, which has the same offsets in smaller runs."""
    settled: list[InFlightRange] = []
    runs = iter(before)
    run = next(runs)
    for part in after:
        if part.first_offset > run.last_offset:
            run = next(runs)
        if part.state is not _ACQUIRED:
            settled.append(run.part(part.first_offset, part.last_offset))
    return settled


def equal_types(
    first_offset: int, last_offset: int, batch: AcknowledgementBatch
) -> Iterable[tuple[int, int]]:
    """Return each type that `batch` has for these offsets of it, both inclusive, and for how many in a row."""
    types = batch.acknowledge_types
    if len(types) == 1:
        return ((types[0], last_offset - first_offset + 1),)
    return _counted(types[first_offset - batch.first_offset : last_offset - batch.first_offset + 1])


def _counted(types: Sequence[int]) -> Iterator[tuple[int, int]]:
    for acknowledge_type, equal in groupby(types):
        yield acknowledge_type, len(list(equal))


def state_after_attempt(run: InFlightRange, limits: ShareLimits) -> RecordState:
    """Return the state of an acquired record that comes back unsettled: released, or its lock ended.

    AVAILABLE again, or ARCHIVED when it was delivered as often as the limit allows. The count stays.
    """
    return _AVAILABLE if run.delivery_count < limits.delivery_count_limit else _ARCHIVED


@dataclass(slots=True)
class Reversal:
    """What a change has to be undone with.

    `runs` are the offsets that it changed, as they were before it, none if it stays changed. The start offset, that
    from before is `start_offset`, passed `passed_runs` by it, as they are after it, and delivery batches that began at
    `passed_batches`, which have the one behind them, too.
    """

    start_offset: int
    runs: Sequence[InFlightRange]
    passed_runs: Sequence[InFlightRange]
    passed_batches: Sequence[int]

    @property
    def run_count(self) -> int:
        """What to undo it costs."""
        return len(self.runs) + len(self.passed_runs)


def undo(reversal: Reversal, ranges: OffsetRanges, batches: DeliveryBatches) -> list[AcquisitionLock]:
    """Put back what `reversal` says, and return the locks under which records are held again, each once.

    What was acquired or renewed meanwhile stays as it is, also if that lock has ended. What else was passed below the
    start offset is done with, as it was. Source: `SharePartition.rollbackOrProcessStateUpdates`.
    """
    if not reversal.runs:
        return []
    if reversal.start_offset < ranges.start_offset:
        ranges.prepend(_passed_below(ranges.start_offset, reversal))
    batches.begin_again(reversal.passed_batches)
    runs = ranges.clipped(reversal.runs[0].first_offset, reversal.runs[-1].last_offset)
    ranges.replace(list(_put_back(runs, reversal.runs)))
    return list(dict.fromkeys(before.lock for before in reversal.runs if before.lock is not None))


def _passed_below(start_offset: int, reversal: Reversal) -> Iterator[InFlightRange]:
    """Yield what lies between: records that were passed later, by what is not undone, are archived."""
    yield from reversal.passed_runs
    first_left = reversal.passed_runs[-1].last_offset + 1 if reversal.passed_runs else reversal.start_offset
    if first_left < start_offset:
        yield InFlightRange(first_left, start_offset - 1, _ARCHIVED, 1, None)


def _put_back(runs: Iterable[InFlightRange], before: Sequence[InFlightRange]) -> Iterator[InFlightRange]:
    """Yield `runs` with `before`, which are inside them and ascending, in place of the same offsets."""
    index = 0
    for run in runs:
        first_left = run.first_offset
        while index < len(before) and before[index].first_offset <= run.last_offset:
            was = before[index]
            if first_left < was.first_offset:
                yield run.part(first_left, was.first_offset - 1)
                first_left = was.first_offset
            last_offset = min(was.last_offset, run.last_offset)
            is_later = run.lock is not None or run.delivery_count > was.delivery_count
            yield (run if is_later else was).part(first_left, last_offset)
            first_left = last_offset + 1
            if was.last_offset > last_offset:
                break
            index += 1
        if first_left <= run.last_offset:
            yield run.part(first_left, run.last_offset)
