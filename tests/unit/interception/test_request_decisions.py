"""What becomes of requests that are held whole, in conversations of a client, kproxy and a broker."""

import struct
from typing import Any

import pytest

from kproxy.errors import PeerViolation
from kproxy.interception.calls import Call
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.interception.request_decisions import (
    MAX_CLOSED_BYTES,
    MAX_COORDINATOR_KEYS,
)
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kproxy.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kproxy.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kproxy.wire.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from kproxy.wire.messages.streams_group_heartbeat_request import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)
from tests.worlds.conversing import SERVED, Conversation, joined, request, response


def test_a_coordinator_of_a_group_is_sought_at_the_broker_and_named_by_its_virtual_address() -> None:
    conversation = Conversation()
    sought = request(10, 2, 1, FindCoordinatorRequest(key="group", key_type=0))

    to_broker = conversation.client_sends(sought)
    to_client = conversation.broker_sends(
        response(10, 2, 1, FindCoordinatorResponse(node_id=1, host="broker-1", port=9092))
    )

    assert to_broker == sought
    assert to_client == response(10, 2, 1, FindCoordinatorResponse(node_id=1, host="kproxy", port=19101))


def test_as_many_coordinators_as_are_served_may_be_sought_at_once() -> None:
    # Given
    talk = Conversation()
    keys = [f"{number}" for number in range(MAX_COORDINATOR_KEYS)]
    search = request(10, 6, 1, FindCoordinatorRequest(key_type=0, coordinator_keys=keys))

    # When
    passed = talk.client_sends(search)

    # Then
    assert passed == search


@pytest.mark.parametrize(
    ("key_type", "broker_version", "most"),
    [(2, 6, 2_000), (2, 3, 2_000), (0, 3, 5_000)],
    ids=["answered here", "answered here before an old broker", "asked one by one"],
)
def test_fewer_coordinators_may_be_sought_where_kproxy_makes_something_of_each_key(
    key_type: int, broker_version: int, most: int
) -> None:
    # Given
    talk = Conversation()
    talk.client_sends(request(18, 0, 1, ApiVersionsRequest()))
    talk.broker_sends(response(18, 0, 1, ApiVersionsResponse(api_keys=[ApiVersion(10, 0, broker_version)])))

    def search(count: int) -> bytes:
        keys = [str(number) for number in range(count)]
        return request(10, 6, 1, FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys))

    # When
    talk.client_sends(search(most))

    # Then
    with pytest.raises(PeerViolation, match=f"coordinators searched for: {most + 1}; {most} are served"):
        talk.client_sends(search(most + 1))


@pytest.mark.parametrize(
    ("api_key", "message"),
    [
        (11, JoinGroupRequest("workers", protocols=[JoinGroupRequestProtocol("p", b"metadata")])),
        (68, ConsumerGroupHeartbeatRequest("workers", subscribed_topic_names=["orders"])),
        (88, StreamsGroupHeartbeatRequest("workers", topology=Topology(subtopologies=[Subtopology("s")]))),
    ],
    ids=["JoinGroup", "ConsumerGroupHeartbeat", "StreamsGroupHeartbeat"],
)
def test_what_is_refused_for_its_group_is_not_decoded_behind_the_group_id(
    api_key: int, message: Message
) -> None:
    # Given
    talk = Conversation(share_group_ids=("workers",))
    version = codecs.valid_versions(api_key)[1]

    # When
    passed = talk.client_sends(request(api_key, version, 7, message))

    # Then
    call = talk.session.take_call()
    assert passed == b""
    assert isinstance(call, Call)
    assert call.request == DecodedRequest(api_key, version, 7, "client", type(message)(group_id="workers"))


def test_a_request_with_a_header_that_cannot_be_is_malformed_although_its_group_is_known() -> None:
    talk = Conversation(share_group_ids=("workers",))
    frame = request(68, 1, 7, ConsumerGroupHeartbeatRequest("workers")).replace(
        b"client", b"\xff\xff\xff\xff\xff\xff"
    )

    with pytest.raises(PeerViolation, match="API key 68 version 1: RequestHeader v2"):
        talk.client_sends(frame)


