"""The ports of the state log over its slots: `StateLog`, `GroupLog`, `ShareOffsetStore` and `ShareStateStore`.

An operation is queued in the call and awaited afterwards; what is never awaited becomes durable all the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, Generic, TypeVar, cast

from kproxy.errors import ApiError, CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.ports import OnDurable, OnRefused
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import GroupId, LeaderEpoch, SharePartitionKey, StateEpoch
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.group_queue import ConfigWrite, GroupOperation, GroupRemoval, ImageWrite
from kproxy.statelog.operations import (
    Delete,
    Initialize,
    Load,
    Move,
    Operation,
    Read,
    ReadSummary,
    Write,
    requested_write,
)
from kproxy.statelog.slot_status import SlotState
from kproxy.statelog.tickets import Ticket

R = TypeVar("R")

LOAD_PATIENCE_SECONDS: Final = 5.0
"""How long the load of a share-partition waits for a slot that is loading itself."""
INITIALIZE_SECONDS: Final = 10.0
"""After so long no further portion of a group's first states is begun: a client waits for 30 s by default."""
INITIALIZED_AT_ONCE: Final = 2_000
"""So many states at most are queued, written and taken in before others have a turn."""


class Settlement(Generic[R]):
    """An awaitable over a ticket: done when the ticket is settled. A refusal is raised anew in each wait.

    Any number of tasks may wait, and one that is cancelled meanwhile takes nothing with it.
    """

    __slots__ = ("_ticket",)

    def __init__(self, ticket: Ticket) -> None:
        self._ticket = ticket

    def __await__(self) -> Generator[object, None, R]:
        ticket = self._ticket
        if not ticket.is_done:
            yield from _end_of(ticket)
        if ticket.refusal is not None:
            # One object raised in several tasks would mix their traces.
            raise type(ticket.refusal)(str(ticket.refusal))
        return cast("R", ticket.response)


def _end_of(ticket: Ticket) -> asyncio.Future[None]:
    """Return a future that is done when `ticket` is settled; whoever was to be told before is told first."""
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    others = ticket.on_done

    def tell(settled: Ticket) -> None:
        if others is not None:
            others(settled)
        if not waiter.done():
            waiter.set_result(None)

    ticket.on_done = tell
    return waiter


def _promise(
    submit: Callable[[], Ticket], on_refused: OnRefused | None, on_durable: OnDurable | None = None
) -> Awaitable[None]:
    """Submit, and return what waits for the outcome. One of both hears of it before that, maybe at once."""
    try:
        ticket = submit()
    except ApiError as refusal:
        ticket = Ticket()
        ticket.refuse(refusal)

    def tell(settled: Ticket) -> None:
        if settled.refusal is None:
            if on_durable is not None:
                on_durable()
        elif on_refused is not None:
            on_refused(settled.refusal)

    if ticket.is_done:
        tell(ticket)
    else:
        ticket.on_done = tell
    # A generic alias that is called costs several times what it makes.
    settlement: Settlement[None] = Settlement(ticket)
    return settlement


def _left_over() -> CoordinatorNotAvailable:
    return CoordinatorNotAvailable(
        f"others were begun for more than {INITIALIZE_SECONDS:g} s; the next heartbeat goes on with the rest"
    )


