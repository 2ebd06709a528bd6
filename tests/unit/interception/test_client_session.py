"""`ClientSession`: conversations of a client, kproxy and a broker, written out as bytes."""

import struct

import pytest

from kproxy.errors import PeerViolation
from kproxy.interception.broker_addresses import AdvertisedAddress, BackingBroker
from kproxy.interception.calls import Call
from kproxy.interception.keepalive import KEEPALIVE_CORRELATION_ID
from kproxy.interception.response_stream import LARGE_ANSWER_BYTES
from kproxy.interception.routing import Disposition
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.worlds.conversing import (
    Conversation,
    joined,
    opaque_request,
    opaque_response,
    request,
    response,
)

METADATA_RESPONSE = MetadataResponse(
    brokers=[MetadataResponseBroker(node_id=1, host="broker-1", port=9092)], controller_id=1, cluster_id="c"
)


def test_a_large_answer_that_has_to_be_changed_waits_for_a_long_turn_and_what_comes_behind_it_too() -> None:
    # Given
    session = Conversation().session
    search = FindCoordinatorRequest(key_type=0, coordinator_keys=["g" * 100])
    session.receive_from_client(request(10, 6, 1, search) + request(10, 6, 2, search) + opaque_request(3))
    found = Coordinator(key="g" * (LARGE_ANSWER_BYTES // 4), node_id=1, host="broker-1", port=9092)
    answers = [
        response(10, 6, number, FindCoordinatorResponse(coordinators=[found] * 4)) for number in (1, 2)
    ]
    session.receive_from_broker(b"".join(answers) + opaque_response(3))
    left = [(session.owed_responses, session.responses.awaits_turn)]

    # When
    while session.responses.awaits_turn:
        session.go_on()
        left.append((session.owed_responses, session.responses.awaits_turn))

    # Then
    assert left == [(3, True), (2, True), (0, False)]
    passed = joined(session.take_for_client())
    assert passed.count(b"kproxy") == 8
    assert passed.endswith(opaque_response(3))


def test_a_forwarded_exchange_passes_byte_for_byte() -> None:
    conversation = Conversation()

    to_broker = conversation.client_sends(opaque_request(7))
    to_client = conversation.broker_sends(opaque_response(7))

    assert (to_broker, to_client) == (opaque_request(7), opaque_response(7))
    assert conversation.session.owed_responses == 0
    assert conversation.counts == {(12, 4): 1}


def test_metadata_names_the_virtual_brokers() -> None:
    conversation = Conversation()
    conversation.client_sends(request(3, 12, 5, MetadataRequest()))

    to_client = conversation.broker_sends(response(3, 12, 5, METADATA_RESPONSE))

    _, message = codecs.decode_response(3, 12, to_client[4:])
    assert isinstance(message, MetadataResponse)
    assert [(broker.node_id, broker.host, broker.port) for broker in message.brokers] == [
        (1, "kproxy", 19101)
    ]


def test_a_response_that_names_a_new_broker_waits_until_its_port_is_bound() -> None:
    conversation = Conversation()
    newcomer = MetadataResponse(brokers=[MetadataResponseBroker(node_id=2, host="broker-2", port=9093)])
    conversation.client_sends(request(3, 12, 5, MetadataRequest()) + opaque_request(6))
    early = conversation.broker_sends(response(3, 12, 5, newcomer) + opaque_response(6))
    brokers = conversation.session.take_new_brokers()
    conversation.addresses.advertise(2, AdvertisedAddress("kproxy", 19102))

    conversation.session.brokers_are_bound()

    to_client = joined(conversation.session.take_for_client())
    assert early == b""
    assert brokers == (BackingBroker(2, "broker-2", 9093),)
    assert to_client.endswith(opaque_response(6))
    assert b"broker-2" not in to_client


def test_a_share_request_is_handed_over_only_when_everything_before_it_is_answered() -> None:
    conversation = Conversation()
    to_broker = conversation.client_sends(
        opaque_request(1) + request(78, 1, 2, ShareFetchRequest(group_id="g")) + opaque_request(3)
    )
    early = conversation.session.take_call()

    conversation.broker_sends(opaque_response(1))

    call = conversation.session.take_call()
    assert to_broker == opaque_request(1)
    assert early is None
    assert isinstance(call, Call)
    assert call.disposition is Disposition.SERVE
    assert call.request.message.group_id == "g"  # type: ignore[attr-defined]  # a ShareFetchRequest


def test_what_the_client_sent_behind_a_share_request_goes_on_after_its_answer() -> None:
    conversation = Conversation()
    conversation.client_sends(request(78, 1, 2, ShareFetchRequest(group_id="g")) + opaque_request(3))
    call = conversation.session.take_call()
    assert call is not None

    conversation.session.answer(call.slot, [b"answer"])

    assert joined(conversation.session.take_for_client()) == b"answer"
    assert joined(conversation.session.take_for_broker()) == opaque_request(3)


def test_api_versions_shows_what_works_through_kproxy() -> None:
    conversation = Conversation()
    conversation.client_sends(request(18, 4, 1, ApiVersionsRequest()))
    broker = ApiVersionsResponse(api_keys=[])

    to_client = conversation.broker_sends(response(18, 4, 1, broker))

    _, message = codecs.decode_response(18, 4, to_client[4:])
    assert isinstance(message, ApiVersionsResponse)
    assert [(entry.api_key, entry.min_version, entry.max_version) for entry in message.api_keys] == [
        (74, 1, 1),
        (76, 1, 1),
        (78, 1, 2),
        (79, 1, 2),
    ]


def test_api_versions_too_new_is_answered_in_version_0_with_error_35_in_its_turn() -> None:
    conversation = Conversation()
    # Version 5 adds fields behind these; only the head is looked at.
    too_new = request(18, 4, 2, ApiVersionsRequest())[:6] + struct.pack(">h", 99)
    too_new += request(18, 4, 2, ApiVersionsRequest())[8:]
    conversation.client_sends(opaque_request(1) + too_new)
    early = joined(conversation.session.take_for_client())

    to_client = conversation.broker_sends(opaque_response(1))

    assert early == b""
    assert to_client[: len(opaque_response(1))] == opaque_response(1)
    correlation_id, message = codecs.decode_response(18, 0, to_client[len(opaque_response(1)) + 4 :])
    assert isinstance(message, ApiVersionsResponse)
    assert (correlation_id, message.error_code) == (2, 35)
    assert [(entry.api_key, entry.min_version, entry.max_version) for entry in message.api_keys] == [
        (18, 0, 4)
    ]


def test_an_older_brokers_answer_to_api_versions_is_read_in_version_0() -> None:
    conversation = Conversation()
    conversation.client_sends(request(18, 4, 1, ApiVersionsRequest()))
    refusal = ApiVersionsResponse(error_code=35)

    to_client = conversation.broker_sends(response(18, 0, 1, refusal))

    assert to_client == response(18, 0, 1, refusal)


def test_a_call_that_goes_on_to_the_broker_gets_the_merged_answer() -> None:
    conversation = Conversation()
    conversation.client_sends(
        request(32, 4, 1, DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=32)]))
    )
    call = conversation.session.take_call()
    assert call is not None
    conversation.session.pass_on(call.slot, [b"reduced"], lambda frame: [b"merged ", frame])

    to_client = conversation.broker_sends(opaque_response(1))

    assert joined(conversation.session.take_for_broker()) == b"reduced"
    assert to_client == b"merged " + opaque_response(1)[4:]


