"""The responses that name brokers: only hosts and ports change, and nothing changes when a broker is unknown."""

from typing import Final

import pytest

from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses, UnknownBrokers
from kproxy.interception.rewrites.describe_cluster import rewrite_describe_cluster
from kproxy.interception.rewrites.find_coordinator import answer_share_coordinator, rewrite_find_coordinator
from kproxy.interception.rewrites.metadata import rewrite_metadata
from kproxy.interception.rewrites.node_endpoints import rewrite_produce
from kproxy.wire.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
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


SHARE_KEY: Final = "orders:eu:AAAAAAAAAAAAAAAAAAAAAQ:0"


@pytest.mark.parametrize(("version", "error_code"), [(1, 42), (3, 42), (4, 42), (5, 42), (6, 15)])
def test_a_share_coordinator_that_is_not_served_is_answered_by_version(version: int, error_code: int) -> None:
    request = FindCoordinatorRequest(key=SHARE_KEY, key_type=2, coordinator_keys=[SHARE_KEY])

    answer = answer_share_coordinator(request, version, None)

    assert answer is not None
    codes = [answer.error_code] if version < 4 else [entry.error_code for entry in answer.coordinators]
    assert codes == [error_code]


def test_a_share_coordinator_that_is_served_is_found_at_a_virtual_broker() -> None:
    keys = [f"g:AAAAAAAAAAAAAAAAAAAAAQ:{partition}" for partition in range(100)]

    answer = answer_share_coordinator(FindCoordinatorRequest(key_type=2, coordinator_keys=keys), 6, ADDRESSES)

    assert answer is not None
    assert [entry.key for entry in answer.coordinators] == keys
    found = {(entry.error_code, entry.node_id, entry.host, entry.port) for entry in answer.coordinators}
    assert found == {(0, node_id, told.host, told.port) for node_id, told in ADDRESSES.known().items()}


def test_while_no_broker_is_known_there_is_no_share_coordinator() -> None:
    request = FindCoordinatorRequest(key_type=2, coordinator_keys=[SHARE_KEY])

    answer = answer_share_coordinator(request, 6, BrokerAddresses())

    assert answer is not None
    assert [(entry.error_code, entry.node_id) for entry in answer.coordinators] == [(15, -1)]


@pytest.mark.parametrize(
    "key",
    [
        "",
        "g",
        "g:0",
        ":AAAAAAAAAAAAAAAAAAAAAQ:0",
        "g:AAAAAAAAAAAAAAAAAAAAA:0",
        "g:AAAAAAAAAAAAAAAAAAAAAQ:",
        "g:AAAAAAAAAAAAAAAAAAAAAQ:-1",
        "g:AAAAAAAAAAAAAAAAAAAAAQ:2147483648",
        " :AAAAAAAAAAAAAAAAAAAAAQ:0",
    ],
)
def test_a_key_that_names_no_share_partition_is_refused(key: str) -> None:
    answer = answer_share_coordinator(
        FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), 6, ADDRESSES
    )

    assert answer is not None
    assert [entry.error_code for entry in answer.coordinators] == [42]


@pytest.mark.parametrize("key_type", [0, 1])
def test_groups_and_transactions_are_sought_at_the_broker(key_type: int) -> None:
    assert answer_share_coordinator(FindCoordinatorRequest(key="k", key_type=key_type), 6, ADDRESSES) is None


def test_node_endpoints_of_a_produce_response_lead_to_the_virtual_brokers() -> None:
    response = ProduceResponse(node_endpoints=[NodeEndpoint(node_id=2, host="b2", port=2, rack="r")])

    rewritten = rewrite_produce(response, ADDRESSES)

    assert rewritten.node_endpoints == [NodeEndpoint(node_id=2, host="kproxy", port=19102, rack="r")]
