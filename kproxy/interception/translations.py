"""APIs that kproxy advertises in its own range, and translates down to what an older broker has.

So that admin tools of today work in front of brokers of yesterday: FindCoordinator with several keys becomes one
request for each, ListGroups by type is filtered here, DeleteGroups 3 differs from 2 only in a message of its response,
ListConfigResources knows client metrics alone.

And so that share consumers do: librdkafka's asks for metadata by topic id, which needs Metadata 12, and ends the whole
process where there is only 11 (Kafka 2.8 and 3.0, whose topics have ids all the same). There ids become names.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.interception.listed_resources import client_metrics_of
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ListConfigResourcesResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic

OWN_HIGHEST: Final[Mapping[int, int]] = {
    ApiKey.FIND_COORDINATOR: 6,
    ApiKey.LIST_GROUPS: 5,
    ApiKey.DELETE_GROUPS: 3,
    ApiKey.METADATA: 12,
    ApiKey.LIST_CONFIG_RESOURCES: 1,
}
"""The highest version advertised of each translated API, whatever the broker's."""

LOWEST_TRANSLATED: Final[Mapping[int, int]] = {
    # Version 0 has no key type.
    ApiKey.FIND_COORDINATOR: 1,
    # Before version 4 a broker does not tell the states of its groups, which the states filter needs.
    ApiKey.LIST_GROUPS: 4,
    ApiKey.DELETE_GROUPS: 0,
    # The first one whose responses have topic ids.
    ApiKey.METADATA: 10,
    ApiKey.LIST_CONFIG_RESOURCES: 0,
}
"""A broker whose highest version is below this one is advertised as it is."""

FIRST_BATCHED: Final = 4
"""From this version on FindCoordinator names several keys."""
_LIKE_OWN_METADATA: Final = 11
"""From this version on a Metadata response has the fields of version 12, which only lets names be null."""
_CLASSIC: Final = "classic"
"""The one type of groups at brokers whose ListGroups knows no types (`Group.GroupType`)."""


TopicName = Callable[[bytes], str | None]
"""The name of the topic with an id, None when no such topic is known."""


@dataclass(frozen=True, slots=True)
class Translation:
    """Requests for the broker, in order, and how their responses become the one that the client gets."""

    requests: Sequence[Message]
    merge: Callable[[Sequence[Message]], Message]
    keeps_answer: bool = False
    """Whether `merge` would return the one response as it is, and its bytes are the same in both versions."""


def advertised_range(
    api_key: int, lowest: int, highest: int, *, left_alone: Collection[int] = ()
) -> tuple[int, int]:
    """Return the versions to advertise of an API, from the broker's; both ends inclusive.

    Of APIs that are `left_alone` they are the broker's.
    """
    is_translated = highest >= LOWEST_TRANSLATED.get(api_key, highest + 1)
    if not is_translated or api_key in left_alone:
        return lowest, highest
    return lowest, max(highest, OWN_HIGHEST[api_key])


def translate(request: Message, broker_version: int, topic_name: TopicName) -> Translation:
    """Return what to ask a broker in `broker_version` for a request of a newer version."""
    match request:
        case MetadataRequest():
            return _metadata(request, topic_name, keeps_answer=broker_version >= _LIKE_OWN_METADATA)
        case FindCoordinatorRequest() if broker_version < FIRST_BATCHED:
            return _one_by_one(request)
        case ListGroupsRequest():
            return _list_groups(request)
        case ListConfigResourcesRequest():
            return _list_client_metrics(request)
        case DeleteGroupsRequest():
            # Made anew: an older version cannot carry tags that nobody knows.
            asked = DeleteGroupsRequest(groups_names=request.groups_names)
            return Translation([asked], lambda responses: responses[0])
        case FindCoordinatorRequest():
            return Translation([request], lambda responses: responses[0])
        case _:
            raise AssertionError(f"{type(request).__name__} is not translated")


def _one_by_one(request: FindCoordinatorRequest) -> Translation:
    keys = request.coordinator_keys
    requests = [FindCoordinatorRequest(key=key, key_type=request.key_type) for key in keys]

    def merge(responses: Sequence[Message]) -> Message:
        merged = FindCoordinatorResponse()
        for key, response in zip(keys, responses, strict=True):
            assert isinstance(response, FindCoordinatorResponse)
            merged.throttle_time_ms = max(merged.throttle_time_ms, response.throttle_time_ms)
            merged.coordinators.append(_coordinator(key, response))
        return merged

    return Translation(requests, merge)


def _coordinator(key: str, response: FindCoordinatorResponse) -> Coordinator:
    return Coordinator(
        key=key,
        node_id=response.node_id,
        host=response.host,
        port=response.port,
        error_code=response.error_code,
        error_message=response.error_message,
    )


def _list_groups(request: ListGroupsRequest) -> Translation:
    types = {name.lower() for name in request.types_filter}

    def merge(responses: Sequence[Message]) -> Message:
        (response,) = responses
        assert isinstance(response, ListGroupsResponse)
        for group in response.groups:
            group.group_type = _CLASSIC
        if types and _CLASSIC not in types:
            response.groups = []
        return response

    return Translation([ListGroupsRequest(states_filter=request.states_filter)], merge)


def _list_client_metrics(request: ListConfigResourcesRequest) -> Translation:
    def merge(responses: Sequence[Message]) -> Message:
        (response,) = responses
        assert isinstance(response, ListConfigResourcesResponse)
        return client_metrics_of(request, response)

    return Translation([ListConfigResourcesRequest()], merge)


def _metadata(request: MetadataRequest, topic_name: TopicName, *, keeps_answer: bool) -> Translation:
    """Ask by name for topics that were asked for by id; an id that nobody knows is answered UNKNOWN_TOPIC_ID."""
    if request.topics is None:
        return Translation([request], lambda responses: responses[0], keeps_answer)
    names = {topic.topic_id: topic_name(topic.topic_id) for topic in request.topics if not topic.name}
    topics = [
        MetadataRequestTopic(name=name)
        for topic in request.topics
        if (name := topic.name or names[topic.topic_id]) is not None
    ]
    unknown = [topic_id for topic_id, name in names.items() if name is None]

    def merge(responses: Sequence[Message]) -> Message:
        (response,) = responses
        assert isinstance(response, MetadataResponse)
        response.topics += [
            MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
            for topic_id in unknown
        ]
        return response

    return Translation([replace(request, topics=topics)], merge, keeps_answer and not unknown)
