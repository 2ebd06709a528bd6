"""The in-flight state of one share-partition: who holds which records, and what is done with.

Source: KIP-932, "In-flight records"; `SharePartition.java`. Two differences from Kafka, none that a client
can tell from a slow network:

- There is no "write under way" state. Changes take effect at once and the answer waits until they are
  durable; if that is in doubt the whole object is discarded, fenced, and built again from durable state.
- A record acquired below a start offset that moved is forgotten at once instead of when its lock ends: an
  acknowledgement of it succeeds silently either way.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kproxy.errors import SharePartitionFenced
from kproxy.share.aborted_records import archive_aborted, archive_missing, without_aborted
from kproxy.share.acknowledgement import Acknowledgement, AcknowledgementBatch, Reversal, undo
from kproxy.share.acquisition import AcquiredRange, NewOffsets, still_held
from kproxy.share.acquisition_locks import AcquisitionLocks, end_attempts
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID, MemberId, SharePartitionKey
from kproxy.share.limits import ShareLimits
from kproxy.share.losses.cut_window import CutWindow, first_new_offset
from kproxy.share.offset_ranges import MOST_RUNS_AT_ONCE, AcquisitionLock, InFlightRange, OffsetRanges, joined
from kproxy.share.operators.settlement import OperatorAction, OperatorSettlement
from kproxy.share.record_state import RecordState
from kproxy.share.redelivery import DeliveryBatches, Redelivery, RedeliveryTerms
from kproxy.share.share_partition_view import SharePartitionView, view_of_window
from kproxy.share.state_batches import LARGEST_COUNT, NO_CHANGE, StateBatch, StateDelta, loaded_runs

_AVAILABLE: Final = RecordState.AVAILABLE
_ACQUIRED: Final = RecordState.ACQUIRED
_ARCHIVED: Final = RecordState.ARCHIVED


class SharePartition:
    """The window of offsets in flight, from the start offset (SPSO) to the end offset (SPEO).

    Every method is atomic. Those that return a StateDelta have changed the state already; nothing that
    follows from it may be told to a client before the delta is durable. Once fenced, every method that
    decides or changes something raises SharePartitionFenced. `limits` may be replaced at any time.
    """

    __slots__ = ("_batches", "_cut", "_locks", "_ranges", "is_fenced", "key", "limit_at_growth", "limits")

    def __init__(
        self,
        key: SharePartitionKey,
        *,
        start_offset: int,
        state_batches: Iterable[StateBatch],
        limits: ShareLimits,
    ) -> None:
        """Build it from durable state, as `loaded_runs` tells. Raises UnusableShareState as that does."""
        self.key = key
        self.limits = limits
        self.is_fenced = False
        self.limit_at_growth: int | None = None  # the limit of the window when new records were acquired last
        self._ranges = OffsetRanges(start_offset)
        self._batches = DeliveryBatches()
        self._locks = AcquisitionLocks()
        self._cut: CutWindow | None = None
        for run, is_between in loaded_runs(key, start_offset, state_batches):
            self._append(run, is_undelivered=is_between)
        self._pass_terminal_prefix()

    @property
    def start_offset(self) -> int:
        """The first offset that is not done with (SPSO)."""
        return self._ranges.start_offset

    @property
    def last_offset(self) -> int:
        """The last offset in flight (SPEO, Kafka's end offset); the start offset when there is none."""
        return max(self._ranges.end_offset - 1, self._ranges.start_offset)

    @property
    def in_flight_count(self) -> int:
        """Offsets from the start offset to the end offset, whatever their state; 0 for an empty window."""
        return self._ranges.end_offset - self._ranges.start_offset

    @property
    def run_count(self) -> int:
        """How many runs of equal offsets are in flight: what a change of all of them costs."""
        return len(self._ranges)

    @property
    def available_count(self) -> int:
        """Offsets in flight that nobody holds and that are to be delivered (again)."""
        return self._ranges.available_count

    @property
    def delivery_complete_count(self) -> int:
        """Offsets in flight that are done with."""
        return self._ranges.terminal_count

    def fence(self) -> None:
        """Make every later call raise: the durable state may differ from this object, which is discarded."""
        self.is_fenced = True

    def next_fetch_offset(self) -> int:
        """Return where to read: the first AVAILABLE offset in flight, else the one after the end offset.

        Released records are therefore delivered before new ones, in order of offset.
        """
        self._refuse_if_fenced()
        return self._ranges.first_available()

    def can_acquire(self) -> bool:
        """Tell whether a fetch could acquire: something is AVAILABLE, or the window is not full, or all done with.

        Nothing of a window in too many pieces can be had before all that is held is settled, or taken back.
        """
        self._refuse_if_fenced()
        if self._is_in_pieces():
            return False
        is_window_open = self.in_flight_count < self.limits.partition_max_record_locks
        return is_window_open or self._ranges.available_count > 0 or self._is_done_with()

    def next_deadline_ms(self) -> int | None:
        """Return a moment no later than the first at which a lock ends; None when nothing is acquired.

        It may be early: a lock whose records were acknowledged is forgotten some time later.
        """
        self._refuse_if_fenced()
        return self._locks.first_deadline_ms

    def acquire(  # noqa: PLR0913 - the bounds of a ShareFetch, as KIP-932 names them
        self,
        member_id: MemberId,
        extents: Sequence[tuple[int, int]],
        *,
        fetch_offset: int,
        max_records: int,
        batch_size: int,
        is_record_limit: bool,
        now_ms: int,
        node_id: int = BOOTSTRAP_NODE_ID,
        session_number: int = 0,
        aborted: Sequence[tuple[int, int]] = (),
    ) -> list[AcquiredRange]:
        """Acquire for `member_id` from the record batches that a read from `fetch_offset` returned.

        The locks belong to the member's share session of this number with the virtual broker `node_id`.

        `extents` are the first and last offsets, inclusive, of whole record batches in ascending order; the
        first may begin below `fetch_offset`. The decision is made on the state of this moment, not on that
        of the read.

        1. AVAILABLE offsets that the read shows to be gone from the log are archived.
        2. The budget is `max_records`, or the room left in the window if that is less; in a full window
           only what is AVAILABLE in it can be had.
        3. AVAILABLE offsets come first, see `Redelivery`.
        4. Then new ones: up to the end of the record batch in which the budget ends, in pieces of about `batch_size`,
           cut between record batches; or strictly with `is_record_limit`: then the rest of that record batch becomes
           AVAILABLE in the window. Of a record batch in which the log was cut behind records in flight, what is below
           the window may be told, too, and is done with.
        5. Of what was acquired that is archived which lies in `aborted`, first and last offsets of batches whose
           transactions were aborted, in ascending order; none for a group that reads uncommitted records.

        The ranges are ascending and disjoint. None may be acquired although `next_fetch_offset` has moved:
        then the next read finds more. Nothing of this is durable: deliveries are counted in memory until an
        attempt ends.
        """
        self._refuse_if_fenced()
        if max_records <= 0 or not extents or fetch_offset > self._ranges.end_offset or self._is_in_pieces():
            return []
        self._pass_full_window()
        if archive_missing(self._ranges, fetch_offset, extents[0][0] - 1):
            self._pass_terminal_prefix()
        room, last_offset = self._room_from(fetch_offset, extents[-1][1])
        lock_ms = self.limits.record_lock_duration_ms
        lock = AcquisitionLock.taken(member_id, now_ms, lock_ms, node_id, session_number)
        terms = RedeliveryTerms(
            extents,
            lock,
            budget=min(max_records, room),
            batch_size=batch_size,
            delivery_count_limit=self.limits.delivery_count_limit,
            is_record_limit=is_record_limit,
        )
        redelivery = Redelivery(self._ranges, self._batches, terms)
        first_inside = max(extents[0][0], self._ranges.start_offset)
        acquired = redelivery.take(first_inside, min(last_offset, self._ranges.end_offset - 1))
        if last_offset >= self._ranges.end_offset and redelivery.budget_left:
            self._pass_hole(extents[0][0])
            first_offset = first_new_offset(self._ranges.end_offset, extents[0][0], self._cut)
            self._cut = None
            new = NewOffsets(extents, first_offset, last_offset, redelivery.budget_left)
            pieces = new.strict() if is_record_limit else new.aligned(batch_size)
            self._acquire_new(pieces, new.window_last, lock)
            acquired += pieces
        if acquired and acquired[-1].last_offset >= self._ranges.start_offset:
            lock.cover(acquired[0].first_offset, acquired[-1].last_offset)
            self._keep(lock)
        return self._committed(acquired, aborted) if acquired and aborted else acquired

    def acknowledge(
        self,
        member_id: MemberId,
        batches: Sequence[AcknowledgementBatch],
        *,
        now_ms: int,
        node_id: int = BOOTSTRAP_NODE_ID,
        session_number: int = 0,
    ) -> StateDelta:
        """Settle records that `member_id` holds, all or none of them; what was renewed before a refusal stays renewed.

        The batches passed `validate_acknowledgement_batches`. Offsets below the start offset are done with and pass
        silently, whoever names them; the delta then carries the start offset, which may not be durable yet. Any of the
        member's share sessions may settle what one of them acquired. Renewed records stay acquired for one lock
        duration by this session with the broker `node_id`; that is not durable.

        Raises:
            InvalidRecordState: a record is not held by the member (any more), or renewal is not enabled.
            InvalidRequest: a record was never acquired, or the window would be left in too many pieces (`MOST_RUNS`).
        """
        self._refuse_if_fenced()
        lock_ms = self.limits.record_lock_duration_ms
        renewal = AcquisitionLock.taken(member_id, now_ms, lock_ms, node_id, session_number)
        acknowledgement = Acknowledgement(self._ranges, renewal, limits=self.limits, now_ms=now_ms)
        try:
            acknowledgement.plan(batches)
        finally:
            self._ranges.rewrite(acknowledgement.rewrites)
            if acknowledgement.has_renewed:
                self._keep(renewal)
        if self._cut is not None and self._cut.is_settled_by(batches):
            self._cut = None
        settled = list(acknowledgement.settled_runs())
        has_news = settled or acknowledgement.has_passed
        return self._delta(settled, before=acknowledgement.before) if has_news else NO_CHANGE

    def plan(
        self, action: OperatorAction, spans: Sequence[tuple[int, int]], holder: MemberId | None = None
    ) -> OperatorSettlement:
        """Return what an operator's `action` on these offsets would change, and change nothing. Raises as that does."""
        self._refuse_if_fenced()
        return OperatorSettlement.planned(self._ranges, self.limits, action, spans, holder)

    def settle(self, settlement: OperatorSettlement) -> StateDelta:
        """Let all of what `plan` returned in this turn take effect, whoever holds the records."""
        self._refuse_if_fenced()
        self._ranges.rewrite(settlement.rewrites)
        return self._delta(settlement.after, before=settlement.before)

    def take_back(self, refused: StateDelta) -> None:
        """Undo an acknowledgement or a release: it is certain that it is not durable, nor anything that changed since.

        The records are held again until their locks end, unless somebody acquired them. Of several the last goes first.
        Locks that ended have ended, and what the log lost is lost, as at a broker: the next write tells of the start.
        """
        self._refuse_if_fenced()
        assert refused.reversal is not None, "no change of a share-partition"
        for lock in undo(refused.reversal, self._ranges, self._batches):
            self._keep(lock)
        self._forget_void_locks()
        self._cut = None if self._ranges else self._cut  # what it remembers is in flight again

    def release(
        self, member_id: MemberId, *, node_id: int = BOOTSTRAP_NODE_ID, session_number: int = 0
    ) -> StateDelta:
        """Take back what `member_id` acquired in its share session with `node_id`, which ended. The attempts count.

        A member has a session with each broker that it thinks it talks to, and for a while with two about the same
        share-partition when its leader moves: the end of one takes nothing from the other. Nor from one opened later.
        """
        self._refuse_if_fenced()
        span = (self._ranges.start_offset, self._ranges.end_offset - 1)
        ended = end_attempts(
            self._ranges, *span, lambda lock: lock.belongs_to(member_id, node_id, session_number), self.limits
        )
        return self._delta(ended.after, before=ended.before) if ended.after else NO_CHANGE

    def expire_locks(self, now_ms: int) -> StateDelta:
        """Take back every record whose lock has reached its deadline.

        It is AVAILABLE again, or ARCHIVED when it was delivered as often as the limit allows.
        """
        self._refuse_if_fenced()
        expired = self._locks.take_ended(now_ms)
        if not expired:
            return NO_CHANGE
        first_offset = max(min(lock.first_offset for lock in expired), self._ranges.start_offset)
        span = (first_offset, max(lock.last_offset for lock in expired))
        ended = end_attempts(self._ranges, *span, lambda lock: lock.deadline_ms <= now_ms, self.limits)
        return self._delta(ended.after, before=()) if ended.after else NO_CHANGE

    def move_start(self, log_start_offset: int) -> StateDelta:
        """Forget what lies below `log_start_offset`: the log lost it. Nothing when that is behind."""
        self._refuse_if_fenced()
        ranges = self._ranges
        if log_start_offset <= ranges.start_offset:
            return NO_CHANGE
        if ranges and ranges.end_offset <= log_start_offset:
            self._cut = CutWindow.of(ranges)
        self._pass_hole(log_start_offset)
        ranges.drop_below(log_start_offset)
        return self._delta((), before=())

    def view(self) -> SharePartitionView:
        """Return a frozen picture, of a fenced share-partition too."""
        return view_of_window(self.key, self._ranges, self.limits)

    def still_held(
        self, acquired: Sequence[AcquiredRange], is_owner: Callable[[AcquisitionLock], bool]
    ) -> Sequence[AcquiredRange]:
        """Return what of `acquired` nobody else can have; see `acquisition.still_held`."""
        return still_held(self._ranges, acquired, is_owner)

    def _refuse_if_fenced(self) -> None:
        if self.is_fenced:
            raise SharePartitionFenced(f"{self.key} was discarded")

    def _append(self, run: InFlightRange, *, is_undelivered: bool = False) -> None:
        """Let the window grow by a run that is a delivery batch of its own."""
        (self._batches.begin_undelivered if is_undelivered else self._batches.begin)(run.first_offset)
        self._ranges.append(run)

    def _pass_hole(self, offset: int) -> None:
        """Let the window reach to `offset` at least: the log holds nothing between its end and there."""
        end_offset = self._ranges.end_offset
        if end_offset < offset:
            self._append(InFlightRange(end_offset, offset - 1, _ARCHIVED, 0, None))
            self._pass_terminal_prefix()

    def _room_from(self, fetch_offset: int, last_read: int) -> tuple[int, int]:
        """Return how many records may be had, and up to which offset: in a full window, what is AVAILABLE in it."""
        room = self.limits.partition_max_record_locks - self.in_flight_count
        if room > 0:
            return room, last_read
        end_offset = self._ranges.end_offset
        return end_offset - fetch_offset, min(last_read, end_offset - 1)

    def _committed(
        self, acquired: Sequence[AcquiredRange], aborted: Sequence[tuple[int, int]]
    ) -> list[AcquiredRange]:
        """Archive what is acquired of `aborted`, and return the rest of `acquired`.

        The start offset passes it with the next write, as a stock broker's does. But in a window that is full, and all
        done with, there would never be one: then it is passed at once.
        """
        archive_aborted(self._ranges, aborted)
        self._pass_full_window()
        self._forget_void_locks()
        return without_aborted(acquired, aborted)

    def _is_in_pieces(self) -> bool:
        return len(self._ranges) >= MOST_RUNS_AT_ONCE and self._ranges.is_held

    def _is_done_with(self) -> bool:
        return self.in_flight_count == self._ranges.terminal_count

    def _pass_full_window(self) -> None:
        """Move the start offset past a window that is full, and all done with. The limit may have been lowered."""
        if self._is_done_with() and self.in_flight_count >= self.limits.partition_max_record_locks:
            self._pass_terminal_prefix()

    def _acquire_new(self, pieces: Sequence[AcquiredRange], window_last: int, lock: AcquisitionLock) -> None:
        """Let the window grow up to `window_last`. Each piece is a delivery batch, the last one with what is left."""
        self.limit_at_growth = self.limits.partition_max_record_locks
        for piece in pieces:
            first_offset = max(piece.first_offset, self._ranges.end_offset)
            self._batches.begin(piece.first_offset)
            if first_offset <= piece.last_offset:
                self._ranges.append(InFlightRange(first_offset, piece.last_offset, _ACQUIRED, 1, lock))
        first_left = self._ranges.end_offset
        if first_left <= window_last:
            self._ranges.append(InFlightRange(first_left, window_last, _AVAILABLE, 0, None))

    def _delta(self, changed: Iterable[InFlightRange], before: Sequence[InFlightRange]) -> StateDelta:
        """Pass the terminal prefix, and return `changed` with start offset and count from before that.

        Of what changed, `before` is how that was which is to be undone if the write is refused.
        """
        start_offset = self._ranges.start_offset
        complete_count = min(self._ranges.terminal_count, LARGEST_COUNT)
        passed = self._pass_terminal_prefix()
        self._forget_void_locks()
        batches = tuple(
            StateBatch(run.first_offset, run.last_offset, run.state, run.delivery_count)
            for run in joined(changed)
        )
        reversal = Reversal(start_offset, before, *passed)
        return StateDelta(start_offset, complete_count, batches, reversal)

    def _forget_void_locks(self) -> None:
        if not self._ranges.is_held:
            self._locks.clear()

    def _pass_terminal_prefix(self) -> tuple[Sequence[InFlightRange], Sequence[int]]:
        """Return what was passed, and where delivery batches began that were."""
        ranges = self._ranges
        passed = ranges.drop_terminal_prefix()
        return passed, self._batches.drop_below(ranges.start_offset, end_offset=ranges.end_offset)

    def _keep(self, lock: AcquisitionLock) -> None:
        """Remember when `lock` ends; forget those of which nothing is held, the oldest at once."""
        self._locks.drop_below(self._ranges.start_offset)
        self._locks.add(lock)
        self._locks.forget_void(self._ranges)
