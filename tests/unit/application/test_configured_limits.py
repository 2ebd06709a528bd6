"""Each limit of share groups is the operator's setting of the same name."""

from kproxy.application.configured_limits import share_group_limits
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.groups.group_config_keys import GroupConfigBounds, OperatorBounds
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.settings import Settings
from kproxy.share.limits import GroupLimits, ShareLimits
from kproxy.share.share_session import ShareSessionLimits


def test_every_limit_is_what_the_operator_set() -> None:
    # Given
    settings = Settings(
        group_share_delivery_count_limit=7,
        group_share_record_lock_duration_ms=20_000,
        group_share_min_record_lock_duration_ms=16_000,
        group_share_max_record_lock_duration_ms=50_000,
        group_share_partition_max_record_locks=300,
        group_share_session_timeout_ms=46_000,
        group_share_heartbeat_interval_ms=6_000,
        group_share_max_size=33,
        group_share_assignment_interval_ms=1_234,
        group_share_min_assignment_interval_ms=1_000,
        group_share_max_assignment_interval_ms=9_000,
        group_share_min_delivery_count_limit=3,
        group_share_max_delivery_count_limit=9,
        group_share_min_partition_max_record_locks=200,
        group_share_max_partition_max_record_locks=3_000,
        group_share_initialize_retry_interval_ms=7_000,
        group_share_max_share_sessions=55,
        share_session_max_partitions=66,
        share_sessions_max_partitions=777,
        share_groups_max=9_999,
        share_groups_max_subscribed_topics=8_888,
        share_admin_request_max_entries=88,
        share_admin_response_max_entries=99,
        share_assignment_delay_ms=44,
        share_heartbeat_max_wait_ms=2_500,
    )

    # When
    limits = share_group_limits(settings)

    # Then
    assert limits == ShareGroupLimits(
        share=ShareLimits(
            delivery_count_limit=7, record_lock_duration_ms=20_000, partition_max_record_locks=300
        ),
        group=GroupLimits(
            session_timeout_ms=46_000,
            heartbeat_interval_ms=6_000,
            max_size=33,
            assignment_interval_ms=1_234,
            assignment_delay_ms=44,
            max_heartbeat_wait_ms=2_500,
            initialize_retry_interval_ms=7_000,
        ),
        configs=GroupConfigBounds(
            session_timeout_ms=OperatorBounds(46_000, 45_000, 60_000),
            heartbeat_interval_ms=OperatorBounds(6_000, 5_000, 15_000),
            delivery_count_limit=OperatorBounds(7, 3, 9),
            record_lock_duration_ms=OperatorBounds(20_000, 16_000, 50_000),
            assignment_interval_ms=OperatorBounds(1_234, 1_000, 9_000),
            partition_max_record_locks=OperatorBounds(300, 200, 3_000),
        ),
        sessions=ShareSessionLimits(max_share_sessions=55, max_session_partitions=66, max_partitions=777),
        max_groups=9_999,
        max_subscribed_names=8_888,
        administration=AdministrationBounds(most_named=88, most_told=99),
    )


def test_the_defaults_are_those_of_the_limits_themselves_but_for_what_kafka_does_not_have() -> None:
    assert share_group_limits(Settings()) == ShareGroupLimits(
        group=GroupLimits(assignment_delay_ms=50, max_heartbeat_wait_ms=15_000)
    )
