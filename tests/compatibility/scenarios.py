"""What a client is asked to do through kproxy, and on which clusters it can be asked."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from tests.compatibility.backings import Backing


class Scenario(StrEnum):
    """One thing that works or does not; what exactly is checked, each client's module says."""

    UNCOMPRESSED = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"
    CLASSIC_GROUP = "classic-group"
    CONSUMER_GROUP = "consumer-group"
    IDEMPOTENCE = "idempotence"
    TRANSACTIONS = "transactions"
    FOLLOWER_FETCHING = "follower-fetching"
    TOPICS = "topics"
    CLUSTER = "cluster"
    CONFIGS = "configs"
    GROUPS = "groups"
    ACLS = "acls"
    LOG_DIRS = "log-dirs"
    REASSIGNMENT = "reassignment"

    # Kafka's own tools, each a scenario of its own.
    KAFKA_TOPICS = "kafka-topics"
    KAFKA_CONFIGS = "kafka-configs"
    KAFKA_CONSUMER_GROUPS = "kafka-consumer-groups"
    KAFKA_GROUPS = "kafka-groups"
    KAFKA_ACLS = "kafka-acls"
    KAFKA_TRANSACTIONS = "kafka-transactions"
    KAFKA_REASSIGN_PARTITIONS = "kafka-reassign-partitions"
    KAFKA_LEADER_ELECTION = "kafka-leader-election"
    KAFKA_LOG_DIRS = "kafka-log-dirs"
    KAFKA_FEATURES = "kafka-features"
    KAFKA_BROKER_API_VERSIONS = "kafka-broker-api-versions"
    KAFKA_CLUSTER = "kafka-cluster"
    KAFKA_GET_OFFSETS = "kafka-get-offsets"
    KAFKA_DELETE_RECORDS = "kafka-delete-records"
    KAFKA_METADATA_QUORUM = "kafka-metadata-quorum"
    KAFKA_CLIENT_METRICS = "kafka-client-metrics"
    KAFKA_PRODUCER_PERF_TEST = "kafka-producer-perf-test"
    KAFKA_CONSUMER_PERF_TEST = "kafka-consumer-perf-test"
    KAFKA_E2E_LATENCY = "kafka-e2e-latency"


COMPRESSIONS: Final = (
    Scenario.UNCOMPRESSED,
    Scenario.GZIP,
    Scenario.SNAPPY,
    Scenario.LZ4,
    Scenario.ZSTD,
)
"""Produce and consume with each compression; the value is Kafka's name of it."""

Condition: TypeAlias = Callable[[Backing], bool]

CONDITIONS: Final[Mapping[Scenario, Condition]] = {
    # KIP-848 is on by default since 4.0.
    Scenario.CONSUMER_GROUP: lambda backing: backing.is_at_least(4),
    # KIP-392 needs a replica to choose.
    Scenario.FOLLOWER_FETCHING: lambda backing: backing.broker_count > 1,
    Scenario.REASSIGNMENT: lambda backing: backing.broker_count > 1,
    Scenario.KAFKA_REASSIGN_PARTITIONS: lambda backing: backing.broker_count > 1,
    # DescribeTransactions and ListTransactions came with 3.0 (KIP-664).
    Scenario.KAFKA_TRANSACTIONS: lambda backing: backing.is_at_least(3),
    # DescribeQuorum is KRaft's own, and brokers answer it since 3.3 (KIP-836).
    Scenario.KAFKA_METADATA_QUORUM: lambda backing: not backing.uses_zookeeper,
    # KIP-714 came with 3.7.
    Scenario.KAFKA_CLIENT_METRICS: lambda backing: backing.is_at_least(3, 7),
}


def is_offered(scenario: Scenario, backing: Backing) -> bool:
    """Whether a cluster offers what the scenario needs; one that is not listed above needs nothing special."""
    condition = CONDITIONS.get(scenario)
    return condition is None or condition(backing)
