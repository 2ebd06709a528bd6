"""Writers of partitions of the state log whose appends end when, and as, a test says so."""

import asyncio
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from kproxy.handlers.live.pauses import SharedStart, short_appends
from kproxy.handlers.ports import TopicDescription
from kproxy.net.state_log.append_dates import AppendDates
from kproxy.net.state_log.append_outcome import AppendOutcome
from kproxy.net.state_log.log_appender import LogAppender
from kproxy.net.state_log.partition_writer import AppendQueue, ClaimedPartition, Doubt, PartitionWriter
from kproxy.net.state_log.producer_identities import ProducerIdentity
from kproxy.net.state_log.reports import SlotReports
from kproxy.net.tasks import TaskKeeper
from kproxy.statelog.operations import Operation
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.tickets import Ticket
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.written_log import a_claim
from tests.worlds.state_logs import NOW_MS, STATE, STATE_ID, MeasuredThings

CLAIM_EPOCH: Final = 0

_SEQUENCE_AND_COUNT: Final = struct.Struct(">ii")
_SEQUENCE_AT: Final = 53
"""Where these stand in the header of a record batch of format v2 (KIP-98)."""


@dataclass(frozen=True, slots=True)
class HeldAppend:
    """An append under way: which sequence numbers it has, and how it ends."""

    first_sequence: int
    record_count: int
    outcome: asyncio.Future[AppendOutcome]


class HeldAppends:
    """A `LogAppender` that sends nothing: the test ends what is under way."""

    write_timeout_ms: Final = 1_000

    def __init__(self) -> None:
        self.under_way: list[HeldAppend] = []

    def append(self, topic: TopicDescription, partition: int, batch: bytes) -> asyncio.Future[AppendOutcome]:
        """Hold the append."""
        del topic, partition
        sequence, count = _SEQUENCE_AND_COUNT.unpack_from(batch, _SEQUENCE_AT)
        outcome: asyncio.Future[AppendOutcome] = asyncio.get_running_loop().create_future()
        self.under_way.append(HeldAppend(sequence, count, outcome))
        return outcome


def held_writer(
    queue: AppendQueue,
    appends: HeldAppends,
    tasks: TaskKeeper,
    doubts: list[Doubt],
    *,
    number: int = 0,
    start: SharedStart | None = None,
) -> PartitionWriter:
    """Return what writes `queue` by `appends`, and adds to `doubts` what ends it."""
    return PartitionWriter(
        ClaimedPartition(TopicDescription(STATE_ID, STATE, 2), number, ProducerIdentity(7, 0), CLAIM_EPOCH),
        queue,
        appender=cast("LogAppender", appends),
        dates=AppendDates(ManualClock(NOW_MS)),
        max_batch_bytes=1_000_000,
        observer=SlotReports(MeasuredThings()),
        tasks=tasks,
        short_appends=start or short_appends(),
        on_doubt=lambda doubt, _: doubts.append(doubt),
    )


class HeldPartition:
    """A claimed partition of the state topic, its queue and its writer."""

    def __init__(self, tasks: TaskKeeper, number: int = 0, *, start: SharedStart | None = None) -> None:
        self.appends = HeldAppends()
        self.doubts: list[Doubt] = []
        self.queue = StateQueue(ShareCoordinator(StateLogFold(), CoordinatorLimits()))
        self.queue.fold.apply(replace(a_claim(), offset=CLAIM_EPOCH, timestamp_ms=NOW_MS))
        self.writer = held_writer(self.queue, self.appends, tasks, self.doubts, number=number, start=start)

    def submit(self, operations: Sequence[Operation]) -> list[Ticket]:
        """Queue operations and wake the writer after each."""
        tickets = []
        for operation in operations:
            tickets.append(self.queue.submit(operation))
            self.writer.wake()
        return tickets
