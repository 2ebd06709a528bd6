"""Topics and the offsets of their logs, through a kproxy that runs in this process."""

import pytest

from kproxy.clients.cluster.cluster_client import ClusterClient
from kproxy.clients.cluster.topics import (
    EARLIEST,
    LATEST,
    Partition,
    offsets_of_logs,
    partitions_of,
    require_partitions,
)
from kproxy.clients.failures import ClientFailed, NotThere
from kproxy.error_codes import ErrorCode
from tests.in_memory.time_of_pauses import PATIENCE_MS, TimeOfPauses
from tests.worlds.administered_proxy import PAYMENTS, AdministeredProxy, administered_proxy

PAYMENT = Partition("payments", 0)


def test_topics_have_partitions(cluster: ClusterClient) -> None:
    assert partitions_of(cluster, ["payments", "orders", "orders"]) == {
        "payments": [PAYMENT],
        "orders": [Partition("orders", 0), Partition("orders", 1)],
    }


def test_a_topic_that_is_not_there_is_not_created_and_not_found(cluster: ClusterClient) -> None:
    for _ in range(2):
        with pytest.raises(NotThere, match="topic 'nothing' cannot be found: UNKNOWN_TOPIC_OR_PARTITION"):
            partitions_of(cluster, ["nothing"])


def test_partitions_that_are_not_there_are_named_as_kafkas_tool_names_them(cluster: ClusterClient) -> None:
    with pytest.raises(NotThere, match='The partitions "orders-2,payments-7" do not exist'):
        require_partitions(cluster, [Partition("payments", 7), Partition("orders", 2), PAYMENT])


def test_logs_have_a_first_offset_an_end_and_offsets_by_time(
    proxy: AdministeredProxy, cluster: ClusterClient
) -> None:
    # Given
    proxy.append(PAYMENTS, 0, 3, timestamp_ms=1_000)
    proxy.append(PAYMENTS, 0, 2, timestamp_ms=2_000)

    # When
    found = [offsets_of_logs(cluster, [PAYMENT], at)[PAYMENT] for at in (EARLIEST, LATEST, 1_500, 2_001)]

    # Then
    assert found == [0, 5, 3, None]


def test_a_leader_that_moves_is_asked_again_until_the_timeout(proxy: AdministeredProxy) -> None:
    # Given
    time = TimeOfPauses()
    proxy.refuse(PAYMENTS, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    # When
    try:
        with proxy.client(time.deadline()) as cluster, pytest.raises(ClientFailed) as refusal:
            offsets_of_logs(cluster, [PAYMENT], LATEST)
    finally:
        proxy.refuse(PAYMENTS, 0, ErrorCode.NONE)

    # Then
    assert str(refusal.value) == (
        "the offsets of payments-0 cannot be listed: NOT_LEADER_OR_FOLLOWER, "
        f"for {PATIENCE_MS} ms (--timeout)"
    )
    assert len(time.pauses) > 1


def test_a_partition_without_a_leader_is_waited_for_until_the_timeout() -> None:
    with administered_proxy() as proxy:
        # Given
        time = TimeOfPauses()
        proxy.lose_leader(PAYMENTS, 0)

        # When
        with proxy.client(time.deadline()) as cluster, pytest.raises(ClientFailed) as refusal:
            offsets_of_logs(cluster, [PAYMENT], LATEST)

    # Then
    assert 'The partitions "payments-0" have no leader: LEADER_NOT_AVAILABLE' in str(refusal.value)
    assert len(time.pauses) > 1


def test_nobody_is_asked_about_no_partitions(cluster: ClusterClient) -> None:
    assert offsets_of_logs(cluster, [], LATEST) == {}


def test_the_offset_of_a_partition_that_is_not_there_is_not_found(cluster: ClusterClient) -> None:
    with pytest.raises(NotThere, match='The partitions "orders-2" do not exist'):
        offsets_of_logs(cluster, [Partition("orders", 2)], LATEST)
