"""No client learns of a backing broker's address: whatever names a broker names a port of kproxy's."""

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Final

import psutil
import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.describe_cluster_request import DescribeClusterRequest
from kproxy.wire.messages.describe_cluster_response import DescribeClusterResponse
from kproxy.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kproxy.wire.messages.produce_response import ProduceResponse
from tests.compatibility.clients.propagation import wait_until_known_everywhere
from tests.in_memory.record_batch_bytes import record_batch
from tests.real_kafka import administration
from tests.real_kafka.java_probe import JavaShareMember
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_THREE_BROKERS,
    KPROXY_WITHOUT_SHARE_GROUPS,
    EndpointsOfSession,
    ShareEndpoint,
)
from tests.real_kafka.share_member import AcknowledgeType
from tests.real_kafka.share_members import ConfluentShareMember

TIMEOUT_SECONDS: Final = 60.0
GROUP: Final = "whose-coordinator-is-sought"
FIRST_FIND_COORDINATOR_VERSION_WITH_SEVERAL_KEYS: Final = 4
FIRST_PRODUCE_VERSION_WITH_ENDPOINTS: Final = 10
FIRST_FETCH_VERSION_WITH_TOPIC_IDS: Final = 13

everywhere = pytest.mark.parametrize(
    "behind", [KPROXY_REFERENCE, KPROXY_WITHOUT_SHARE_GROUPS, KPROXY_OLDEST, KPROXY_THREE_BROKERS]
)


