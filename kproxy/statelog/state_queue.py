"""The queue of one state-log partition: operations wait, records do not.

At most one append is in flight. What is submitted meanwhile stays an operation; writes to one share-partition
are merged. Only when the append before has been replayed do operations become records, so that no snapshot is
ever made from state that lacks something already promised to the log, and no state has to be taken back.

How the shell drives it:

    append = queue.next_append(now_ms, max_bytes=…, claim_epoch=…)   # None: nothing to write; look at `waiting_count`
    base_offset = … send append.records with acks=all, wait …
    queue.succeeded(base_offset)        # durable: replayed, tickets settled
    queue.fail(StateLogUnavailable(…))  # refused or unknown: everything is refused, and the queue thrown away
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from kproxy.errors import ApiError, UnwritableStateRecord
from kproxy.share.identifiers import SharePartitionKey
from kproxy.statelog.append_draft import AppendDraft, DecidedOperation, WaitingOperation
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.operations import (
    ColdSnapshots,
    Delete,
    Initialize,
    KeyedOperation,
    Load,
    Move,
    Operation,
    Read,
    ReadSummary,
    Write,
)
from kproxy.statelog.queue_places import MAX_WAITING, QueuePlaces
from kproxy.statelog.share_coordinator import CoordinatorResult, ShareCoordinator, require_possible_write
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.tickets import Append, Ticket, refuse_all, settle_all


class _ColdRun:
    """A `ColdSnapshots` under way. `keys` are those that are left, None before they were chosen."""

    __slots__ = ("count", "keys", "operation", "refusal", "ticket")

    def __init__(self, operation: ColdSnapshots, ticket: Ticket) -> None:
        self.operation: Final = operation
        self.ticket: Final = ticket
        self.keys: deque[SharePartitionKey] | None = None
        self.count = 0
        self.refusal: UnwritableStateRecord | None = None


class StateQueue:
    """Turns operations on the share-partitions of one state-log partition into appends, one at a time.

    An operation is decided when its append is drafted, on state that holds everything before it. It has at most
    one record there, and no two operations of an append concern the same share-partition.
    """

    __slots__ = ("_cold", "_coordinator", "_in_flight", "_latest", "_places", "_queue")

    def __init__(self, coordinator: ShareCoordinator, *, max_waiting: int = MAX_WAITING) -> None:
        self._coordinator = coordinator
        self._queue: deque[WaitingOperation] = deque()
        self._latest: dict[SharePartitionKey, WaitingOperation] = {}
        self._cold: deque[_ColdRun] = deque()
        self._in_flight: AppendDraft | None = None
        self._places = QueuePlaces(max_waiting)

    @property
    def fold(self) -> StateLogFold:
        """The state that the queue works on."""
        return self._coordinator.fold

    @property
    def waiting_count(self) -> int:
        """How many operations wait for an append or are in one."""
        return len(self._places)

    def waiting_work(self, at_most: int) -> int:
        """Return about how many operations the work is that waits, those of many runs counted for several.

        Counting ends above `at_most`.
        """
        work = sum(len(self.fold.states) if run.keys is None else len(run.keys) for run in self._cold)
        for waiting in self._queue:
            if work > at_most:
                break
            work += waiting.work
        return work

    def submit(self, operation: Operation) -> Ticket:
        """Queue `operation`. A write that no state could take, or that finds the queue full, is refused at once.

        Writes to one share-partition that follow each other under the same epochs become one record. Whoever only looks
        at what nothing is about to change is answered at once.
        """
        ticket = Ticket()
        try:
            if isinstance(operation, ReadSummary) and not self._is_changing(operation.key):
                ticket.settle(self._coordinator.read_summary(operation.key).response)
                return ticket
            self._places.require_room(operation)
            if isinstance(operation, Write):
                # It would spoil those that it is merged with.
                require_possible_write(
                    operation.key, operation.state_epoch, operation.leader_epoch, operation.delta
                )
        except ApiError as refusal:
            ticket.refuse(refusal)
            return ticket
        if isinstance(operation, ColdSnapshots):
            self._cold.append(_ColdRun(operation, ticket))
        elif not self._is_merged(operation, ticket):
            self._queue_up(operation, ticket)
        self._places.take(operation)
        return ticket

    def next_append(self, now_ms: int, *, max_bytes: int, claim_epoch: int) -> Append | None:
        """Draft the next append; None when nothing that was looked at needs a record. Not while one is in flight.

        Operations are taken in order, up to `max_bytes` by `record_size_bytes`, and no more than are made in a short
        time (`AppendDraft.is_full`): after None some may still wait. Those that are refused, that need a record above
        `max_bytes`, or that need none, are settled here.

        Args:
            now_ms: epoch time, for the timestamps of snapshots and for what counts as cold.
            max_bytes: how large the append may be.
            claim_epoch: the claim that the log partition is held under; that of the fold.
        """
        assert self._in_flight is None, "the end of an append is told before the next one"
        draft = AppendDraft(now_ms, max_bytes=max_bytes, claim_epoch=claim_epoch)
        self._in_flight = draft  # from here on `fail` finds its tickets, whatever goes wrong
        if self._draft_operations(draft):
            self._draft_cold_snapshots(draft)
        if not draft.records:
            self._in_flight = None
            self._settle_cold_runs()
            return None
        return Append(tuple(draft.records))

    def succeeded(self, base_offset: int) -> None:
        """Note that the append in flight is durable from `base_offset` on: replay it, then settle its tickets."""
        draft = self._in_flight
        assert draft is not None, "nothing is in flight"
        replay = self.fold.replay
        for offset, record in enumerate(draft.replayed, base_offset):
            outcome = replay(record, claim_epoch=draft.claim_epoch, offset=offset, timestamp_ms=draft.now_ms)
            assert outcome is Outcome.APPLIED, f"our own record at offset {offset} was {outcome.value}"
        self._in_flight = None
        for waiting in draft.waiting:
            self._settle(waiting, self._response_after(waiting.operation))
        self._settle_cold_runs()

    def refuse(self, error: ApiError) -> bool:
        """Do as `fail`; nothing is left: what waits was made on top of what is in flight."""
        self.fail(error)
        return False

    def fail(self, error: ApiError) -> None:
        """Refuse everything in flight and waiting with `error`, and forget it.

        Of one share-partition the last goes first, for whoever takes back in that turn what was refused.
        """
        in_flight = [] if self._in_flight is None else self._in_flight.waiting
        waiting, cold = [*in_flight, *self._queue], [*self._cold]
        self._in_flight = None
        self._queue.clear()
        self._latest.clear()
        self._cold.clear()
        for refused in reversed(waiting):
            self._places.leave(refused.operation, len(refused.tickets))
            refuse_all(reversed(refused.tickets), error)
        for run in cold:
            self._places.leave(run.operation)
            run.ticket.refuse(error)

    def _is_changing(self, key: SharePartitionKey) -> bool:
        """Whether something about `key` waits, or is in flight."""
        return key in self._latest or (self._in_flight is not None and key in self._in_flight.keys)

    def _is_merged(self, operation: KeyedOperation, ticket: Ticket) -> bool:
        """Let a write become one record with what waits of its share-partition; tells whether it could."""
        latest = self._latest.get(operation.key)
        if not isinstance(operation, Write) or latest is None or not latest.takes(operation):
            return False
        latest.add(operation, ticket)
        return True

    def _queue_up(self, operation: KeyedOperation, ticket: Ticket) -> None:
        waiting = WaitingOperation(operation, ticket)
        self._queue.append(waiting)
        self._latest[operation.key] = waiting

    def _draft_operations(self, draft: AppendDraft) -> bool:
        """Move what can be decided now into `draft`. Tells whether there is room left."""
        held_back: list[WaitingOperation] = []
        has_room = True
        try:
            while self._queue and has_room and not draft.is_full:
                waiting = self._queue.popleft()
                held_back.append(waiting)
                draft.look_at(waiting.work)
                if waiting.operation.key not in draft.keys:
                    has_room = self._decide(waiting, draft)
                    if has_room:
                        held_back.pop()
        finally:
            self._queue.extendleft(reversed(held_back))
        return has_room

    def _decide(self, waiting: WaitingOperation, draft: AppendDraft) -> bool:
        """Draft, settle or refuse what waits; False when its record has no room."""
        operation = waiting.operation
        try:
            result = self._result_of(waiting, operation, draft.now_ms)
            if result.records and not draft.takes(result, operation.key):
                return False
        except ApiError as refusal:
            if waiting.more_writes and isinstance(refusal, UnwritableStateRecord):
                self._halve(waiting)
                return True
            self._leave_queue(waiting)
            self._refuse(waiting, refusal)
            if isinstance(operation, Write) and isinstance(refusal, UnwritableStateRecord):
                self._refuse_what_rests_on(operation, refusal)
            return True
        self._leave_queue(waiting)
        if result.records:
            draft.waiting.append(waiting)
        else:
            self._settle(waiting, result.response)
        return True

    def _result_of(
        self, waiting: WaitingOperation, operation: KeyedOperation, now_ms: int
    ) -> DecidedOperation:
        coordinator, key = self._coordinator, operation.key
        match operation:
            case Write():
                delta, actors = waiting.merged(operation)
                return coordinator.write_state(
                    key,
                    state_epoch=operation.state_epoch,
                    leader_epoch=operation.leader_epoch,
                    delta=delta,
                    now_ms=now_ms,
                    actors=actors,
                )
            case Load():
                return coordinator.load_state(key, now_ms=now_ms, actor=operation.actor)
            case Read():
                return coordinator.read_state(
                    key, leader_epoch=operation.leader_epoch, now_ms=now_ms, actor=operation.actor
                )
            case Initialize() | Move():
                return self._beginning(operation)(
                    key,
                    state_epoch=operation.state_epoch,
                    start_offset=operation.start_offset,
                    now_ms=now_ms,
                    actor=operation.actor,
                )
            case Delete():
                return coordinator.delete_state(key, actor=operation.actor)
            case _:
                return coordinator.read_summary(key)

    def _beginning(self, operation: Initialize | Move) -> Callable[..., CoordinatorResult[None]]:
        """Return the way in which the state begins."""
        if isinstance(operation, Move):
            return self._coordinator.move_state
        return (
            self._coordinator.begin_state if operation.keeps_progress else self._coordinator.initialize_state
        )

    def _draft_cold_snapshots(self, draft: AppendDraft) -> None:
        """Fill what room is left in `draft` with snapshots."""
        for run in self._cold:
            if run.keys is None:
                not_written_since_ms = run.operation.not_written_since_ms
                run.keys = deque(self._coordinator.cold_keys(not_written_since_ms=not_written_since_ms))
            while run.keys and not draft.is_full:
                draft.look_at()
                if not self._draft_cold_snapshot(draft, run, run.keys[0]):
                    return
                run.keys.popleft()

    def _draft_cold_snapshot(self, draft: AppendDraft, run: _ColdRun, key: SharePartitionKey) -> bool:
        """Draft one snapshot, unless the append writes the state anyway or it is gone; False: no room."""
        if key in draft.keys:
            return True
        result = self._coordinator.snapshot_state(key, now_ms=draft.now_ms, actor=run.operation.actor)
        try:
            if result.records and not draft.takes(result, key):
                return False
        except UnwritableStateRecord as refusal:
            run.refusal = refusal
            return True
        run.count += len(result.records)
        return True

    def _response_after(self, operation: KeyedOperation) -> DurableShareState | None:
        """Return what a durable operation answers."""
        return self.fold.states[operation.key] if isinstance(operation, Load | Read) else None

    def _halve(self, waiting: WaitingOperation) -> None:
        """Put writes whose common record is too large back into the queue, as two records."""
        first = waiting.operation
        assert isinstance(first, Write)
        earlier, later = waiting.halves(first)
        self._queue.extendleft((later, earlier))
        if self._latest.get(first.key) is waiting:
            self._latest[first.key] = later

    def _refuse_what_rests_on(self, refused: Write, refusal: ApiError) -> None:
        """Refuse the writes whose start offset may have passed what `refused` would have made durable."""
        for waiting in [each for each in self._queue if each.rests_on(refused)]:
            self._queue.remove(waiting)
            self._leave_queue(waiting)
            self._refuse(waiting, refusal)

    def _leave_queue(self, waiting: WaitingOperation) -> None:
        """From here on no write is merged into it."""
        key = waiting.operation.key
        if self._latest.get(key) is waiting:
            del self._latest[key]

    def _settle(self, waiting: WaitingOperation, response: object) -> None:
        self._places.leave(waiting.operation, len(waiting.tickets))
        settle_all(waiting.tickets, response)

    def _refuse(self, waiting: WaitingOperation, refusal: ApiError) -> None:
        self._places.leave(waiting.operation, len(waiting.tickets))
        refuse_all(waiting.tickets, refusal)

    def _settle_cold_runs(self) -> None:
        """Settle the runs of which every snapshot is durable, but for those that were too large."""
        while self._cold and self._cold[0].keys is not None and not self._cold[0].keys:
            run = self._cold.popleft()
            self._places.leave(run.operation)
            if run.refusal is None:
                run.ticket.settle(run.count)
            else:
                run.ticket.refuse(run.refusal)
