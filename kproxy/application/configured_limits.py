"""From the operator's settings to the limits of share groups."""

from dataclasses import fields

from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.groups.group_config_keys import GroupConfigBounds, OperatorBounds
from kproxy.handlers.groups.principal_quotas import PrincipalLimits
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
            initialize_retry_interval_ms=settings.group_share_initialize_retry_interval_ms,
            max_heartbeat_wait_ms=settings.share_heartbeat_max_wait_ms,
        ),
        configs=_bounds(settings),
        sessions=ShareSessionLimits(
            max_share_sessions=settings.group_share_max_share_sessions,
            max_session_partitions=settings.share_session_max_partitions,
            max_partitions=settings.share_sessions_max_partitions,
            max_of_principal=settings.principal_max_share_sessions,
        ),
        max_groups=settings.share_groups_max,
        max_subscribed_names=settings.share_groups_max_subscribed_topics,
        administration=AdministrationBounds(
            most_named=settings.share_admin_request_max_entries,
            most_told=settings.share_admin_response_max_entries,
        ),
        principals=PrincipalLimits(
            max_members=settings.principal_max_share_members,
            max_groups=settings.principal_max_share_groups,
        ),
    )


def _bounds(settings: Settings) -> GroupConfigBounds:
    """Return what groups may choose for themselves: between `group.share.min.X` and `group.share.max.X`."""

    def bounds(tail: str) -> OperatorBounds:
        default, low, high = (getattr(settings, f"group_share_{end}{tail}") for end in ("", "min_", "max_"))
        return OperatorBounds(default, low, high)

    return GroupConfigBounds(**{row.name: bounds(row.name) for row in fields(GroupConfigBounds)})
