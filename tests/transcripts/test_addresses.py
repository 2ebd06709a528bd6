"""Whose address a client is told of: of a virtual broker whose port is open, or of nobody."""

import pytest

from kproxy.interception.broker_addresses import AdvertisedAddress, BackingBroker
from kproxy.wire.messages.describe_cluster_request import DescribeClusterRequest
from kproxy.wire.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kproxy.wire.messages.produce_request import ProduceRequest
from kproxy.wire.messages.produce_response import NodeEndpoint, ProduceResponse
from tests.transcripts.transcript import BROKER, CHUNK_SIZES, CLIENT, Binds, Refuses, play
from tests.worlds.conversing import (
    Conversation,
    opaque_request,
    opaque_response,
    request,
    response,
)

pytestmark = pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)

ASKED = request(3, 9, 5, MetadataRequest())
SECOND = AdvertisedAddress("kproxy", 19102)
TOPICS = [
    MetadataResponseTopic(
        name="t",
        is_internal=True,
        partitions=[MetadataResponsePartition(leader_id=1, replica_nodes=[1], isr_nodes=[1])],
        topic_authorized_operations=7,
    )
]


def metadata(**fields: object) -> bytes:
    return response(3, 9, 5, MetadataResponse(**fields))  # type: ignore[arg-type]  # by name


def seek(version: int) -> bytes:
    flat, batched = FindCoordinatorRequest(key="g"), FindCoordinatorRequest(coordinator_keys=["g"])
    return request(10, version, 1, flat if version < 4 else batched)


def broker(
    node_id: int, host: str = "broker", port: int = 9092, rack: str | None = None
) -> MetadataResponseBroker:
    return MetadataResponseBroker(node_id=node_id, host=host, port=port, rack=rack)


def test_everything_but_hosts_and_ports_stays_in_metadata(chunk_bytes: int) -> None:
    others = {"cluster_id": "c", "controller_id": 1, "topics": TOPICS, "cluster_authorized_operations": 5}

    play(
        CLIENT >> ASKED,
        BROKER << ASKED,
        BROKER >> metadata(brokers=[broker(1, rack="r1")], **others),
        CLIENT << metadata(brokers=[broker(1, "kproxy", 19101, "r1")], **others),
        chunk_bytes=chunk_bytes,
    )


def test_a_client_is_told_of_a_new_broker_when_its_port_is_open_and_not_before(chunk_bytes: int) -> None:
    sought = request(10, 2, 6, FindCoordinatorRequest(key="g"))
    second = response(10, 2, 6, FindCoordinatorResponse(node_id=2, host="broker", port=9092))

    play(
        CLIENT >> ASKED + sought + opaque_request(7),
        BROKER << ASKED + sought + opaque_request(7),
        BROKER >> metadata(brokers=[broker(1), broker(2)]) + second + opaque_response(7),
        Binds(2, SECOND),
        CLIENT << metadata(brokers=[broker(1, "kproxy", 19101), broker(2, "kproxy", 19102)]),
        CLIENT << response(10, 2, 6, FindCoordinatorResponse(node_id=2, host="kproxy", port=19102)),
        CLIENT << opaque_response(7),
        chunk_bytes=chunk_bytes,
    )


def test_a_broker_in_doubt_is_asked_for_anew_by_the_next_response_that_names_it(chunk_bytes: int) -> None:
    conversation, moved = Conversation(), metadata(brokers=[broker(1, "moved")])
    conversation.addresses.doubt()

    play(
        CLIENT >> ASKED,
        BROKER << ASKED,
        BROKER >> moved,
        Binds(1, AdvertisedAddress("kproxy", 19101)),
        CLIENT << metadata(brokers=[broker(1, "kproxy", 19101)]),
        CLIENT >> ASKED,
        BROKER << ASKED,
        BROKER >> moved,
        CLIENT << metadata(brokers=[broker(1, "kproxy", 19101)]),
        conversation=conversation,
        chunk_bytes=chunk_bytes,
    )


def test_one_new_broker_after_the_other_is_bound_in_the_order_of_the_responses(chunk_bytes: int) -> None:
    play(
        CLIENT >> ASKED * 2,
        BROKER << ASKED * 2,
        BROKER >> metadata(brokers=[broker(2)]) + metadata(brokers=[broker(3)]),
        Binds(2, SECOND),
        CLIENT << metadata(brokers=[broker(2, "kproxy", 19102)]),
        Binds(3, AdvertisedAddress("kproxy", 19103)),
        CLIENT << metadata(brokers=[broker(3, "kproxy", 19103)]),
        chunk_bytes=chunk_bytes,
    )


def test_topics_without_any_broker_are_shown_with_the_brokers_that_are_known(chunk_bytes: int) -> None:
    """A broker that has just started knows none yet; some clients would be off line for good with such an answer."""
    conversation = Conversation()
    conversation.addresses.advertise(2, SECOND)

    play(
        CLIENT >> ASKED,
        BROKER << ASKED,
        BROKER >> metadata(brokers=[], topics=[MetadataResponseTopic(error_code=3, name="t")]),
        CLIENT
        << metadata(
            brokers=[broker(1, "kproxy", 19101), broker(2, "kproxy", 19102)],
            topics=[MetadataResponseTopic(error_code=3, name="t")],
        ),
        conversation=conversation,
        chunk_bytes=chunk_bytes,
    )


