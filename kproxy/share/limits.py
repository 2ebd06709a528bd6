"""The bounds of share groups that an operator may set.

The defaults are Kafka's (`GroupConfig`, `ShareGroupConfig`).
"""

from dataclasses import dataclass


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
