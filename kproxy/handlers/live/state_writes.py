"""The writes of one request, or of one moment of the timer: queued at once, settled together.

Kafka writes before it answers; so does kproxy, but the change is in memory already. A write that fails, or
whose end nobody waited for, leaves doubt, and then the share-partition it came from is discarded: in the turn in which
that becomes known, long before the request that made the change may be answered, so that no other write carries on with
what was refused. A write that is certainly not in the log leaves none: an acknowledgement or a release is taken back in
that same turn, and locks that ended, or a start that moved, stay as they are, as at a broker. Everything that waited
behind it is refused with it, so nothing rests on it. Should very many be refused at once, their share-partitions are
discarded all the same.
"""

from collections import deque
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from kproxy.errors import ApiError, StateNotWritten
from kproxy.handlers.live.load_queue import LiveWrite
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.live.share_partitions import SharePartitionDirectory
from kproxy.handlers.ports import StateLog
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor

MOST_TAKEN_BACK: Final = 10_000
"""With more runs of offsets than these under way, refused writes discard, too: all of that is one turn of the loop."""


@dataclass(frozen=True, slots=True)
class _Write:
    source: LiveWrite
    delta: StateDelta
    outcome: Awaitable[None]


class StateWrites:
    """Deltas that were handed to the state log. `settle` must be called, whatever happens in between."""

    __slots__ = ("_directory", "_state_log", "_unsettled")

    def __init__(self, directory: SharePartitionDirectory, state_log: StateLog) -> None:
        self._directory = directory
        self._state_log = state_log
        self._unsettled: deque[_Write] = deque()

    def add(self, key: SharePartitionKey, delta: StateDelta, actors: tuple[Actor, ...]) -> None:
        """Queue what a live share-partition returned, before anything else changes it. Raises nothing.

        `actors` are those who changed it.
        """
        if delta.is_empty:
            return
        run_count = 1 if delta.reversal is None else 1 + delta.reversal.run_count
        source = self._directory.begin_write(key, start_offset=delta.start_offset, run_count=run_count)
        outcome = self._state_log.persist(
            key,
            delta,
            state_epoch=source.state_epoch,
            leader_epoch=source.leader_epoch,
            actors=actors,
            on_refused=partial(_undo, self._directory, source, delta),
        )
        self._unsettled.append(_Write(source, delta, outcome))

    async def settle(self) -> Mapping[SharePartitionKey, ApiError]:
        """Wait until every write is durable or refused; return the refusals.

        When the wait itself is cut short, all that is not settled yet counts as refused. Others have a turn now and
        then: very many may be durable by now.
        """
        refused: dict[SharePartitionKey, ApiError] = {}
        pace = Pace(is_alone=True)
        try:
            while self._unsettled:
                write = self._unsettled[0]
                refusal = await _refusal_of(write.outcome)
                self._unsettled.popleft()
                is_certain = refusal is None or _can_be_taken_back(write.delta, refusal)
                self._directory.settle_write(write.source, is_certain=is_certain)
                if refusal is not None:
                    refused[write.source.key] = refusal
                if pace.is_pause_due():
                    await let_others_go_on()
        finally:
            self.abandon()
        return refused

    def abandon(self) -> None:
        """Count all that is not settled yet as refused: nobody waits for it any more."""
        for write in self._unsettled:
            self._directory.settle_write(write.source, is_certain=False)
        self._unsettled.clear()


def _undo(
    directory: SharePartitionDirectory, source: LiveWrite, delta: StateDelta, refusal: ApiError
) -> None:
    if _can_be_taken_back(delta, refusal) and directory.unsettled_runs <= MOST_TAKEN_BACK:
        directory.take_back(source, delta)
    else:
        directory.discard(source.key, source.share_partition)


def _can_be_taken_back(delta: StateDelta, refusal: ApiError) -> bool:
    return isinstance(refusal, StateNotWritten) and delta.reversal is not None


async def _refusal_of(outcome: Awaitable[None]) -> ApiError | None:
    try:
        await outcome
    except ApiError as refusal:
        return refusal
    return None
