"""The defaults are Kafka's."""

from kproxy.share.limits import GroupLimits, ShareLimits


def test_a_share_partition_has_the_limits_of_the_stock_broker() -> None:
    assert ShareLimits() == ShareLimits(
        delivery_count_limit=5,
        record_lock_duration_ms=30_000,
        partition_max_record_locks=2_000,
        is_renew_enabled=True,
    )


def test_a_group_has_the_limits_of_the_stock_broker() -> None:
    assert GroupLimits() == GroupLimits(
        session_timeout_ms=45_000,
        heartbeat_interval_ms=5_000,
        max_size=200,
        assignment_interval_ms=1_000,
        initialize_retry_interval_ms=30_000,
    )
