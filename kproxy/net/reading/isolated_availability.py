"""`IsolatedAvailability`: sleeping until there is something that may be read under one's own isolation level."""

from collections.abc import Collection, Mapping

from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import Clock
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.reading.availability import ShareAvailability
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import WakingTurns
from kproxy.share.identifiers import SharePartitionKey


class IsolatedAvailability:
    """Implements `Availability`: one `ShareAvailability` for each isolation level.

    What may be read of a partition ends in two places, and each moves on its own. While nobody waits for committed
    records theirs has no watch, no poll and no connection. Those who are woken go on in `turns`.
    """

    def __init__(
        self,
        *,
        metadata: ClusterMetadataCache,
        connections: BrokerConnections,
        clock: Clock,
        tasks: TaskKeeper,
        turns: WakingTurns,
    ) -> None:
        self._by_isolation = {
            isolation: ShareAvailability(
                metadata=metadata,
                connections=connections,
                clock=clock,
                tasks=tasks,
                turns=turns,
                isolation=isolation,
            )
            for isolation in IsolationLevel
        }

    async def wait(
        self,
        interest: Mapping[SharePartitionKey, int | None],
        until_ms: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> Collection[SharePartitionKey]:
        """Sleep as the port says."""
        return await self._by_isolation[isolation].wait(interest, until_ms)

    def signal(self, key: SharePartitionKey) -> None:
        """Wake who waits for `key`."""
        for availability in self._by_isolation.values():
            availability.signal(key)
