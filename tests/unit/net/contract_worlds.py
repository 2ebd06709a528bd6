"""The worlds in which the contracts of `PartitionReader` and `Availability` are tried without Kafka."""

from collections.abc import Sequence

from kproxy.handlers.ports import Availability, PartitionReader
from tests.in_memory.in_memory_availability import InMemoryAvailability
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.in_memory.scripted_partition_reader import InMemoryLog, ScriptedPartitionReader
from tests.worlds.backing import ORDERS, Backing

PRODUCER_ID = 7


class DoubleReaderWorld:
    """The `ScriptedPartitionReader`."""

    def __init__(self) -> None:
        self.topic_id = ORDERS
        self._double = ScriptedPartitionReader()
        self.reader: PartitionReader = self._double

    async def append(self, partition: int, values: Sequence[bytes], *, timestamp_ms: int = 1) -> None:
        """Append `values` as one batch."""
        self._double.log(ORDERS, partition).append(values, timestamp_ms=timestamp_ms)

    async def append_in_transaction(self, partition: int, values: Sequence[bytes]) -> None:
        """Append `values` as one batch of a transaction."""
        self._double.log(ORDERS, partition).append_in_transaction(values, producer_id=PRODUCER_ID)

    async def end_transaction(self, *, is_commit: bool) -> None:
        """Commit or abort it."""
        self._double.log(ORDERS, 0).end_transaction(producer_id=PRODUCER_ID, is_commit=is_commit)

    async def move_start(self, partition: int, log_start_offset: int) -> None:
        """Delete the records below `log_start_offset`."""
        self._double.log(ORDERS, partition).move_start(log_start_offset)


class ScriptedReaderWorld:
    """The real reader in front of a scripted cluster."""

    def __init__(self, cluster: ScriptedCluster, backing: Backing) -> None:
        self.topic_id = ORDERS
        self.reader: PartitionReader = backing.reader
        self._cluster = cluster
        cluster.create_topic("orders", ORDERS, partition_count=3)

    async def append(self, partition: int, values: Sequence[bytes], *, timestamp_ms: int = 1) -> None:
        """Append `values` as one batch."""
        await self._cluster.append(ORDERS, partition, values, timestamp_ms=timestamp_ms)

    async def append_in_transaction(self, partition: int, values: Sequence[bytes]) -> None:
        """Append `values` as one batch of a transaction."""
        self._cluster.log(ORDERS, partition).append_in_transaction(values, producer_id=PRODUCER_ID)

    async def end_transaction(self, *, is_commit: bool) -> None:
        """Commit or abort it."""
        self._cluster.log(ORDERS, 0).end_transaction(producer_id=PRODUCER_ID, is_commit=is_commit)

    async def move_start(self, partition: int, log_start_offset: int) -> None:
        """Delete the records below `log_start_offset`."""
        self._cluster.log(ORDERS, partition).move_start(log_start_offset)


class DoubleAvailabilityWorld:
    """The `InMemoryAvailability`."""

    def __init__(self) -> None:
        self.topic_id = ORDERS
        self._clock = ManualClock()
        self._double = InMemoryAvailability(self._clock)
        self.availability: Availability = self._double
        self._logs = [InMemoryLog(), InMemoryLog(), InMemoryLog()]

    def in_ms(self, delay_ms: int) -> int:
        """Return the moment (Clock) in `delay_ms`."""
        return self._clock.now_ms() + delay_ms

    async def append_one(self, partition: int) -> None:
        """Append a record."""
        self._logs[partition].append([b"a"])
        self._tell(partition)

    async def append_one_in_transaction(self, partition: int) -> None:
        """Append a record in a transaction."""
        self._logs[partition].append_in_transaction([b"a"], producer_id=PRODUCER_ID)
        self._tell(partition)

    async def end_transaction(self, *, is_commit: bool) -> None:
        """Commit or abort it."""
        self._logs[0].end_transaction(producer_id=PRODUCER_ID, is_commit=is_commit)
        self._tell(0)

    def _tell(self, partition: int) -> None:
        log = self._logs[partition]
        self._double.raise_high_watermark(ORDERS, partition, log.high_watermark, log.last_stable_offset)

    def pass_time(self, delay_ms: int) -> None:
        """Let `delay_ms` pass."""
        self._clock.advance(delay_ms)


class ScriptedAvailabilityWorld:
    """The real availability in front of a scripted cluster."""

    def __init__(self, cluster: ScriptedCluster, backing: Backing) -> None:
        self.topic_id = ORDERS
        self.availability: Availability = backing.availability
        self._cluster = cluster
        self._backing = backing
        cluster.create_topic("orders", ORDERS, partition_count=3)

    def in_ms(self, delay_ms: int) -> int:
        """Return the moment (Clock) in `delay_ms`."""
        return self._backing.clock.now_ms() + delay_ms

    async def append_one(self, partition: int) -> None:
        """Append a record."""
        await self._cluster.append(ORDERS, partition, [b"a"])

    async def append_one_in_transaction(self, partition: int) -> None:
        """Append a record in a transaction."""
        self._cluster.log(ORDERS, partition).append_in_transaction([b"a"], producer_id=PRODUCER_ID)
        await self._cluster.wake_polls()

    async def end_transaction(self, *, is_commit: bool) -> None:
        """Commit or abort it."""
        self._cluster.log(ORDERS, 0).end_transaction(producer_id=PRODUCER_ID, is_commit=is_commit)
        await self._cluster.wake_polls()

    def pass_time(self, delay_ms: int) -> None:
        """Time passes by itself."""
