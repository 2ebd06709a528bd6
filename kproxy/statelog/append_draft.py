"""What waits for an append of share-partition state, and the append in the making. See `state_queue`."""

from typing import Final, TypeAlias

from kproxy.errors import UnwritableStateRecord
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor
from kproxy.statelog.durable_state import DurableShareState, merged_delta
from kproxy.statelog.operations import KeyedOperation, Write
from kproxy.statelog.share_coordinator import ActedRecords, CoordinatorResult
from kproxy.statelog.state_records import StateRecord, encode_state_record
from kproxy.statelog.tickets import Ticket, size_within
from kproxy.wire.records import Record

MAX_MERGED_WRITES: Final = 256
"""How many writes become one record at most: each leaves headers that name its actors."""

MAX_MERGED_RUNS: Final = 10_000
"""How many runs of offsets, those of actors counted, a record of several writes has at most: some 20 ms to make it."""

_RUNS_OF_ONE: Final = 20
"""So many runs of offsets are as much work as another operation."""

MOST_OPERATIONS: Final = 500
"""How many operations, or as much work, are looked at for one append. It is made, and taken in, in one turn each: some
10 ms."""

MOST_BYTES: Final = 2**18
"""From how many bytes of records on an append takes no more: larger records are more work."""

DecidedOperation: TypeAlias = CoordinatorResult[None] | CoordinatorResult[DurableShareState | None]


class WaitingOperation:
    """One operation, or several writes that become one record, with everybody who waits for it."""

    __slots__ = ("_run_count", "more_writes", "operation", "tickets")

    def __init__(self, operation: KeyedOperation, ticket: Ticket) -> None:
        self.operation: Final = operation
        self.more_writes: list[Write] = []
        self.tickets = [ticket]
        self._run_count = _run_count(operation)

    @property
    def work(self) -> int:
        """As how many operations it counts."""
        return len(self.tickets) + self._run_count // _RUNS_OF_ONE

    def add(self, write: Write, ticket: Ticket) -> None:
        """Let a write become one record with this (`takes`)."""
        self.more_writes.append(write)
        self.tickets.append(ticket)
        self._run_count += _run_count(write)

    def takes(self, write: Write) -> bool:
        """Tell whether `write`, to the same share-partition, may become one record with this."""
        first = self.operation
        return (
            type(first) is Write
            and _have_equal_epochs(first, write)
            and len(self.tickets) < MAX_MERGED_WRITES
            and self._run_count + _run_count(write) <= MAX_MERGED_RUNS
        )

    def rests_on(self, earlier: Write) -> bool:
        """Tell whether it has a write of the writer of `earlier` with a higher start offset.

        That says that all below is done with, and what `earlier` says of it may be a part of the reason.
        """
        first = self.operation
        if type(first) is not Write or first.key != earlier.key or not _have_equal_epochs(first, earlier):
            return False
        start_offset = earlier.delta.start_offset
        return any(write.delta.start_offset > start_offset for write in (first, *self.more_writes))

    def merged(self, first: Write) -> tuple[StateDelta, tuple[Actor, ...]]:
        """Return what all the writes do, `first` being the first of them, and who made them, in order.

        An offset that several of them changed has as many actors: what each did is part of the history.
        """
        if not self.more_writes:
            return first.delta, first.actors
        writes = [first, *self.more_writes]
        delta = merged_delta([write.delta for write in writes])
        return delta, tuple([actor for write in writes for actor in write.actors])

    def halves(self, first: Write) -> "list[WaitingOperation]":
        """Return two that do in turn what this does: the earlier and the later half of its writes."""
        writes = [first, *self.more_writes]
        middle = len(writes) // 2
        halves: list[WaitingOperation] = []
        for part in (slice(0, middle), slice(middle, None)):
            half = WaitingOperation(writes[part][0], self.tickets[part][0])
            for write, ticket in zip(writes[part][1:], self.tickets[part][1:], strict=True):
                half.add(write, ticket)
            halves.append(half)
        return halves


class AppendDraft:
    """An append in the making, then in flight. `waiting` are those that hear of its end, in order."""

    __slots__ = (
        "_looked_at_count",
        "_max_bytes",
        "_size_bytes",
        "claim_epoch",
        "keys",
        "now_ms",
        "records",
        "replayed",
        "waiting",
    )

    def __init__(self, now_ms: int, *, max_bytes: int, claim_epoch: int) -> None:
        self.now_ms: Final = now_ms
        self.claim_epoch: Final = claim_epoch
        self.keys: set[SharePartitionKey] = set()
        self.records: list[Record] = []
        self.replayed: list[StateRecord] = []
        self.waiting: list[WaitingOperation] = []
        self._max_bytes = max_bytes
        self._size_bytes = 0
        self._looked_at_count = 0

    def look_at(self, operation_count: int = 1) -> None:
        """Count so many operations, snapshots, or work like them, that are decided for it, whatever becomes of them."""
        self._looked_at_count += operation_count

    @property
    def is_full(self) -> bool:
        """Whether it is enough work for one turn of the event loop; what else waits is for the next one."""
        return self._looked_at_count >= MOST_OPERATIONS or self._size_bytes >= MOST_BYTES

    def takes(self, result: DecidedOperation, key: SharePartitionKey) -> bool:
        """Add the records of `result`, unless they would make the append too large; the smaller ones where need be.

        Raises:
            UnwritableStateRecord: one is too large for any append; nothing was added.
        """
        try:
            return self._takes(result.records, key)
        except UnwritableStateRecord:
            if not result.smaller:
                raise
        return self._takes(result.smaller, key)

    def _takes(self, wanted: ActedRecords, key: SharePartitionKey) -> bool:
        records = [
            encode_state_record(record, claim_epoch=self.claim_epoch, actors=actors)
            for record, actors in wanted
        ]
        size_bytes = self._size_bytes + sum(
            size_within(record, max_bytes=self._max_bytes, subject=key) for record in records
        )
        if size_bytes > self._max_bytes:
            return False
        self._size_bytes = size_bytes
        self.keys.add(key)
        self.records += records
        self.replayed += [record for record, _ in wanted]
        return True


def _run_count(operation: KeyedOperation) -> int:
    if type(operation) is not Write:
        return 0
    return len(operation.delta.batches) + sum(len(actor.offset_ranges) for actor in operation.actors)


def _have_equal_epochs(one: Write, other: Write) -> bool:
    return one.state_epoch == other.state_epoch and one.leader_epoch == other.leader_epoch
