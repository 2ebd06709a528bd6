"""A group is as far behind as its share-partitions together, and as its oldest unfinished record."""

from kproxy.admin.group_lag import GroupLag, lag_of_group
from kproxy.admin.progress_views import SharePartitionProgress

NOW_MS = 1_000_000


def a_share_partition(
    lag: int | None, oldest_age_ms: int | None = None, *, is_exact: bool = True, reason: str = ""
) -> SharePartitionProgress:
    return SharePartitionProgress(
        topic_id="dG9waWMtaWQtb3JkZXJzLg",
        topic_name="orders",
        partition=0,
        is_live=True,
        start_offset=0,
        end_offset=0,
        in_flight_count=0,
        in_flight_limit=None,
        in_flight_limit_at_growth=None,
        delivery_complete_count=0,
        log_end_offset=None,
        lag=lag,
        oldest_age_ms=oldest_age_ms,
        is_oldest_age_exact=is_exact and oldest_age_ms is not None,
        reason=reason,
    )


def lag_of(*progress: SharePartitionProgress) -> GroupLag:
    return lag_of_group(progress, now_ms=NOW_MS)


def test_lags_add_up_and_the_oldest_record_is_the_oldest_of_all() -> None:
    found = lag_of(a_share_partition(5, 2_000), a_share_partition(0), a_share_partition(7, 9_000))
    assert found == GroupLag(12, True, NOW_MS - 9_000, True, "")


def test_a_group_that_has_finished_everything_has_no_oldest_record_and_that_is_known() -> None:
    assert lag_of(a_share_partition(0), a_share_partition(0)) == GroupLag(0, True, None, True, "")


def test_a_group_without_share_partitions_is_not_behind() -> None:
    assert lag_of() == GroupLag(0, True, None, True, "")


def test_what_is_not_known_of_one_makes_the_sum_a_lower_bound_and_the_age_too() -> None:
    found = lag_of(a_share_partition(5, 2_000), a_share_partition(None, reason="it is loading"))
    assert found == GroupLag(5, False, NOW_MS - 2_000, False, "it is loading")


def test_an_age_that_is_not_exact_may_belong_to_an_older_record_than_the_oldest_known() -> None:
    found = lag_of(a_share_partition(5, 2_000, is_exact=False), a_share_partition(1, 9_000))
    assert found == GroupLag(6, True, NOW_MS - 9_000, False, "")


def test_where_nothing_is_known_nothing_is_told_but_why() -> None:
    found = lag_of(a_share_partition(None, reason="no leader"), a_share_partition(None, reason="no answer"))
    assert found == GroupLag(None, False, None, False, "no leader")


def test_an_age_that_is_not_known_says_why_beside_the_lag() -> None:
    found = lag_of(a_share_partition(5, None, reason="offset 7 cannot be read"))
    assert found == GroupLag(5, True, None, False, "offset 7 cannot be read")