def test_a_share_coordinator_is_never_sought_at_the_broker() -> None:
    conversation = Conversation()
    key = "g:AAAAAAAAAAAAAAAAAAAAAQ:0"

    to_broker = conversation.client_sends(
        request(10, 6, 1, FindCoordinatorRequest(key_type=2, coordinator_keys=[key]))
    )

    _, message = codecs.decode_response(10, 6, joined(conversation.session.take_for_client())[4:])
    assert isinstance(message, FindCoordinatorResponse)
    assert to_broker == b""
    assert [(entry.key, entry.error_code, entry.node_id) for entry in message.coordinators] == [(key, 15, -1)]


@pytest.mark.parametrize(("version", "is_asked_for_rights"), [(5, False), (6, True)])
def test_where_a_share_coordinator_is_served_it_is_found_for_who_may_ask(
    version: int, *, is_asked_for_rights: bool
) -> None:
    # Given
    conversation = Conversation(served={**SERVED, 84: (0, 0)})
    key = "g:AAAAAAAAAAAAAAAAAAAAAQ:0"
    search = FindCoordinatorRequest(key_type=2, coordinator_keys=[key])

    # When
    to_broker = conversation.client_sends(request(10, version, 1, search))

    # Then: no version before 6 has share coordinators, and everybody may know that
    assert to_broker == b""
    call = conversation.session.take_call()
    assert (call is not None) is is_asked_for_rights
    if call is None:
        return
    assert isinstance(call, Call)
    assert call.request.message == search
    assert isinstance(call.answer, FindCoordinatorResponse)
    assert [(each.key, each.node_id, each.port) for each in call.answer.coordinators] == [(key, 1, 19101)]


