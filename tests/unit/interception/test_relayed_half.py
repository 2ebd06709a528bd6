"""What is left of a request for the broker, in the version that it has, and the answer in the client's."""

from kproxy.interception.relayed_half import RelayedHalf
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tests.worlds.conversing import joined, request, response

LIST, DELETE, CONFIGS = ApiKey.LIST_GROUPS, ApiKey.DELETE_GROUPS, ApiKey.DESCRIBE_CONFIGS
RESOURCES = ApiKey.LIST_CONFIG_RESOURCES


def half_of(api_key: int, version: int, message: Message, *, broker_version: int) -> RelayedHalf:
    """What is left is all of it, and the broker's answer is the client's."""
    asked = DecodedRequest(api_key, version, 7, "client", message)
    return RelayedHalf(asked, message, broker_version, lambda _topic_id: None, lambda answer: answer)


def answer(half: RelayedHalf, broker_answer: bytes) -> Message:
    """What the client gets when the broker says this."""
    asked = half.request
    frame = memoryview(joined(half.answer(memoryview(broker_answer)[4:])))[4:]
    return codecs.decode_response(asked.api_key, asked.api_version, frame)[1]


def test_a_broker_that_knows_no_types_is_asked_for_states_and_its_groups_are_classic() -> None:
    half = half_of(LIST, 5, ListGroupsRequest(["Stable"], ["classic", "share"]), broker_version=4)

    told = answer(
        half, response(LIST, 4, 7, ListGroupsResponse(groups=[ListedGroup("g", "consumer", "Stable")]))
    )

    assert joined(half.frame()) == request(LIST, 4, 7, ListGroupsRequest(["Stable"]))
    assert told == ListGroupsResponse(groups=[ListedGroup("g", "consumer", "Stable", "classic")])


def test_groups_are_deleted_in_the_version_that_the_broker_has() -> None:
    half = half_of(DELETE, 3, DeleteGroupsRequest(["g"]), broker_version=2)

    told = answer(half, response(DELETE, 2, 7, DeleteGroupsResponse(results=[DeletableGroupResult("g", 68)])))

    assert joined(half.frame()) == request(DELETE, 2, 7, DeleteGroupsRequest(["g"]))
    assert told == DeleteGroupsResponse(results=[DeletableGroupResult("g", 68)])


def test_a_broker_that_lists_client_metrics_alone_is_asked_for_them() -> None:
    half = half_of(RESOURCES, 1, ListConfigResourcesRequest(), broker_version=0)

    told = answer(
        half, response(RESOURCES, 0, 7, ListConfigResourcesResponse(config_resources=[ConfigResource("m")]))
    )

    assert joined(half.frame()) == request(RESOURCES, 0, 7, ListConfigResourcesRequest())
    assert told == ListConfigResourcesResponse(config_resources=[ConfigResource("m", 16)])


def test_a_broker_of_the_same_version_is_asked_as_the_client_asked() -> None:
    half = half_of(LIST, 5, ListGroupsRequest([], ["share"]), broker_version=5)

    told = answer(half, response(LIST, 5, 7, ListGroupsResponse(throttle_time_ms=9)))

    assert joined(half.frame()) == request(LIST, 5, 7, ListGroupsRequest([], ["share"]))
    assert told == ListGroupsResponse(throttle_time_ms=9)


def test_what_is_not_translated_is_asked_in_the_version_of_the_client() -> None:
    half = half_of(CONFIGS, 4, DescribeConfigsRequest(), broker_version=4)

    told = answer(half, response(CONFIGS, 4, 7, DescribeConfigsResponse(throttle_time_ms=9)))

    assert joined(half.frame()) == request(CONFIGS, 4, 7, DescribeConfigsRequest())
    assert told == DescribeConfigsResponse(throttle_time_ms=9)
