"""Slots of the state log on the real queues, whose appends a test lets land, refuses or leaves in doubt."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from kproxy.application.slot_contents import SlotContents
from kproxy.errors import CoordinatorLoadInProgress, StateLogUnavailable, StateNotWritten
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.statelog.claims import STATE_FORMAT_VERSION, Claim
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.group_queue import GroupOperation, GroupQueue
from kproxy.statelog.group_records import encode_group_record
from kproxy.statelog.operations import Operation
from kproxy.statelog.partitioning import group_partition
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.state_records import encode_state_record
from kproxy.statelog.tickets import Append, Ticket
from kproxy.wire.records import Record

_LARGEST_APPEND_BYTES = 2**20


class StepwiseLog:
    """One partition of the state log, and the queue that writes it."""

    def __init__(self, records: list[Record], queue: StateQueue | GroupQueue, claim_epoch: int) -> None:
        self._records = records
        self._queue = queue
        self._claim_epoch = claim_epoch
        self._in_flight: Append | None = None

    def step(self) -> bool:
        """Send what waits, or let land what was sent; tell whether there was any."""
        if self._in_flight is None:
            self._in_flight = self._queue.next_append(
                0, max_bytes=_LARGEST_APPEND_BYTES, claim_epoch=self._claim_epoch
            )
            return self._in_flight is not None
        base_offset = len(self._records)
        self._land()
        self._queue.succeeded(base_offset)
        return True

    def refuse(self) -> None:
        """Let what was sent certainly not be in the log."""
        self._in_flight = None
        self._queue.fail(StateNotWritten("refused"))

    def lose(self, *, has_landed: bool) -> None:
        """Let nobody know what became of what was sent."""
        if has_landed:
            self._land()
        self._in_flight = None
        self._queue.fail(StateLogUnavailable("in doubt"))

    def _land(self) -> None:
        if self._in_flight is not None:
            for record in self._in_flight.records:
                self._records.append(replace(record, offset=len(self._records), timestamp_ms=0))
        self._in_flight = None


class StepwiseSlot:
    """What `StateSlot` is to those who use it. It is loaded, and lost, when a test says so."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.logs: Sequence[StepwiseLog] = ()
        """Those of states and of groups while it is served."""
        self._state_records: list[Record] = []
        self._group_records: list[Record] = []
        self._states: StateQueue | None = None
        self._groups: GroupQueue | None = None
        self._loaded = asyncio.Event()

    @property
    def groups(self) -> GroupQueue:
        """What is durable of groups."""
        self.require_ready()
        assert self._groups is not None
        return self._groups

    @property
    def states(self) -> dict[SharePartitionKey, DurableShareState]:
        """What is durable of share-partitions."""
        return {} if self._states is None else dict(self._states.fold.states)

    def require_ready(self) -> None:
        if self._states is None:
            raise CoordinatorLoadInProgress("the slot is being loaded")

    def submit(self, operation: Operation) -> Ticket:
        self.require_ready()
        assert self._states is not None
        return self._states.submit(operation)

    def submit_group(self, operation: GroupOperation) -> Ticket:
        return self.groups.submit(operation)

    def loaded(self) -> "StepwiseSlot | None":
        return None if self._states is None else self

    async def settled(self, timeout_s: float | None = None) -> None:
        """Return when it was loaded; time does not pass by itself."""
        del timeout_s
        await self._loaded.wait()

    def load(self, contents: SlotContents) -> None:
        """Claim it, and begin with what is in the log."""
        if self._states is not None:
            return
        claim = Claim("stepwise", STATE_FORMAT_VERSION)
        _append(self._state_records, encode_state_record(claim, claim_epoch=None, actors=()))
        _append(self._group_records, encode_group_record(claim, claim_epoch=None))
        fold, groups = StateLogFold(), GroupQueue()
        for record in self._state_records:
            fold.apply(record)
        for record in self._group_records:
            groups.replay(record)
        self._states, self._groups = StateQueue(ShareCoordinator(fold, CoordinatorLimits())), groups
        self.logs = (
            StepwiseLog(self._state_records, self._states, fold.claim_epoch),
            StepwiseLog(self._group_records, groups, groups.claim_epoch),
        )
        contents.slot_loaded(self.number, tuple(groups.durable_images().values()), groups.configs())
        self._loaded.set()

    def lose(self, contents: SlotContents | None, *, has_landed: bool) -> None:
        """Be in doubt; without `contents` the process was killed."""
        logs, self.logs = self.logs, ()
        self._states = self._groups = None
        self._loaded.clear()
        for log in logs:
            log.lose(has_landed=has_landed)
        if logs and contents is not None:
            contents.slot_lost(self.number)


class StepwiseSlots:
    """What `StateSlots` is to those who use it."""

    def __init__(self, count: int) -> None:
        self._slots = [StepwiseSlot(number) for number in range(count)]

    def __len__(self) -> int:
        return len(self._slots)

    def slot_of_group(self, group_id: str) -> StepwiseSlot:
        return self._slots[group_partition(GroupId(group_id), len(self))]

    def all(self) -> Sequence[StepwiseSlot]:
        return self._slots

    def as_state_slots(self) -> StateSlots:
        return cast("StateSlots", self)


def _append(records: list[Record], record: Record) -> None:
    records.append(replace(record, offset=len(records), timestamp_ms=0))
