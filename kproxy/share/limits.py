"""The bounds of share groups that an operator may set.

The defaults are Kafka's (`GroupConfig`, `ShareGroupConfig`), whose brokers hold no heartbeats and wait for nobody.
"""

from dataclasses import dataclass
from typing import Final

_HEARTBEAT_MARGIN_MS: Final = 100
"""Between the answer of a held heartbeat and the next one; in that time its member hears of nothing."""


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """What one group allows on each of its share-partitions. Read at the time of use: a change takes effect.

    A shorter lock duration spares the locks already taken; a lower delivery count limit lets the attempt in
    progress finish, and gives records that already reached it one more (KIP-1240).
    """

    delivery_count_limit: int = 5
    """Deliveries of one record, after which it is archived (`share.delivery.count.limit`)."""
    record_lock_duration_ms: int = 30_000
    """How long an acquired record stays with its member (`share.record.lock.duration.ms`)."""
    partition_max_record_locks: int = 2_000
    """Offsets in flight, from the start offset on (`share.partition.max.record.locks`)."""
    is_renew_enabled: bool = True
    """Whether locks may be renewed (`share.renew.acknowledge.enable`)."""


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """What one group allows its members. Read at each heartbeat."""

    session_timeout_ms: int = 45_000
    """Silence after which a member is removed (`share.session.timeout.ms`)."""
    heartbeat_interval_ms: int = 5_000
    """What members are told (`share.heartbeat.interval.ms`)."""
    max_size: int = 200
    """Members of the group (`group.share.max.size`)."""
    assignment_interval_ms: int = 1_000
    """Least time between two computations of the assignment (`share.assignment.interval.ms`)."""
    initialize_retry_interval_ms: int = 30_000
    """How long an initialization is waited for before it is asked for again
    (`group.share.initialize.retry.interval.ms`)."""
    assignment_delay_ms: int = 0
    """How long changes of a group wait for others, to be assigned together (`kproxy.share.assignment.delay.ms`)."""
    max_heartbeat_wait_ms: int = 0
    """How long a heartbeat with nothing to tell may be held (`kproxy.share.heartbeat.max.wait.ms`); 0: not at all."""

    @property
    def heartbeat_wait_ms(self) -> int:
        """How long a heartbeat with nothing to tell is held.

        It is answered before its client's next one is due: Java's clients up to 4.3 ask their timers in a busy loop
        from then on, librdkafka leaves the next heartbeat out. And a session outlives two of them.
        """
        spared_ms = self.heartbeat_interval_ms - _HEARTBEAT_MARGIN_MS
        return max(0, min(self.max_heartbeat_wait_ms, spared_ms, self.session_timeout_ms // 2))
