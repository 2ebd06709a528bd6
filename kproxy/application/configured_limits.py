"""From the operator's settings to the limits of share groups."""

from kproxy.handlers.groups.group_config_keys import GroupConfigBounds
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.settings import Settings
from kproxy.share.limits import GroupLimits, ShareLimits
from kproxy.share.share_session import ShareSessionLimits


def share_group_limits(settings: Settings) -> ShareGroupLimits:
    """Return what `settings` allow share groups."""
    return ShareGroupLimits(
        share=ShareLimits(
            delivery_count_limit=settings.group_share_delivery_count_limit,
            record_lock_duration_ms=settings.group_share_record_lock_duration_ms,
            partition_max_record_locks=settings.group_share_partition_max_record_locks,
        ),
        group=GroupLimits(
            session_timeout_ms=settings.group_share_session_timeout_ms,
            heartbeat_interval_ms=settings.group_share_heartbeat_interval_ms,
            max_size=settings.group_share_max_size,
            assignment_interval_ms=settings.group_share_assignment_interval_ms,
            assignment_delay_ms=settings.share_assignment_delay_ms,
            max_heartbeat_wait_ms=settings.share_heartbeat_max_wait_ms,
        ),
        configs=GroupConfigBounds(
            record_lock_duration_ms=settings.group_share_record_lock_duration_ms,
            min_record_lock_duration_ms=settings.group_share_min_record_lock_duration_ms,
            max_record_lock_duration_ms=settings.group_share_max_record_lock_duration_ms,
        ),
        sessions=ShareSessionLimits(
            max_share_sessions=settings.group_share_max_share_sessions,
            max_session_partitions=settings.share_session_max_partitions,
            max_partitions=settings.share_sessions_max_partitions,
        ),
    )
