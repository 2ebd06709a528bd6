"""A claimed partition of the state log with its queue and its writer, for scenarios of single appends."""

from collections.abc import Callable

from kproxy.handlers.live.pauses import short_appends
from kproxy.net.state_log.append_dates import AppendDates
from kproxy.net.state_log.partition_writer import ClaimedPartition, Doubt, PartitionWriter
from kproxy.net.state_log.producer_identities import ProducerIdentity
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.operations import Initialize
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.tickets import Ticket
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.in_memory.written_log import a_claim
from tests.worlds.state_logs import StateLogBacking, create_state_topics, key_of_slot, state_log
from tests.worlds.waiting import until

KEY, OTHER = key_of_slot(0), key_of_slot(0, skip=1)
BEGINNING = Initialize(KEY, StateEpoch(0), 0)
OTHER_BEGINNING = Initialize(OTHER, StateEpoch(0), 0)


class Written:
    """Partition 0 of the state topic, claimed at offset 0, with its queue and its writer."""

    def __init__(self, cluster: ScriptedStateLog, backing: StateLogBacking) -> None:
        self.cluster = cluster
        self.backing = backing
        self.doubts: list[tuple[Doubt, str]] = []
        self.commit = StateQueue(ShareCoordinator(StateLogFold(), CoordinatorLimits()))
        self.on_doubt: Callable[[], None] = lambda: None

    async def claimed(self) -> "Written":
        """Claim the partition as its owner would."""
        create_state_topics(self.cluster)
        topics = await self.backing.found()
        self.cluster.write_foreign(state_log(), a_claim())
        self.commit.fold.apply(self.cluster.records(state_log())[0])
        self.writer = PartitionWriter(
            ClaimedPartition(topics.state, 0, ProducerIdentity(7, 0), 0),
            self.commit,
            appender=self.backing.appender,
            dates=AppendDates(self.backing.wall_clock),
            max_batch_bytes=100_000,
            observer=self.backing.reports,
            tasks=self.backing.tasks,
            short_appends=short_appends(),
            on_doubt=lambda doubt, detail: self.doubts.append((doubt, detail)),
        )
        return self

    def submit(self, operation: object) -> Ticket:
        """Queue an operation and wake the writer."""
        ticket = self.commit.submit(operation)  # type: ignore[arg-type]  # whatever a queue takes
        self.writer.wake()
        return ticket

    async def settled(self, *operations: object) -> list[Ticket]:
        """Submit, and return when all is settled."""
        tickets = [self.submit(operation) for operation in operations]
        await until(lambda: all(ticket.is_done for ticket in tickets))
        return tickets

    async def doubt(self) -> tuple[Doubt, str]:
        """Return why the writer gave up, once it has."""
        await until(lambda: bool(self.doubts))
        (doubt,) = self.doubts
        return doubt

    @property
    def values(self) -> int:
        """How many records there are beside the claim."""
        return len(self.cluster.records(state_log())) - 1
