"""The brokers that hold the state log are killed under load: what was answered stays answered, and nothing is lost."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.real_kafka import administration
from tests.real_kafka.acceptances import Acceptances
from tests.real_kafka.accepter import QUICK_CLIENTS, Accepter, StartMember
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS
from tests.real_kafka.share_members import MEMBER_KINDS
from tests.real_kafka.steady_production import SteadyProduction

SAFE: Final = {"min.insync.replicas": "2"}
PARTITIONS: Final = 3
TIMEOUT_SECONDS: Final = 120.0
REPLICATED: Final = {
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
}


@pytest.fixture(scope="module")
def three_brokers() -> Iterator[KafkaCluster]:
    with KafkaCluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def load(three_brokers: KafkaCluster, tmp_path: Path) -> Iterator[tuple[KproxyProcess, Acceptances]]:
    """One member of each client at work, through a kproxy whose state topics have three replicas."""
    cluster = three_brokers
    settings = {**state_topic_settings(), **QUICK_HEARTBEATS, **REPLICATED}
    topic, group = unique_name("replicated"), unique_name("replicated")
    administration.create_topic(
        cluster.bootstrap_servers, topic, partitions=PARTITIONS, replicas=3, topic_settings=SAFE
    )
    with ExitStack() as stack:
        kproxy = stack.enter_context(
            KproxyProcess(cluster.bootstrap_servers, node_ids=cluster.node_ids, settings=settings)
        )
        kproxy.wait_until_ready()
        administration.set_group_settings(
            kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"}
        )
        production = stack.enter_context(
            SteadyProduction(cluster.bootstrap_servers, [(topic, number) for number in range(PARTITIONS)])
        )
        accepters = [
            stack.enter_context(Accepter(_starter(kproxy, client, group), [topic], tmp_path / client))
            for client in MEMBER_KINDS
        ]
        acceptances = Acceptances(
            cluster, str(settings["kproxy.state.topic.name"]), [topic], accepters, production
        )
        acceptances.wait_for_answer(since=time.monotonic(), timeout_seconds=TIMEOUT_SECONDS)
        yield kproxy, acceptances


@pytest.mark.soak
def test_each_broker_is_killed_and_comes_back(load: tuple[KproxyProcess, Acceptances]) -> None:
    # Given
    kproxy, acceptances = load
    cluster, pauses = acceptances.cluster, []
    for node_id in cluster.node_ids:
        # When
        cluster.kill_broker(node_id)

        # Then
        pauses.append(_seconds_until_accepted(acceptances))
        cluster.start_broker(node_id)
        _seconds_until_accepted(acceptances)
    acceptances.wait_until_calm()
    _report("one broker after the other", kproxy, acceptances, pauses)
    acceptances.require_in_order(acceptances.read_log())
    _require_that_it_serves_all_that_was_there(kproxy)


@pytest.mark.soak
def test_the_whole_cluster_is_killed_and_comes_back(load: tuple[KproxyProcess, Acceptances]) -> None:
    # Given
    kproxy, acceptances = load
    cluster = acceptances.cluster
    for node_id in cluster.node_ids:
        cluster.kill_broker(node_id)

    # When
    cluster.start_all_brokers()

    # Then
    pauses = [_seconds_until_accepted(acceptances)]
    acceptances.wait_until_calm()
    _report("the whole cluster", kproxy, acceptances, pauses)
    acceptances.require_in_order(acceptances.read_log())
    _require_that_it_serves_all_that_was_there(kproxy)


def _starter(kproxy: KproxyProcess, client: str, group: str) -> StartMember:
    return lambda topics: MEMBER_KINDS[client](
        kproxy.bootstrap_servers, group=group, topics=topics, settings=QUICK_CLIENTS[client]
    )


def _seconds_until_accepted(acceptances: Acceptances) -> float:
    return acceptances.wait_for_answer(since=time.monotonic(), timeout_seconds=TIMEOUT_SECONDS)


def _require_that_it_serves_all_that_was_there(kproxy: KproxyProcess) -> None:
    assert kproxy.log_events("state_log_truncated") == []
    kproxy.wait_until_ready()


def _report(what: str, kproxy: KproxyProcess, acceptances: Acceptances, pauses: list[float]) -> None:
    metrics = kproxy.metrics()
    report = {
        "killed": what,
        "records produced": len(acceptances.production.produced),
        "acceptances answered": len(acceptances.answers()),
        "slots rebuilt": metrics.total("kproxy_statelog_rebuilds_total"),
        "errors of members": dict(acceptances.errors()),
        "seconds until something was accepted again": [round(pause, 2) for pause in pauses],
    }
    print(json.dumps(report, indent=2))
