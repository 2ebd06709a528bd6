"""From the operator's settings to the plan of the state log."""

import os

import pytest

from kproxy.application.state_log_plan import state_log_plan
from kproxy.net.state_log.claim import ClaimPolicy
from kproxy.net.state_log.service import StateLogPlan
from kproxy.net.state_log.state_topics import StateTopicPlan
from kproxy.net.state_log.upkeep import UpkeepTiming
from kproxy.settings import CorruptRecords, Settings
from kproxy.statelog.share_coordinator import CoordinatorLimits


def test_every_part_of_the_plan_is_what_the_operator_set() -> None:
    # Given
    settings = Settings(
        state_topic_name="states",
        groups_topic_name="groups",
        share_coordinator_state_topic_num_partitions=7,
        share_coordinator_state_topic_replication_factor=2,
        share_coordinator_state_topic_min_isr=1,
        share_coordinator_state_topic_segment_bytes=1_000_000,
        share_coordinator_snapshot_update_records_per_snapshot=99,
        share_coordinator_state_topic_prune_interval_ms=1_001,
        share_coordinator_cold_partition_snapshot_interval_ms=1_002,
        state_history_ms=1_003,
        share_coordinator_write_timeout_ms=1_004,
    )

    # When
    plan = state_log_plan(settings)

    # Then
    assert plan == StateLogPlan(
        topics=StateTopicPlan("states", "groups", 7, 2, 1, 1_000_000),
        claims=ClaimPolicy(
            plan.claims.owner, "stop", CoordinatorLimits(updates_per_snapshot=99), plan.claims.token
        ),
        upkeep=UpkeepTiming(interval_ms=1_001, cold_after_ms=1_002, history_ms=1_003),
        write_timeout_ms=1_004,
    )


@pytest.mark.parametrize(
    ("chosen", "expected"), [(CorruptRecords.SKIP, "skip"), (CorruptRecords.FAIL, "stop")]
)
def test_corrupt_records_are_treated_as_the_operator_says(chosen: CorruptRecords, expected: str) -> None:
    assert state_log_plan(Settings(state_on_corrupt_record=chosen)).claims.on_corrupt == expected


def test_the_owner_of_a_claim_can_be_told_from_any_other_process() -> None:
    # When
    one, other = (state_log_plan(Settings()).claims for _ in range(2))

    # Then
    assert f"process {os.getpid()} on " in one.signature
    assert one.owner == other.owner, "two containers may have one host name, and process 1 each"
    assert one.signature != other.signature
