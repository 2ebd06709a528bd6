"""Admin requests of today in front of brokers of yesterday, as conversations on a `ClientSession`."""

from dataclasses import replace

import pytest

from kproxy.errors import PeerViolation
from kproxy.interception.translations import advertised_range
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.worlds.conversing import SERVED, Conversation, joined, request, response

FIND, LIST, DELETE = ApiKey.FIND_COORDINATOR, ApiKey.LIST_GROUPS, ApiKey.DELETE_GROUPS
NO_SHARE_GROUPS: dict[int, tuple[int, int]] = {}
"""With share groups kproxy has a part in ListGroups and DeleteGroups: tests/unit/interception/test_relayed_half.py."""
OLD_BROKER = {18: (0, 3), 3: (0, 9), FIND: (0, 3), LIST: (0, 4), DELETE: (0, 2), 12: (0, 4)}


def in_front_of(
    ranges: dict[int, tuple[int, int]],
    topic_names: dict[bytes, str] | None = None,
    *,
    served: dict[int, tuple[int, int]] = SERVED,
) -> Conversation:
    """Return a conversation in which the client has asked for the versions."""
    conversation = Conversation(topic_names, served=served)
    conversation.client_sends(request(18, 3, 1, ApiVersionsRequest()))
    entries = [
        ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in ranges.items()
    ]
    conversation.broker_sends(response(18, 3, 1, ApiVersionsResponse(api_keys=entries)))
    return conversation


@pytest.mark.parametrize(
    ("api_key", "broker", "advertised"),
    [
        (FIND, (0, 3), (0, 6)),
        (FIND, (0, 0), (0, 0)),
        (LIST, (0, 4), (0, 5)),
        (LIST, (0, 3), (0, 3)),
        (DELETE, (0, 1), (0, 3)),
        (ApiKey.METADATA, (0, 9), (0, 9)),
        (ApiKey.METADATA, (0, 11), (0, 12)),
        (ApiKey.METADATA, (0, 13), (0, 13)),
        (ApiKey.PRODUCE, (0, 9), (0, 9)),
    ],
)
def test_translated_apis_are_advertised_in_kproxys_own_range(
    api_key: int, broker: tuple[int, int], advertised: tuple[int, int]
) -> None:
    assert advertised_range(api_key, *broker) == advertised


def test_coordinators_of_several_groups_are_sought_one_by_one_and_answered_together() -> None:
    conversation = in_front_of(OLD_BROKER)
    to_broker = conversation.client_sends(
        request(FIND, 4, 7, FindCoordinatorRequest(key_type=0, coordinator_keys=["a", "b"]))
    )
    early = conversation.broker_sends(
        response(FIND, 3, 7, FindCoordinatorResponse(node_id=1, host="broker-1", port=9092))
    )

    to_client = conversation.broker_sends(
        response(
            FIND, 3, 7, FindCoordinatorResponse(node_id=-1, port=-1, error_code=15, error_message="none")
        )
    )

    asked = [request(FIND, 3, 7, FindCoordinatorRequest(key=key, key_type=0)) for key in ("a", "b")]
    answer = FindCoordinatorResponse(
        coordinators=[
            Coordinator(key="a", node_id=1, host="kproxy", port=19101, error_message=""),
            Coordinator(key="b", node_id=-1, host="", port=-1, error_code=15, error_message="none"),
        ]
    )
    assert to_broker == b"".join(asked)
    assert early == b""
    assert to_client == response(FIND, 4, 7, answer)


def test_a_search_for_no_coordinator_at_all_is_answered_without_the_broker() -> None:
    conversation = in_front_of(OLD_BROKER)

    to_broker = conversation.client_sends(request(FIND, 5, 7, FindCoordinatorRequest(coordinator_keys=[])))

    assert to_broker == b""
    assert joined(conversation.session.take_for_client()) == response(FIND, 5, 7, FindCoordinatorResponse())


@pytest.mark.parametrize(
    ("types", "listed"), [([], ["g"]), (["Classic"], ["g"]), (["share"], []), (["share", "classic"], ["g"])]
)
def test_groups_are_listed_by_type_where_the_broker_knows_no_types(
    types: list[str], listed: list[str]
) -> None:
    conversation = in_front_of(OLD_BROKER, served=NO_SHARE_GROUPS)
    to_broker = conversation.client_sends(
        request(LIST, 5, 7, ListGroupsRequest(states_filter=["Stable"], types_filter=types))
    )

    to_client = conversation.broker_sends(
        response(LIST, 4, 7, ListGroupsResponse(groups=[ListedGroup("g", "consumer", "Stable")]))
    )

    groups = [ListedGroup(group_id, "consumer", "Stable", "classic") for group_id in listed]
    assert to_broker == request(LIST, 4, 7, ListGroupsRequest(states_filter=["Stable"]))
    assert to_client == response(LIST, 5, 7, ListGroupsResponse(groups=groups))


