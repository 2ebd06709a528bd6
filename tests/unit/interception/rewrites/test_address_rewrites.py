"""The responses that name brokers: only hosts and ports change, and nothing changes when a broker is unknown."""

import pytest

from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses, UnknownBrokers
from kproxy.interception.rewrites.address_rewrites import (
    rewrite_describe_cluster,
    rewrite_find_coordinator,
    rewrite_metadata,
    rewrite_produce,
)
from kproxy.wire.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kproxy.wire.messages.produce_response import NodeEndpoint, ProduceResponse

ADDRESSES = BrokerAddresses({1: AdvertisedAddress("kproxy", 19101), 2: AdvertisedAddress("kproxy", 19102)})


def test_metadata_keeps_racks_ids_and_unknown_tags() -> None:
    tags = ((7, b"kept"),)
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=2, host="b2", port=1, rack="r2", unknown_tagged_fields=tags),
            MetadataResponseBroker(node_id=1, host="b1", port=2),
        ],
        cluster_id="cluster",
        controller_id=2,
        unknown_tagged_fields=tags,
    )

    rewritten = rewrite_metadata(response, ADDRESSES)

    assert rewritten == MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=2, host="kproxy", port=19102, rack="r2", unknown_tagged_fields=tags
            ),
            MetadataResponseBroker(node_id=1, host="kproxy", port=19101),
        ],
        cluster_id="cluster",
        controller_id=2,
        unknown_tagged_fields=tags,
    )


def test_metadata_without_brokers_stays_as_it_is() -> None:
    assert rewrite_metadata(MetadataResponse(cluster_id="c"), ADDRESSES) == MetadataResponse(cluster_id="c")


def test_nothing_is_changed_when_one_broker_is_unknown() -> None:
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=1, host="b1", port=1),
            MetadataResponseBroker(node_id=3, host="b3", port=3),
        ]
    )

    with pytest.raises(UnknownBrokers):
        rewrite_metadata(response, ADDRESSES)

    assert response.brokers[0].host == "b1"


def test_describe_cluster_rewrites_brokers_also_fenced_ones() -> None:
    response = DescribeClusterResponse(
        endpoint_type=1, brokers=[DescribeClusterBroker(broker_id=1, host="b1", port=1, is_fenced=True)]
    )

    rewritten = rewrite_describe_cluster(response, ADDRESSES)

    assert rewritten.brokers == [
        DescribeClusterBroker(broker_id=1, host="kproxy", port=19101, is_fenced=True)
    ]


def test_describe_cluster_leaves_controllers_alone() -> None:
    response = DescribeClusterResponse(
        endpoint_type=2, brokers=[DescribeClusterBroker(broker_id=3000, host="controller", port=9093)]
    )

    rewritten = rewrite_describe_cluster(response, ADDRESSES)

    assert rewritten.brokers == [DescribeClusterBroker(broker_id=3000, host="controller", port=9093)]


def test_the_flat_and_the_batched_coordinator_are_both_rewritten() -> None:
    flat = FindCoordinatorResponse(node_id=1, host="b1", port=1)
    batched = FindCoordinatorResponse(coordinators=[Coordinator(key="g", node_id=2, host="b2", port=2)])

    rewritten = [rewrite_find_coordinator(each, ADDRESSES) for each in (flat, batched)]

    assert rewritten == [
        FindCoordinatorResponse(node_id=1, host="kproxy", port=19101),
        FindCoordinatorResponse(coordinators=[Coordinator(key="g", node_id=2, host="kproxy", port=19102)]),
    ]


def test_a_coordinator_that_was_not_found_stays_nobody() -> None:
    nobody = Coordinator(key="g", node_id=-1, host="", port=-1, error_code=15)

    rewritten = rewrite_find_coordinator(FindCoordinatorResponse(coordinators=[nobody]), ADDRESSES)

    assert rewritten.coordinators == [Coordinator(key="g", node_id=-1, host="", port=-1, error_code=15)]


def test_node_endpoints_of_a_produce_response_lead_to_the_virtual_brokers() -> None:
    response = ProduceResponse(node_endpoints=[NodeEndpoint(node_id=2, host="b2", port=2, rack="r")])

    rewritten = rewrite_produce(response, ADDRESSES)

    assert rewritten.node_endpoints == [NodeEndpoint(node_id=2, host="kproxy", port=19102, rack="r")]
