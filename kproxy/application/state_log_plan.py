"""From the operator's settings to the plan of the state log."""

import os
import socket

from kproxy import __version__
from kproxy.net.state_log.claim import ClaimPolicy
from kproxy.net.state_log.service import StateLogPlan
from kproxy.net.state_log.state_topics import StateTopicPlan
from kproxy.net.state_log.upkeep import UpkeepTiming
from kproxy.settings import CorruptRecords, Settings
from kproxy.statelog.share_coordinator import CoordinatorLimits


def state_log_plan(settings: Settings) -> StateLogPlan:
    """Return what `settings` say about the state log."""
    return StateLogPlan(
        topics=StateTopicPlan(
            state_name=settings.state_topic_name,
            groups_name=settings.groups_topic_name,
            partition_count=settings.share_coordinator_state_topic_num_partitions,
            replication_factor=settings.share_coordinator_state_topic_replication_factor,
            min_insync_replicas=settings.share_coordinator_state_topic_min_isr,
            segment_bytes=settings.share_coordinator_state_topic_segment_bytes,
        ),
        claims=ClaimPolicy(
            owner=f"kproxy {__version__} process {os.getpid()} on {socket.gethostname()}",
            on_corrupt="skip" if settings.state_on_corrupt_record is CorruptRecords.SKIP else "stop",
            coordinator=CoordinatorLimits(
                updates_per_snapshot=settings.share_coordinator_snapshot_update_records_per_snapshot
            ),
        ),
        upkeep=UpkeepTiming(
            interval_ms=settings.share_coordinator_state_topic_prune_interval_ms,
            cold_after_ms=settings.share_coordinator_cold_partition_snapshot_interval_ms,
            history_ms=settings.state_history_ms,
        ),
        write_timeout_ms=settings.share_coordinator_write_timeout_ms,
    )
