"""A share consumer whose broker connections fall silent keeps its session and its records."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from tests.real_kafka import administration
from tests.real_kafka.accounts import counts_by_id, received_after_the_end
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.share_endpoint import ShareEndpoint
from tests.real_kafka.share_member import AcknowledgeType
from tests.real_kafka.share_members import MEMBER_KINDS

IDLE_LIMIT_MS: Final = 5_000
KEEPALIVE_MS: Final = 2_000
HELD_SECONDS: Final = 20


@pytest.fixture(scope="module")
def impatient_cluster() -> Iterator[KafkaCluster]:
    """Its broker closes connections that are silent for 5 s."""
    with KafkaCluster(broker_settings={"connections.max.idle.ms": IDLE_LIMIT_MS}) as cluster:
        yield cluster


@pytest.mark.soak
def test_records_held_for_long_without_other_traffic_are_still_held_and_accepted(
    impatient_cluster: KafkaCluster,
) -> None:
    # Given
    settings = {"kproxy.keepalive.ms": KEEPALIVE_MS}
    with (
        KproxyProcess(impatient_cluster.bootstrap_servers, settings=settings) as kproxy,
        ExitStack() as stack,
    ):
        kproxy.wait_until_ready()
        endpoint = ShareEndpoint(kproxy.bootstrap_servers, impatient_cluster, kproxy)
        topics = {client: endpoint.new_topic() for client in MEMBER_KINDS}
        groups = {client: endpoint.new_group() for client in MEMBER_KINDS}
        for topic in topics.values():
            administration.produce(endpoint.bootstrap_servers, topic, "abc")
        members = [
            stack.enter_context(
                start_member(endpoint.bootstrap_servers, group=groups[client], topics=[topics[client]])
            )
            for client, start_member in MEMBER_KINDS.items()
        ]
        held = [counts_by_id(member.poll_until_records()) for member in members]

        # When
        # Nothing tells that time has passed but time itself.
        time.sleep(HELD_SECONDS)

        # Then
        for member in members:
            member.acknowledge_all(AcknowledgeType.ACCEPT)
        errors = [outcome.error for member in members for outcome in member.commit()]
        metrics = kproxy.metrics()
        late = [
            received_after_the_end(
                start_member, endpoint.bootstrap_servers, group=groups[client], topic=topics[client]
            )
            for client, start_member in MEMBER_KINDS.items()
        ]
    assert held == [{(0, 0): 1, (0, 1): 1, (0, 2): 1}] * len(members)
    assert errors == [None] * len(members)
    assert metrics.value("kproxy_share_deliveries_total", first="false") == 0
    assert metrics.value("kproxy_keepalives_total") > 0
    assert all(received == last for received, last in late)
