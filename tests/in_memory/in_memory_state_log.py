"""`InMemoryStateLog`: the port `StateLog` on the real queue and coordinator, with an append that never waits."""

from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kproxy.errors import ApiError, StateLogUnavailable
from kproxy.handlers.ports import OnRefused
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, StateEpoch
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor
from kproxy.statelog.claims import STATE_FORMAT_VERSION, Claim
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.operations import Delete, Initialize, Load, Move, Operation, Write
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.state_records import encode_state_record
from kproxy.statelog.tickets import Ticket
from kproxy.wire.records import Record

_LARGEST_APPEND_BYTES = 2**20


class InMemoryStateLog:
    """Implements `StateLog` and `ShareOffsetStore`.

    `records` is the log, `fold` what it says; `now_ms` stands until a test moves it.
    """

    def __init__(self, limits: CoordinatorLimits | None = None) -> None:
        self.records: list[Record] = []
        self.fold = StateLogFold()
        self.now_ms = 0
        self._commit = StateQueue(ShareCoordinator(self.fold, limits or CoordinatorLimits()))
        self._log(encode_state_record(Claim("in memory", STATE_FORMAT_VERSION), claim_epoch=None, actors=()))
        self.fold.apply(self.records[0])

    async def initialize(
        self, wanted: Iterable[PartitionInitialization], require_wanted: Callable[[], None] = lambda: None
    ) -> Mapping[SharePartitionKey, ApiError]:
        require_wanted()
        refusals = {
            initialization.key: self._run(
                Initialize(
                    initialization.key,
                    initialization.state_epoch,
                    initialization.start_offset,
                    keeps_progress=True,
                )
            ).refusal
            for initialization in wanted
        }
        return {key: refusal for key, refusal in refusals.items() if refusal is not None}

    async def load(self, key: SharePartitionKey) -> DurableShareState | None:
        outcome = self._run(Load(key))
        if outcome.refusal is not None:
            raise outcome.refusal
        assert outcome.response is None or isinstance(outcome.response, DurableShareState)
        return outcome.response

    def persist(
        self,
        key: SharePartitionKey,
        delta: StateDelta,
        *,
        state_epoch: StateEpoch,
        leader_epoch: LeaderEpoch,
        actors: tuple[Actor, ...],
        on_refused: OnRefused | None = None,
    ) -> Awaitable[None]:
        outcome = self._run(Write(key, state_epoch, leader_epoch, delta, actors))
        if outcome.refusal is not None and on_refused is not None:
            on_refused(outcome.refusal)
        return outcome

    async def delete(self, keys: Collection[SharePartitionKey]) -> Mapping[SharePartitionKey, ApiError]:
        refusals = {key: self._run(Delete(key)).refusal for key in keys}
        return {key: refusal for key, refusal in refusals.items() if refusal is not None}

    async def summaries(
        self, keys: Collection[SharePartitionKey]
    ) -> Mapping[SharePartitionKey, DurableShareState | ApiError | None]:
        return {key: self.fold.states.get(key) for key in keys}

    async def move(
        self, moves: Sequence[PartitionInitialization], actor: Actor
    ) -> Mapping[SharePartitionKey, ApiError]:
        refusals = {
            move.key: self.run(Move(move.key, move.state_epoch, move.start_offset, actor)).refusal
            for move in moves
        }
        return {key: refusal for key, refusal in refusals.items() if refusal is not None}

    def run(self, operation: Operation) -> Ticket:
        """Take `operation` through the queue and the log; its ticket is settled when this returns."""
        ticket = self._commit.submit(operation)
        append = self._commit.next_append(
            self.now_ms, max_bytes=_LARGEST_APPEND_BYTES, claim_epoch=self.fold.claim_epoch
        )
        if append is not None:
            base_offset = len(self.records)
            for record in append.records:
                self._log(record)
            self._commit.succeeded(base_offset)
        assert ticket.is_done
        return ticket

    def _run(self, operation: Operation) -> "_Outcome":
        ticket = self.run(operation)
        if ticket.refusal is None:
            return _Outcome(None, ticket.response)
        return _Outcome(StateLogUnavailable(str(ticket.refusal)), None)

    def _log(self, record: Record) -> None:
        self.records.append(replace(record, offset=len(self.records), timestamp_ms=self.now_ms))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """An awaitable that is done: awaiting it raises the refusal, if there is one, and never waits."""

    refusal: ApiError | None
    response: object

    def __await__(self) -> Generator[None, None, None]:
        if self.refusal is not None:
            raise self.refusal
        yield from ()
