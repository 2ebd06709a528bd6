"""Waits until every broker knows a topic: clients ask any broker, and one of three may not have heard of it yet."""

import functools
from typing import Final

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.compatibility.clients.probe import eventually
from tests.real_kafka.raw_connection import RawConnection

METADATA_VERSION: Final = 5
"""Old enough for Kafka 2.8, and for 4.x."""


def wait_until_known_everywhere(bootstrap_servers: str, topic: str, partitions: int) -> None:
    """Return when each broker names a leader of every partition, and all replicas are in sync.

    Raises `Unexpected` when that takes too long.
    """
    addresses = _broker_addresses(bootstrap_servers)
    for address in addresses:
        with RawConnection(address) as connection:
            is_known = functools.partial(_is_known, connection, topic, partitions)
            eventually(is_known, f"{address} knows {topic} and its leaders")


def _broker_addresses(bootstrap_servers: str) -> list[str]:
    with RawConnection(bootstrap_servers.partition(",")[0]) as connection:
        return [f"{broker.host}:{broker.port}" for broker in _metadata(connection, []).brokers]


def _is_known(connection: RawConnection, topic: str, partitions: int) -> bool:
    (told,) = _metadata(connection, [topic]).topics
    return len(told.partitions) == partitions and all(
        partition.leader_id >= 0 and len(partition.isr_nodes) == len(partition.replica_nodes)
        for partition in told.partitions
    )


def _metadata(connection: RawConnection, topics: list[str]) -> MetadataResponse:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic) for topic in topics], allow_auto_topic_creation=False
    )
    return connection.ask(ApiKey.METADATA, METADATA_VERSION, request, MetadataResponse)