class SlotDirectory:
    """Finds the slots, once there are any: they need the state topics, and those may take their time."""

    def __init__(self) -> None:
        self.slots: StateSlots | None = None
        self.problem = "the state topics were not looked for yet"
        """Why there are no slots."""
        self.is_hopeless = False
        """Whether there are none until an operator does something about `problem`."""
        self._waiters: set[asyncio.Future[None]] = set()

    def open(self, slots: StateSlots) -> None:
        """Find what is in `slots` from now on."""
        self.slots, self.is_hopeless = slots, False
        self._tell()

    def close(self, problem: str, *, is_hopeless: bool = False) -> None:
        """Have no slots from now on, because of `problem`."""
        self.slots, self.problem, self.is_hopeless = None, problem, is_hopeless
        self._tell()

    async def changed(self) -> None:
        """Return when `open` or `close` was called."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _tell(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def require(self) -> StateSlots:
        """Return the slots. Raises CoordinatorNotAvailable while there are none."""
        if self.slots is None:
            raise CoordinatorNotAvailable(f"the state log cannot be used: {self.problem}")
        return self.slots

    def of_group(self, group_id: str) -> StateSlot:
        """Return the slot of a group and its share-partitions. Raises CoordinatorNotAvailable."""
        return self.require().slot_of_group(group_id)


class DurableStateLog:
    """Implements `StateLog`, `ShareOffsetStore` and `ShareStateStore`."""

    def __init__(self, directory: SlotDirectory) -> None:
        self._directory = directory

    # ------------------------------------------------ StateLog

    async def initialize(
        self, wanted: Iterable[PartitionInitialization], require_wanted: Callable[[], None] = lambda: None
    ) -> Mapping[SharePartitionKey, ApiError]:
        """Create these states unless they have begun already; return those that failed. See the port.

        What is left when that has taken too long fails: whoever waits gives up before long, and what is done is not to
        be done again.
        """
        operations = (
            Initialize(each.key, each.state_epoch, each.start_offset, keeps_progress=True) for each in wanted
        )
        failures: dict[SharePartitionKey, ApiError] = {}
        loop = asyncio.get_running_loop()
        ends_at, is_late = loop.time() + INITIALIZE_SECONDS, False
        while some := {operation.key: operation for operation in islice(operations, INITIALIZED_AT_ONCE)}:
            require_wanted()
            failures.update(dict.fromkeys(some, _left_over()) if is_late else await self._all_of(some))
            is_late = loop.time() > ends_at
            await let_others_go_on()
        return failures

    async def load(self, key: SharePartitionKey) -> DurableShareState | None:
        """Return the state under the next leader epoch, None when it was never initialized."""
        slot = self._directory.of_group(key.group_id)
        await slot.settled(LOAD_PATIENCE_SECONDS)
        return await Settlement[DurableShareState | None](slot.submit(Load(key)))

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
        """Queue `delta`; the awaitable is done when it is durable and replayed."""
        write = Write(key, state_epoch, leader_epoch, delta, actors)
        return _promise(lambda: self._directory.of_group(key.group_id).submit(write), on_refused)

    async def delete(self, keys: Collection[SharePartitionKey]) -> Mapping[SharePartitionKey, ApiError]:
        """Delete these states; return those that failed."""
        return await self._all_of({key: Delete(key) for key in keys})

    # ------------------------------------------------ ShareOffsetStore

    async def summaries(
        self, keys: Collection[SharePartitionKey]
    ) -> Mapping[SharePartitionKey, DurableShareState | ApiError | None]:
        """Return of each of `keys` its state, None when there is none, or why it cannot be read."""
        outcomes = await self._outcomes({key: ReadSummary(key) for key in keys})
        return cast("Mapping[SharePartitionKey, DurableShareState | ApiError | None]", outcomes)

    async def move(
        self, moves: Sequence[PartitionInitialization], actor: Actor
    ) -> Mapping[SharePartitionKey, ApiError]:
        """Begin these states anew at other offsets, all at once; return those that failed."""
        return await self._all_of(
            {each.key: Move(each.key, each.state_epoch, each.start_offset, actor) for each in moves}
        )

    # ------------------------------------------------ ShareStateStore

    async def initialize_state(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> None:
        """Begin the state of `key` anew."""
        actor = Actor(Cause.OPERATOR)
        await self._one(key, Initialize(key, StateEpoch(state_epoch), start_offset, actor))

    async def read_state(self, key: SharePartitionKey, *, leader_epoch: int) -> DurableShareState:
        """Return the state of `key`, from now on under `leader_epoch`."""
        return cast("DurableShareState", await self._one(key, Read(key, LeaderEpoch(leader_epoch))))

    async def write_state(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> None:
        """Lay `batches` over the state of `key`."""
        epochs = (StateEpoch(state_epoch), LeaderEpoch(leader_epoch))
        asked = StateDelta(start_offset, delivery_complete_count, tuple(batches))
        await self._one(key, requested_write(key, *epochs, asked))

    async def delete_state(self, key: SharePartitionKey) -> None:
        """Delete the state of `key`; nothing when there is none."""
        await self._one(key, Delete(key, Actor(Cause.OPERATOR)))

    async def read_summary(self, key: SharePartitionKey) -> DurableShareState | None:
        """Return the state of `key` without changing anything, None when there is none."""
        return cast("DurableShareState | None", await self._one(key, ReadSummary(key)))

    # ------------------------------------------------ private

    async def _one(self, key: SharePartitionKey, operation: Operation) -> object:
        return await Settlement[object](self._directory.of_group(key.group_id).submit(operation))

    async def _all_of(
        self, operations: Mapping[SharePartitionKey, Operation]
    ) -> Mapping[SharePartitionKey, ApiError]:
        """Submit all in one turn of the loop, so that those of one slot become durable together; return what failed."""
        outcomes = await self._outcomes(operations)
        return {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, ApiError)}

    async def _outcomes(
        self, operations: Mapping[SharePartitionKey, Operation]
    ) -> Mapping[SharePartitionKey, object]:
        """Submit all in one turn of the loop; return what each answers, or why it failed."""
        pace = Pace()
        outcomes: dict[SharePartitionKey, object] = {}
        queued: dict[SharePartitionKey, Ticket] = {}
        for key, operation in operations.items():
            try:
                queued[key] = self._directory.of_group(key.group_id).submit(operation)
            except ApiError as refusal:
                outcomes[key] = refusal
        for key, ticket in queued.items():
            try:
                outcomes[key] = await Settlement[object](ticket)
            except ApiError as refusal:
                outcomes[key] = refusal
            if pace.is_pause_due():  # the slots of many requests settle in the same turn
                await let_others_go_on()
        return outcomes


def _require_told(slot: StateSlot) -> None:
    """Raise CoordinatorLoadInProgress also while it is on its way to another process: nobody tells of its groups."""
    try:
        slot.require_ready()
    except NotCoordinator as leaving:
        raise CoordinatorLoadInProgress(str(leaving)) from leaving


class DurableGroupLog:
    """Implements `GroupLog`."""

    def __init__(self, directory: SlotDirectory) -> None:
        self._directory = directory

    def require_ready(self, group_id: str) -> None:
        """Return if the slot of the group is owned and loaded; raise as the port says."""
        self._directory.of_group(group_id).require_ready()

    def require_all_ready(self) -> None:
        """Return if every slot is owned and loaded here, or is another process's; raise as the port says."""
        for slot in self._directory.require().all():
            if slot.state is not SlotState.ELSEWHERE:
                _require_told(slot)

    def durable_image(self, group_id: GroupId) -> ShareGroupImage | None:
        """Return the picture of the group that is durable, None when there is none."""
        slot = self._directory.of_group(group_id)
        slot.require_ready()
        loaded = slot.loaded()
        return None if loaded is None else loaded.groups.durable_image(group_id)

    def persist(self, image: ShareGroupImage, *, on_refused: OnRefused | None = None) -> Awaitable[None]:
        """Queue the picture of a group; the awaitable is done when it, or a later one, is durable."""
        return self._submit(image.group_id, ImageWrite(image), on_refused)

    def remove(self, group_id: GroupId) -> Awaitable[None]:
        """Queue the end of a group; the awaitable is done when it is durable."""
        return self._submit(group_id, GroupRemoval(group_id), None)

    def persist_configs(
        self,
        group_id: str,
        values: Mapping[str, str],
        *,
        on_durable: OnDurable | None = None,
        on_refused: OnRefused | None = None,
    ) -> Awaitable[None]:
        """Do the same for all that a group has configured."""
        return self._submit(group_id, ConfigWrite(GroupId(group_id), dict(values)), on_refused, on_durable)

    def _submit(
        self,
        group_id: str,
        operation: GroupOperation,
        on_refused: OnRefused | None,
        on_durable: OnDurable | None = None,
    ) -> Awaitable[None]:
        return _promise(
            lambda: self._directory.of_group(group_id).submit_group(operation), on_refused, on_durable
        )