@pytest.mark.parametrize(
    "version_and_message",
    [
        (13, MetadataResponse(error_code=129, topics=[MetadataResponseTopic(name="t")])),
        (9, MetadataResponse(cluster_id="c")),
    ],
    ids=["told-to-bootstrap-again", "no-topics-either"],
)
def test_an_answer_without_brokers_that_clients_can_bear_stays_as_it_is(
    version_and_message: tuple[int, MetadataResponse], chunk_bytes: int
) -> None:
    version, message = version_and_message
    asked, answer = request(3, version, 5, MetadataRequest()), response(3, version, 5, message)

    play(
        CLIENT >> asked,
        BROKER << asked,
        BROKER >> answer,
        CLIENT << answer,
        chunk_bytes=chunk_bytes,
    )


@pytest.mark.parametrize("node_id", [-1, -7, -(2**31)])
def test_a_broker_with_a_negative_id_is_nobody_whose_port_could_be_bound(
    node_id: int, chunk_bytes: int
) -> None:
    conversation = Conversation()

    play(
        CLIENT >> ASKED,
        BROKER << ASKED,
        BROKER >> metadata(brokers=[broker(1), broker(node_id)]),
        Refuses("malformed_response"),
        conversation=conversation,
        chunk_bytes=chunk_bytes,
    )

    assert conversation.session.take_new_brokers() == ()


@pytest.mark.parametrize("version", [2, 4])
def test_a_coordinator_that_is_nobody_and_yet_has_a_host_is_refused(version: int, chunk_bytes: int) -> None:
    sought = seek(version)
    flat = FindCoordinatorResponse(node_id=-1, host="broker", port=9092)
    batched = FindCoordinatorResponse(
        coordinators=[Coordinator(key="g", node_id=-1, host="broker", port=9092)]
    )

    play(
        CLIENT >> sought,
        BROKER << sought,
        BROKER >> response(10, version, 1, flat if version < 4 else batched),
        Refuses("malformed_response"),
        chunk_bytes=chunk_bytes,
    )


@pytest.mark.parametrize("version", [0, 2, 4])
def test_a_coordinator_that_was_not_found_stays_nobody(version: int, chunk_bytes: int) -> None:
    sought = seek(version)
    flat = FindCoordinatorResponse(error_code=15, node_id=-1, host="", port=-1)
    batched = FindCoordinatorResponse(
        coordinators=[Coordinator(key="g", error_code=15, node_id=-1, host="", port=-1)]
    )
    answer = response(10, version, 1, flat if version < 4 else batched)

    play(
        CLIENT >> sought,
        BROKER << sought,
        BROKER >> answer,
        CLIENT << answer,
        chunk_bytes=chunk_bytes,
    )


def test_a_coordinator_of_a_flat_answer_may_have_node_id_0(chunk_bytes: int) -> None:
    conversation = Conversation()
    conversation.addresses.advertise(0, SECOND)
    sought = request(10, 0, 1, FindCoordinatorRequest(key="g"))

    play(
        CLIENT >> sought,
        BROKER << sought,
        BROKER >> response(10, 0, 1, FindCoordinatorResponse(node_id=0, host="broker", port=1)),
        CLIENT << response(10, 0, 1, FindCoordinatorResponse(node_id=0, host="kproxy", port=19102)),
        conversation=conversation,
        chunk_bytes=chunk_bytes,
    )


def test_a_coordinator_that_nobody_knew_is_bound_before_its_name_leaves(chunk_bytes: int) -> None:
    conversation = Conversation()
    sought = request(10, 2, 1, FindCoordinatorRequest(key="g"))
    conversation.client_sends(sought)
    conversation.broker_sends(response(10, 2, 1, FindCoordinatorResponse(node_id=7, host="b7", port=9)))

    brokers = conversation.session.take_new_brokers()

    assert brokers == (BackingBroker(7, "b7", 9),)
    assert chunk_bytes


def test_the_address_of_a_new_leader_in_a_produce_response_is_that_of_its_virtual_broker(
    chunk_bytes: int,
) -> None:
    asked = request(0, 10, 1, ProduceRequest(acks=-1))

    def answer(host: str, port: int) -> bytes:
        endpoints = [NodeEndpoint(node_id=1, host=host, port=port, rack="r")]
        return response(0, 10, 1, ProduceResponse(node_endpoints=endpoints))

    play(
        CLIENT >> asked,
        BROKER << asked,
        BROKER >> answer("broker", 9092),
        CLIENT << answer("kproxy", 19101),
        chunk_bytes=chunk_bytes,
    )


def test_leaders_and_preferred_replicas_in_a_fetch_response_pass_because_node_ids_stay(
    chunk_bytes: int,
) -> None:
    asked = request(1, 13, 1, FetchRequest())
    partition = PartitionData(
        error_code=6, current_leader=LeaderIdAndEpoch(leader_id=2, leader_epoch=3), preferred_read_replica=3
    )
    answer = response(1, 13, 1, FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])]))

    play(
        CLIENT >> asked,
        BROKER << asked,
        BROKER >> answer,
        CLIENT << answer,
        chunk_bytes=chunk_bytes,
    )


def test_fenced_brokers_have_addresses_and_the_refusal_to_name_controllers_passes(chunk_bytes: int) -> None:
    asked = request(60, 2, 1, DescribeClusterRequest(endpoint_type=1, include_fenced_brokers=True))
    controllers = request(60, 2, 2, DescribeClusterRequest(endpoint_type=2))
    refusal = response(60, 2, 2, DescribeClusterResponse(error_code=114, endpoint_type=2))

    def answer(host: str, port: int) -> bytes:
        brokers = [DescribeClusterBroker(broker_id=2, host=host, port=port, is_fenced=True)]
        return response(60, 2, 1, DescribeClusterResponse(brokers=brokers))

    play(
        CLIENT >> asked + controllers,
        BROKER << asked + controllers,
        BROKER >> answer("broker", 9092) + refusal,
        Binds(2, SECOND),
        CLIENT << answer("kproxy", 19102) + refusal,
        chunk_bytes=chunk_bytes,
    )