@everywhere
def test_metadata_and_the_cluster_description_name_only_kproxys_ports(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    kproxy, node_ids = kproxy_of(endpoint), set(endpoint.cluster.node_ids)
    topic = endpoint.new_topic(partitions=6)
    admin = AdminClient({"bootstrap.servers": endpoint.bootstrap_servers})

    # When
    described = admin.describe_cluster().result(TIMEOUT_SECONDS)
    listed = admin.list_topics(timeout=TIMEOUT_SECONDS)

    # Then
    expected = kproxy.broker_addresses
    assert {node.id: f"{node.host}:{node.port}" for node in described.nodes} == expected
    assert {node_id: f"{node.host}:{node.port}" for node_id, node in listed.brokers.items()} == expected
    assert {partition.leader for partition in listed.topics[topic].partitions.values()} == node_ids
    assert described.controller.port in kproxy.own_ports


@everywhere
@pytest.mark.parametrize("port", ["bootstrap", "broker"])
def test_every_version_of_every_answer_that_names_brokers_names_only_kproxys_ports(
    share_endpoint: EndpointsOfSession, behind: str, port: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    kproxy = kproxy_of(endpoint)
    _let_group_coordinators_come_up(endpoint)
    address = kproxy.bootstrap_servers if port == "bootstrap" else kproxy.broker_addresses[1]
    with RawConnection(address) as connection:
        asked = [
            (api_key, version)
            for api_key, versions in _advertised_versions(connection).items()
            if api_key in ASKING_FOR_ADDRESSES
            for version in versions
        ]

        # When
        answered = [ASKING_FOR_ADDRESSES[api_key](connection, version) for api_key, version in asked]

    # Then
    assert {api_key for api_key, _ in asked} == set(ASKING_FOR_ADDRESSES)
    assert [addresses - set(kproxy.broker_addresses.values()) for addresses in answered] == [set()] * len(
        asked
    )
    assert all(answered)


def test_whoever_asks_the_wrong_broker_is_told_of_no_broker_but_by_kproxys_port(
    share_endpoint: EndpointsOfSession,
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_THREE_BROKERS)
    kproxy, topic = kproxy_of(endpoint), endpoint.new_topic()
    wait_until_known_everywhere(kproxy.bootstrap_servers, topic, partitions=1)
    metadata = _topic_metadata(kproxy.bootstrap_servers, topic)
    leader = metadata.partitions[0].leader_id
    wrong_broker = next(node_id for node_id in endpoint.cluster.node_ids if node_id != leader)
    with RawConnection(kproxy.broker_addresses[wrong_broker]) as connection:
        advertised = _advertised_versions(connection)

        # When
        produced = [
            connection.ask(ApiKey.PRODUCE, version, _produce_request(metadata), ProduceResponse)
            for version in advertised[ApiKey.PRODUCE]
            if version >= FIRST_PRODUCE_VERSION_WITH_ENDPOINTS
        ]
        fetched = [
            connection.ask(ApiKey.FETCH, version, _fetch_request(metadata), FetchResponse)
            for version in advertised[ApiKey.FETCH]
            if version >= FIRST_FETCH_VERSION_WITH_TOPIC_IDS
        ]

    # Then
    produce_errors = {answer.responses[0].partition_responses[0].error_code for answer in produced}
    fetch_errors = {answer.responses[0].partitions[0].error_code for answer in fetched}
    assert produce_errors == fetch_errors == {ErrorCode.NOT_LEADER_OR_FOLLOWER}
    told = {f"{node.host}:{node.port}" for answer in produced for node in answer.node_endpoints}
    assert told == {kproxy.broker_addresses[leader]}
    assert [answer.node_endpoints for answer in fetched] == [[]] * len(fetched)


@pytest.mark.parametrize("behind", [KPROXY_REFERENCE, KPROXY_WITHOUT_SHARE_GROUPS])
def test_clients_at_work_connect_to_no_port_but_kproxys(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    kproxy, bootstrap_servers = kproxy_of(endpoint), endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(partitions=2), endpoint.new_group()
    administration.produce(bootstrap_servers, topic, "abc")
    with (
        ConfluentShareMember(bootstrap_servers, group=group, topics=[topic]) as confluent,
        JavaShareMember(bootstrap_servers, group=group, topics=[topic]) as java,
    ):
        # When
        for member in (confluent, java):
            member.poll()
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            member.commit()

        # Then
        ports = _connected_ports(confluent.process_id) | _connected_ports(java.process_id)
    assert ports
    assert ports <= kproxy.own_ports


def kproxy_of(endpoint: ShareEndpoint) -> KproxyProcess:
    assert endpoint.kproxy is not None
    return endpoint.kproxy


def _connected_ports(process_id: int) -> set[int]:
    connections = psutil.Process(process_id).net_connections("tcp")
    return {connection.raddr.port for connection in connections if connection.raddr}


def _let_group_coordinators_come_up(endpoint: ShareEndpoint) -> None:
    """Join a consumer group: the first one of a cluster creates the topic that coordinators need."""
    topic = endpoint.new_topic()
    administration.produce(endpoint.bootstrap_servers, topic, "a")
    settings = {
        "bootstrap.servers": endpoint.bootstrap_servers,
        "group.id": GROUP,
        "auto.offset.reset": "earliest",
    }
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe([topic])
        assert consumer.poll(TIMEOUT_SECONDS) is not None


def _advertised_versions(connection: RawConnection) -> dict[int, list[int]]:
    answer = connection.ask(
        ApiKey.API_VERSIONS,
        3,
        ApiVersionsRequest(client_software_name="raw", client_software_version="1"),
        ApiVersionsResponse,
    )
    return {api.api_key: list(range(api.min_version, api.max_version + 1)) for api in answer.api_keys}


def _topic_metadata(address: str, topic: str) -> MetadataResponseTopic:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    with RawConnection(address) as connection:
        [metadata] = connection.ask(ApiKey.METADATA, 12, request, MetadataResponse).topics
    return metadata


def _produce_request(topic: MetadataResponseTopic) -> ProduceRequest:
    """Named both by name (up to version 12) and by id (from 13 on)."""
    records = record_batch(0, [b"for another broker"])
    data = TopicProduceData(
        name=topic.name or "",
        topic_id=topic.topic_id,
        partition_data=[PartitionProduceData(index=0, records=records)],
    )
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])


def _fetch_request(topic: MetadataResponseTopic) -> FetchRequest:
    wanted = FetchPartition(partition=0, partition_max_bytes=1000)
    return FetchRequest(topics=[FetchTopic(topic_id=topic.topic_id, partitions=[wanted])])


def _addresses_in_metadata(connection: RawConnection, version: int) -> set[str]:
    answer = connection.ask(ApiKey.METADATA, version, MetadataRequest(topics=[]), MetadataResponse)
    return {f"{broker.host}:{broker.port}" for broker in answer.brokers}


def _addresses_in_the_cluster(connection: RawConnection, version: int) -> set[str]:
    answer = connection.ask(
        ApiKey.DESCRIBE_CLUSTER, version, DescribeClusterRequest(), DescribeClusterResponse
    )
    return {f"{broker.host}:{broker.port}" for broker in answer.brokers}


def _address_of_a_coordinator(connection: RawConnection, version: int) -> set[str]:
    if version < FIRST_FIND_COORDINATOR_VERSION_WITH_SEVERAL_KEYS:
        request = FindCoordinatorRequest(key=GROUP)
        answer = connection.ask(ApiKey.FIND_COORDINATOR, version, request, FindCoordinatorResponse)
        return {f"{answer.host}:{answer.port}"}
    request = FindCoordinatorRequest(coordinator_keys=[GROUP])
    answer = connection.ask(ApiKey.FIND_COORDINATOR, version, request, FindCoordinatorResponse)
    return {f"{coordinator.host}:{coordinator.port}" for coordinator in answer.coordinators}


ASKING_FOR_ADDRESSES: Final[Mapping[int, Callable[[RawConnection, int], set[str]]]] = {
    ApiKey.METADATA: _addresses_in_metadata,
    ApiKey.DESCRIBE_CLUSTER: _addresses_in_the_cluster,
    ApiKey.FIND_COORDINATOR: _address_of_a_coordinator,
}
