"""Who has replicas of partitions, and who leads them, as an operator decides it while brokers live."""

import time
import warnings
from collections.abc import Sequence
from typing import Final

from tests.real_kafka.cluster import KafkaCluster

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # as in `kafka_python_clients`
    from kafka import TopicPartition
    from kafka.admin import KafkaAdminClient

TIMEOUT_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1
PREFERRED: Final = 0
"""Kafka's election type."""


def move_replicas(cluster: KafkaCluster, topics: Sequence[str], node_ids: Sequence[int]) -> None:
    """Give all partitions of `topics` these replicas, the first of which leads; returns when it is so."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers.split(","))
    try:
        partitions = [
            TopicPartition(topic["name"], partition["partition_index"])
            for topic in admin.describe_topics(list(topics))
            for partition in topic["partitions"]
        ]
        refused = admin.alter_partition_reassignments({each: list(node_ids) for each in partitions})
        assert set(refused.values()) == {None}, refused
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while moving := admin.list_partition_reassignments(partitions):
            assert time.monotonic() < deadline, moving
            time.sleep(POLL_SECONDS)
    finally:
        admin.close()
    lead_by_preferred(cluster, topics)


def lead_by_preferred(cluster: KafkaCluster, topics: Sequence[str]) -> None:
    """Let the first replica of each partition of `topics` lead it, as soon as it is in sync."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers.split(","))
    deadline = time.monotonic() + TIMEOUT_SECONDS
    try:
        while late := [each for each in _leaders_and_replicas(admin, topics) if each[0] != each[1][0]]:
            assert time.monotonic() < deadline, late
            admin.elect_leaders(PREFERRED, list(topics), raise_errors=False)
            time.sleep(POLL_SECONDS)
    finally:
        admin.close()


def _leaders_and_replicas(admin: KafkaAdminClient, topics: Sequence[str]) -> list[tuple[int, list[int]]]:
    return [
        (partition["leader_id"], partition["replica_nodes"])
        for topic in admin.describe_topics(list(topics))
        for partition in topic["partitions"]
    ]
