"""Brokers come back at other addresses: share groups and plain clients go on, and nothing is lost."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.group_at_work import GroupAtWork, group_at_work
from tests.real_kafka.leadership import lead_by_preferred

pytestmark = pytest.mark.soak

REPLICATED: Final = {
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
}
SAFE: Final = {"min.insync.replicas": "2"}
MOVED: Final = 2
OTHER: Final = 3


@pytest.fixture(scope="module")
def three_brokers() -> Iterator[KafkaCluster]:
    with KafkaCluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def work(three_brokers: KafkaCluster, tmp_path: Path) -> Iterator[GroupAtWork]:
    """A group whose records are produced through kproxy, too."""
    with group_at_work(
        three_brokers,
        tmp_path,
        settings=REPLICATED,
        topic_settings=SAFE,
        produces_through_kproxy=True,
    ) as work:
        yield work


def test_a_broker_that_comes_back_at_another_port_serves_and_leads_again(work: GroupAtWork) -> None:
    # Given
    cluster = work.acceptances.cluster
    before = cluster.broker_address(MOVED)
    cluster.stop_broker(MOVED)
    cluster.move_broker(MOVED)

    # When
    cluster.start_broker(MOVED)

    # Then
    lead_by_preferred(cluster, [work.topic, *work.state_topics])
    require_that_all_goes_on(work, {MOVED: before})


def test_brokers_that_come_back_each_at_the_others_address_are_not_taken_for_each_other(
    work: GroupAtWork,
) -> None:
    # Given
    cluster = work.acceptances.cluster
    before = {node_id: cluster.broker_address(node_id) for node_id in (MOVED, OTHER)}
    for node_id in before:
        cluster.kill_broker(node_id)
    cluster.swap_addresses(MOVED, OTHER)

    # When
    cluster.start_brokers([MOVED, OTHER])

    # Then
    assert cluster.broker_address(MOVED) == before[OTHER]
    lead_by_preferred(cluster, [work.topic, *work.state_topics])
    require_that_all_goes_on(work, before)


def require_that_all_goes_on(work: GroupAtWork, before: dict[int, str]) -> None:
    """Records reach every partition through kproxy, each is accepted once, and nobody holds on to an old address."""
    kproxy, cluster = work.kproxy, work.acceptances.cluster
    pause = work.wait_for_answer(since=time.monotonic())
    print(f"accepted again {pause:.2f} s after the brokers were there")
    work.wait_until_each_partition_goes_on(since=time.monotonic())
    work.acceptances.take_what_landed()
    work.acceptances.wait_until_calm()
    work.acceptances.require_in_order(work.acceptances.read_log(), may_be_answered_late=True)
    for node_id, address in before.items():
        line = kproxy.log_events("broker_moved", node_id=node_id)[-1]
        assert (line["before"], line["after"]) == (address, cluster.broker_address(node_id))
    assert kproxy.metrics().total("kproxy_statelog_truncations_total") == 0
