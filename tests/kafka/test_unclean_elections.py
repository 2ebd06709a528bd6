"""A replica that was behind is elected, and the log is cut off: the alarm is raised, and groups go on."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.real_kafka import administration
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.group_at_work import group_at_work
from tests.real_kafka.leadership import move_replicas

pytestmark = pytest.mark.soak

ONE_IS_ENOUGH: Final = {
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 1,
}
MAY_LOSE_RECORDS: Final = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


@pytest.fixture(scope="module")
def three_brokers() -> Iterator[KafkaCluster]:
    with KafkaCluster(brokers=3) as cluster:
        yield cluster


def test_a_state_log_that_was_cut_off_by_an_unclean_election_raises_the_alarm_and_the_group_goes_on(
    three_brokers: KafkaCluster, tmp_path: Path
) -> None:
    # Given
    cluster = three_brokers
    with group_at_work(cluster, tmp_path, settings=ONE_IS_ENOUGH) as work:
        move_replicas(cluster, work.state_topics, [1, 2])
        for topic in work.state_topics:
            administration.set_topic_settings(cluster.bootstrap_servers, topic, MAY_LOSE_RECORDS)
        cluster.stop_broker(2)
        work.wait_until_each_partition_goes_on(since=time.monotonic())
        cluster.kill_broker(1)

        # When
        cluster.start_broker(2)

        # Then
        work.wait_until_each_partition_goes_on(since=time.monotonic())
        cluster.start_broker(1)
        work.acceptances.take_what_landed()
        work.acceptances.wait_until_calm(log_keeps_all=False)
        kproxy = work.kproxy
        print(json.dumps(work.summary("unclean election of the state log"), indent=2))
        assert work.acceptances.production.produced <= work.acceptances.tried()
        assert kproxy.metrics().total("kproxy_statelog_truncations_total") > 0
        assert kproxy.log_events("state_log_truncated", level="error")
        assert kproxy.log_events("slot_stopped") == []
        assert work.acceptances.restarts() == []
