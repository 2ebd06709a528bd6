"""Replicas of the state log are too few, or its leaders move: what was answered stays, and nothing is lost."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.group_at_work import GroupAtWork, group_at_work
from tests.real_kafka.leadership import move_replicas

NEEDS_ALL_THREE: Final = {
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 3,
    "share.coordinator.write.timeout.ms": 1_000,
}
NEEDS_TWO: Final = {
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
}
MEANWHILE: Final = 400
"""Records that are produced while nothing can be accepted: some three seconds' worth."""
RETRIABLE: Final = frozenset({"COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"})


@pytest.fixture(scope="module")
def three_brokers() -> Iterator[KafkaCluster]:
    with KafkaCluster(brokers=3) as cluster:
        yield cluster


@pytest.mark.soak
def test_while_replicas_are_too_few_nothing_is_accepted_and_afterwards_nothing_is_lost(
    three_brokers: KafkaCluster, tmp_path: Path
) -> None:
    # Given
    cluster = three_brokers
    with group_at_work(cluster, tmp_path, settings=NEEDS_ALL_THREE) as work:
        move_replicas(cluster, work.state_topics, [1, 2, 3])
        production = work.acceptances.production

        # When
        cluster.stop_broker(3)

        # Then
        work.wait_until(lambda: bool(work.acceptances.errors()))
        before_count, produced_count = len(work.acceptances.answers()), len(production.produced)
        work.wait_until(lambda: len(production.produced) > produced_count + MEANWHILE)
        answered_count = len(work.acceptances.answers()) - before_count
        cluster.start_broker(3)
        work.wait_until_each_partition_goes_on(since=time.monotonic())
        require_nothing_lost(work, "too few replicas")
        told = {error.split()[-1] for error in work.acceptances.errors()}
    assert answered_count == 0
    assert told <= RETRIABLE


def test_leaders_of_state_partitions_that_move_while_brokers_live_cost_nothing_that_was_answered(
    three_brokers: KafkaCluster, tmp_path: Path
) -> None:
    # Given
    cluster = three_brokers
    with group_at_work(cluster, tmp_path, settings=NEEDS_TWO) as work:
        for replicas in ([1, 2], [3, 1], [2, 3, 1]):
            # When
            move_replicas(cluster, work.state_topics, replicas)

            # Then
            work.wait_until_each_partition_goes_on(since=time.monotonic())
        require_nothing_lost(work, "leaders moved")


def require_nothing_lost(work: GroupAtWork, what: str) -> None:
    work.acceptances.take_what_landed()
    work.acceptances.wait_until_calm()
    print(json.dumps(work.summary(what), indent=2))
    work.acceptances.require_in_order(work.acceptances.read_log(), may_be_answered_late=True)
    assert work.kproxy.metrics().total("kproxy_statelog_truncations_total") == 0
