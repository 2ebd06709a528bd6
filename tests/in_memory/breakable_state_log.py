"""`BreakableStateLog`: the in-memory state log, which fails or waits when a test says so."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

from kproxy.errors import ApiError, StateLogUnavailable
from kproxy.handlers.ports import OnRefused
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import GroupId, LeaderEpoch, SharePartitionKey, StateEpoch, TopicId
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor
from kproxy.statelog.durable_state import DurableShareState
from tests.in_memory.in_memory_state_log import InMemoryStateLog


class BreakableStateLog:
    """Implements `StateLog` and `ShareOffsetStore`.

    While `persist_failure` is set, writes are refused with it; while `is_away`, whatever else changes or reads states
    is, and with `refusals` that of the share-partitions that are in there. While `hold_writes` is set, writes become
    durable only when it is.
    """

    def __init__(self) -> None:
        self.persist_failure: ApiError | None = None
        self.is_away = False
        self.refusals: dict[SharePartitionKey, ApiError] = {}
        self.hold_writes: asyncio.Event | None = None
        self.hold_writes_of: dict[SharePartitionKey, asyncio.Event] = {}
        """Writes of these become durable only when their event is set."""
        self.hold_loads: asyncio.Event | None = None
        self.hold_loads_of: dict[SharePartitionKey, asyncio.Event] = {}
        """Loads of these go on only when their event is set."""
        self.hold_loaded: asyncio.Event | None = None
        """Until it is set, nobody is told what was loaded."""
        self.hold_initializations: asyncio.Event | None = None
        self.hold_deletions: asyncio.Event | None = None
        self.hold_deletions_of: dict[GroupId, asyncio.Event] = {}
        """States of these groups are deleted only when their event is set, after those of other groups."""
        self.hold_deletions_of_topics: dict[TopicId, asyncio.Event] = {}
        self.deletion_sizes: list[int] = []
        """How many states each call was to delete."""
        self.hold_moves: asyncio.Event | None = None
        self.loads: list[SharePartitionKey] = []
        self.contradiction: DurableShareState | None = None
        """What every load returns instead of the truth."""
        self.deltas: list[tuple[SharePartitionKey, StateDelta]] = []
        self.actors: list[tuple[Actor, ...]] = []
        """Who made each of `deltas`."""
        self.memory = InMemoryStateLog()
        self._late_writes: list[_LateWrite] = []

    async def initialize(
        self, wanted: Iterable[PartitionInitialization], require_wanted: Callable[[], None] = lambda: None
    ) -> Mapping[SharePartitionKey, ApiError]:
        if self.hold_initializations is not None:
            await self.hold_initializations.wait()
        wanted = tuple(wanted)
        refused = {each.key: refusal for each in wanted if (refusal := self._refusal(each.key))}
        sound = [each for each in wanted if each.key not in refused]
        return {**refused, **await self.memory.initialize(sound, require_wanted)}

    async def load(self, key: SharePartitionKey) -> DurableShareState | None:
        self.loads.append(key)
        if (hold := self.hold_loads_of.get(key, self.hold_loads)) is not None:
            await hold.wait()
        refusal = self._refusal(key)
        if refusal is not None:
            raise refusal
        state = self.contradiction or await self.memory.load(key)
        if self.hold_loaded is not None:
            await self.hold_loaded.wait()
        return state

    def state(self, key: SharePartitionKey) -> DurableShareState | None:
        """Return what is durable."""
        return self.memory.fold.states.get(key)

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
        self.deltas.append((key, delta))
        self.actors.append(actors)

        def persist() -> Awaitable[None]:
            return self.memory.persist(
                key,
                delta,
                state_epoch=state_epoch,
                leader_epoch=leader_epoch,
                actors=actors,
                on_refused=on_refused,
            )

        hold = self.hold_writes_of.get(key, self.hold_writes)
        if self.persist_failure is None and hold is None:
            return persist()
        write = _LateWrite(persist, hold, on_refused)
        if self.persist_failure is not None and hold is None:
            write.refuse(self.persist_failure)
        write.failure = self.persist_failure
        self._late_writes.append(write)
        return write.end()

    def refuse_held_writes(self, failure: ApiError) -> None:
        """Refuse every write that is held, now, whether anybody waits for it or not, and hold them no longer.

        The last goes first, as in the queue of the state log.
        """
        for write in reversed(self._late_writes):
            write.refuse(failure)
        self._late_writes.clear()

    async def delete(self, keys: Collection[SharePartitionKey]) -> Mapping[SharePartitionKey, ApiError]:
        self.deletion_sizes.append(len(keys))
        if self.hold_deletions is not None:
            await self.hold_deletions.wait()
        refused = {key: refusal for key in keys if (refusal := self._refusal(key))}
        sound = [key for key in keys if key not in refused]
        failures = await self.memory.delete([key for key in sound if self._deletion_hold(key) is None])
        for key in sound:
            if (hold := self._deletion_hold(key)) is not None:
                await hold.wait()
                failures = {**failures, **await self.memory.delete([key])}
        return {**refused, **failures}

    async def summaries(
        self, keys: Collection[SharePartitionKey]
    ) -> Mapping[SharePartitionKey, DurableShareState | ApiError | None]:
        found = await self.memory.summaries(keys)
        return {key: self._refusal(key) or state for key, state in found.items()}

    async def move(
        self, moves: Sequence[PartitionInitialization], actor: Actor
    ) -> Mapping[SharePartitionKey, ApiError]:
        refused = {move.key: refusal for move in moves if (refusal := self._refusal(move.key))}
        failures = await self.memory.move([move for move in moves if move.key not in refused], actor)
        if self.hold_moves is not None:
            await self.hold_moves.wait()
        return {**refused, **failures}

    def _deletion_hold(self, key: SharePartitionKey) -> asyncio.Event | None:
        return self.hold_deletions_of.get(key.group_id) or self.hold_deletions_of_topics.get(key.topic_id)

    def _refusal(self, key: SharePartitionKey) -> ApiError | None:
        if self.is_away:
            return StateLogUnavailable("the in-memory state log was told to be away")
        return self.refusals.get(key)


class _LateWrite:
    """A write that becomes durable, or is refused with `failure`, when `held` is set; or is refused before that."""

    def __init__(
        self,
        persist: Callable[[], Awaitable[None]],
        held: asyncio.Event | None,
        on_refused: OnRefused | None,
    ) -> None:
        self.failure: ApiError | None = None
        self._persist = persist
        self._held = held
        self._on_refused = on_refused
        self._is_told = False

    def refuse(self, failure: ApiError) -> None:
        self.failure = failure
        self._is_told = True
        if self._on_refused is not None:
            self._on_refused(failure)
        if self._held is not None:
            self._held.set()

    async def end(self) -> None:
        if self._held is not None:
            await self._held.wait()
        if self.failure is None:
            await self._persist()
            return
        if not self._is_told:
            self.refuse(self.failure)
        raise self.failure