def test_groups_are_deleted_in_the_version_that_the_broker_has() -> None:
    conversation = in_front_of(OLD_BROKER, served=NO_SHARE_GROUPS)
    deletion = DeleteGroupsRequest(groups_names=["g"])
    to_broker = conversation.client_sends(request(DELETE, 3, 7, deletion))
    result = DeletableGroupResult(group_id="g", error_code=68)

    to_client = conversation.broker_sends(response(DELETE, 2, 7, DeleteGroupsResponse(results=[result])))

    assert to_broker == request(DELETE, 2, 7, deletion)
    assert to_client == response(DELETE, 3, 7, DeleteGroupsResponse(results=[result]))


def test_a_tag_that_nobody_knows_is_left_out_where_the_brokers_version_has_no_tags() -> None:
    conversation = in_front_of({**OLD_BROKER, DELETE: (0, 1)}, served=NO_SHARE_GROUPS)
    deletion = DeleteGroupsRequest(groups_names=["g"], unknown_tagged_fields=((5, b"x"),))

    to_broker = conversation.client_sends(request(DELETE, 2, 7, deletion))

    assert to_broker == request(DELETE, 1, 7, DeleteGroupsRequest(groups_names=["g"]))


def test_without_share_groups_metadata_stays_as_old_as_the_broker() -> None:
    assert advertised_range(ApiKey.METADATA, 0, 11, left_alone={ApiKey.METADATA}) == (0, 11)


def test_topics_asked_for_by_id_are_asked_by_name_where_the_broker_knows_no_such_question() -> None:
    known, unknown = bytes(15) + b"\1", bytes(15) + b"\2"
    conversation = in_front_of({**OLD_BROKER, 3: (0, 11)}, topic_names={known: "orders"})
    by_id = [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in (known, unknown)]
    to_broker = conversation.client_sends(
        request(3, 12, 7, MetadataRequest(topics=[*by_id, MetadataRequestTopic(name="plain")]))
    )
    brokers = [MetadataResponseBroker(node_id=1, host="broker-1", port=9092)]
    orders = MetadataResponseTopic(name="orders", topic_id=known)

    to_client = conversation.broker_sends(
        response(3, 11, 7, MetadataResponse(brokers=brokers, topics=[orders]))
    )

    asked = [MetadataRequestTopic(name="orders"), MetadataRequestTopic(name="plain")]
    _, answer = codecs.decode_response(3, 12, to_client[4:])
    assert isinstance(answer, MetadataResponse)
    assert to_broker == request(3, 11, 7, MetadataRequest(topics=asked))
    assert [(topic.name, topic.topic_id, topic.error_code) for topic in answer.topics] == [
        ("orders", known, 0),
        (None, unknown, 100),
    ]
    assert answer.brokers[0].host == "kproxy"


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topics", [None, [MetadataRequestTopic(name="plain")]])
def test_metadata_of_an_older_broker_becomes_that_of_the_version_asked_for(
    topics: list[MetadataRequestTopic] | None, version: int
) -> None:
    # Given
    conversation = in_front_of({**OLD_BROKER, 3: (0, version)})
    partitions = [MetadataResponsePartition(partition_index=number, leader_id=1) for number in range(3)]
    plain = MetadataResponseTopic(name="plain", topic_id=bytes(15) + b"\1", partitions=partitions)
    broker = MetadataResponseBroker(node_id=1, host="broker-1", port=9092, rack="a")
    told = MetadataResponse(brokers=[broker], cluster_id="c", controller_id=1, topics=[plain])
    conversation.client_sends(request(3, 12, 7, MetadataRequest(topics=topics)))

    # When
    to_client = conversation.broker_sends(response(3, version, 7, told))

    # Then
    address = conversation.addresses.address_of(1)
    assert address is not None
    there = replace(broker, host=address.host, port=address.port)
    assert to_client == response(3, 12, 7, replace(told, brokers=[there]))


def test_a_version_that_the_broker_has_is_not_touched() -> None:
    conversation = in_front_of({LIST: (0, 5)}, served=NO_SHARE_GROUPS)
    listing = request(LIST, 5, 7, ListGroupsRequest(types_filter=["share"]))
    answer = response(
        LIST, 5, 7, ListGroupsResponse(groups=[ListedGroup("g", "consumer", "Stable", "consumer")])
    )

    assert conversation.client_sends(listing) == listing
    assert conversation.broker_sends(answer) == answer


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (request(FIND, 6, 1, FindCoordinatorRequest(coordinator_keys=["a"])), None),
        (codecs.encode_request(3, 12, 1, "c", codecs.request_class(3)()), "version_not_advertised"),
        (b"\x00\x00\x00\x08\x00\x0d\x00\x00\x00\x00\x00\x01", "unknown_api_key"),
        (b"\x00\x00\x00\x08\x00\x0c\x00\x04\x00\x00\x00\x01", None),
        (b"\x00\x00\x00\x08\x00\x20\x00\x04\x00\x00\x00\x01", "unknown_api_key"),
    ],
)
def test_what_was_advertised_on_this_connection_is_enforced(
    data: bytes | list[bytes], reason: str | None
) -> None:
    conversation = in_front_of(OLD_BROKER)
    sent = data if isinstance(data, bytes) else b"".join(data)

    if reason is None:
        conversation.client_sends(sent)
        assert conversation.session.owed_responses == 1
        return
    with pytest.raises(PeerViolation) as refusal:
        conversation.client_sends(sent)
    assert refusal.value.reason == reason