@pytest.fixture
def decodes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of requests that were decoded."""
    lengths: list[int] = []
    decode_request = codecs.decode_request

    def note(frame: memoryview) -> DecodedRequest:
        lengths.append(len(frame))
        return decode_request(frame)

    monkeypatch.setattr(codecs, "decode_request", note)
    return lengths


def test_a_search_for_other_coordinators_goes_on_without_being_decoded(decodes: list[int]) -> None:
    # Given
    talk = Conversation()
    keys = [f"{number}" for number in range(MAX_COORDINATOR_KEYS)]
    search = request(10, 6, 1, FindCoordinatorRequest(key_type=1, coordinator_keys=keys))
    too_many = request(10, 6, 2, FindCoordinatorRequest(key_type=1, coordinator_keys=[*keys, "one more"]))

    # When
    passed = talk.client_sends(search)
    with pytest.raises(PeerViolation, match="coordinators searched for: 30001; 30000 are served"):
        talk.client_sends(too_many)

    # Then
    assert passed == search
    assert decodes == []


@pytest.mark.parametrize(
    ("api_key", "version", "message"),
    [
        (11, 5, JoinGroupRequest(group_id="orders", protocols=[JoinGroupRequestProtocol(name="range")])),
        (11, 9, JoinGroupRequest(group_id="orders", protocols=[JoinGroupRequestProtocol(name="range")])),
        (68, 1, ConsumerGroupHeartbeatRequest(group_id="orders", subscribed_topic_names=["paid"])),
        (
            88,
            0,
            StreamsGroupHeartbeatRequest(
                group_id="orders", topology=Topology(subtopologies=[Subtopology()] * 1_000)
            ),
        ),
    ],
)
def test_what_is_refused_to_a_share_group_is_not_decoded(
    api_key: int, version: int, message: Any, decodes: list[int]
) -> None:
    # Given
    talk = Conversation(share_group_ids={"orders"})

    # When
    passed = talk.client_sends(request(api_key, version, 7, message))

    # Then
    call = talk.session.take_call()
    assert isinstance(call, Call)
    assert call.request == DecodedRequest(api_key, version, 7, "client", type(message)(group_id="orders"))
    assert (passed, decodes) == (b"", [])


def test_configs_of_topics_pass_and_those_of_groups_are_handed_over() -> None:
    conversation = Conversation()
    topics = request(32, 4, 1, DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=2)]))
    groups = request(32, 4, 2, DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=32)]))

    to_broker = conversation.client_sends(topics + groups)

    assert to_broker == topics
    assert conversation.session.owed_responses == 2


@pytest.mark.parametrize(
    ("api_key", "version"),
    [(78, 1), (10, 6), (32, 4)],
    ids=["ShareFetch", "FindCoordinator", "DescribeConfigs"],
)
def test_a_malformed_body_of_a_held_request_is_refused(api_key: int, version: int) -> None:
    conversation = Conversation()
    garbage = struct.pack(">ihhi", 12, api_key, version, 1) + b"\xff\xff\xff\xff"

    with pytest.raises(PeerViolation) as refusal:
        conversation.client_sends(garbage)

    assert refusal.value.reason == "malformed_request"


# ------------------------------------------------ what may touch topics of the state log

STATE = "__kproxy_share_state"


def created(count: int, *names: str) -> bytes:
    topics = [CreatableTopic(f"{number:0>200}", 1, 1) for number in range(count)]
    topics += [CreatableTopic(name, 1, 1) for name in names]
    return request(19, 7, 1, CreateTopicsRequest(topics))


def a_conversation_with_a_closed_topic() -> Conversation:
    conversation = Conversation(max_request_bytes=MAX_CLOSED_BYTES * 4)
    conversation.routes.closed_topics = ClosedTopics([STATE])
    return conversation


def test_a_large_request_that_may_touch_the_state_log_is_not_looked_into() -> None:
    # Given
    talk = a_conversation_with_a_closed_topic()
    refused: list[int] = []
    talk.routes.closed_topics.on_refused = refused.append
    large = created(MAX_CLOSED_BYTES // 200, STATE)

    # When
    with pytest.raises(PeerViolation, match="up to 262144 are looked into"):
        talk.client_sends(large)

    # Then
    assert refused == [19]


def test_other_large_requests_pass_and_smaller_ones_are_answered() -> None:
    large = created(MAX_CLOSED_BYTES // 200)
    assert a_conversation_with_a_closed_topic().client_sends(large) == large

    talk = a_conversation_with_a_closed_topic()
    left = talk.client_sends(created(1_000, STATE))
    assert 0 < len(left) < MAX_CLOSED_BYTES
    assert STATE.encode() not in left


def test_a_large_commit_for_a_share_group_is_not_looked_into_and_one_for_another_group_passes() -> None:
    # Given
    topics = [OffsetCommitRequestTopic(f"{number:0>200}") for number in range(MAX_CLOSED_BYTES // 200)]
    to_share_group, to_another = (
        request(ApiKey.OFFSET_COMMIT, 8, 1, OffsetCommitRequest(group_id, topics=topics))
        for group_id in ("workers", "others")
    )
    talk = Conversation(share_group_ids={"workers"}, max_request_bytes=MAX_CLOSED_BYTES * 4)
    assert talk.client_sends(to_another) == to_another

    # When
    with pytest.raises(PeerViolation, match="of a share group; up to 262144 are looked into"):
        talk.client_sends(to_share_group)


def test_a_large_commit_for_a_share_group_is_refused_without_being_decoded() -> None:
    # Given
    commit = request(ApiKey.OFFSET_COMMIT, 8, 1, OffsetCommitRequest("workers"))[4:-8]
    undecodable = commit + b"\xff" * MAX_CLOSED_BYTES
    talk = Conversation(share_group_ids={"workers"}, max_request_bytes=MAX_CLOSED_BYTES * 4)

    # When
    with pytest.raises(PeerViolation, match="are looked into"):
        talk.client_sends(struct.pack(">i", len(undecodable)) + undecodable)