def test_what_kproxy_and_a_broker_answer_together_is_merged_in_a_long_turn_however_short_the_brokers_part_is() -> (
    None
):
    conversation = Conversation()
    session = conversation.session
    conversation.client_sends(
        request(32, 4, 1, DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=32)]))
    )
    call = session.take_call()
    assert call is not None
    session.pass_on(call.slot, [b"reduced"], lambda frame: [b"merged ", frame])

    session.receive_from_broker(opaque_response(1))
    before = joined(session.take_for_client())
    session.go_on()

    assert before == b""
    assert joined(session.take_for_client()) == b"merged " + opaque_response(1)[4:]


def test_the_answer_to_a_keepalive_is_swallowed() -> None:
    conversation = Conversation()
    was_sent = conversation.session.inject_keepalive()
    sent = joined(conversation.session.take_for_broker())

    to_client = conversation.broker_sends(response(18, 0, KEEPALIVE_CORRELATION_ID, ApiVersionsResponse()))

    assert was_sent
    assert codecs.decode_request(sent[4:]).api_key == ApiKey.API_VERSIONS
    assert to_client == b""
    assert conversation.session.owed_responses == 0


def test_a_twin_that_owes_a_response_gets_no_keepalive() -> None:
    conversation = Conversation()
    conversation.client_sends(opaque_request(1))

    was_sent = conversation.session.inject_keepalive()

    assert not was_sent


def test_a_keepalive_goes_out_while_a_share_request_is_being_answered_and_the_answer_waits_for_it() -> None:
    conversation = Conversation()
    conversation.client_sends(request(78, 1, 2, ShareFetchRequest(group_id="g")))
    call = conversation.session.take_call()
    assert call is not None
    conversation.session.inject_keepalive()
    conversation.session.answer(call.slot, [b"answer"])
    early = joined(conversation.session.take_for_client())

    to_client = conversation.broker_sends(response(18, 0, KEEPALIVE_CORRELATION_ID, ApiVersionsResponse()))

    assert early == b""
    assert to_client == b"answer"


def test_a_malformed_response_that_was_to_be_rewritten_is_refused() -> None:
    conversation = Conversation()
    conversation.client_sends(request(3, 12, 5, MetadataRequest()))

    with pytest.raises(PeerViolation) as refusal:
        conversation.broker_sends(struct.pack(">ii", 8, 5) + b"\xff\xff\xff\xff")

    assert refusal.value.reason == "malformed_response"
