"""What kproxy asks a broker on a client's own connection to learn what that client may do, and what the answers tell.

| to learn | it asks | answered by |
|---|---|---|
| READ on a group | Heartbeat of no member, generation -1 | any broker; it changes nothing |
| DESCRIBE_CONFIGS on groups | DescribeConfigs of one key | any broker from Kafka 3.8 on, else as the next line |
| ALTER_CONFIGS on groups | IncrementalAlterConfigs of nothing, to be validated only | the same |
| other operations on groups | DescribeGroups with authorized operations | their coordinator; of DESCRIBE any broker |
| READ on topics | Fetch of partition -1, not waiting | any broker |
| other operations on topics | Metadata with authorized operations, creating none | any broker |
| operations on the cluster | Metadata without topics, with authorized operations | any broker, to who may DESCRIBE it |

All in versions that every broker from Kafka 2.3 on has.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kproxy.interception.response_slots import Buffers
from kproxy.security import authorized_operations
from kproxy.security.acls import CLUSTER_NAME, AclOperation, ResourceType
from kproxy.security.authorized_operations import ToldOperations
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.describe_groups_response import DescribeGroupsResponse
from kproxy.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse

RIGHTS_CORRELATION_ID: Final = 0x6B70787A
"""Of every question: answers come in order, and a client's requests are never under way beside one."""

RIGHTS_CLIENT_ID: Final = "kproxy-rights"

LONGEST_NAME_BYTES: Final = 32_767
"""A broker closes the connection over a longer string."""

_METADATA_VERSION: Final = 8
_FETCH_VERSION: Final = 4
_DESCRIBE_GROUPS_VERSION: Final = 3
_HEARTBEAT_VERSION: Final = 3
_DESCRIBE_CONFIGS_VERSION: Final = 1
_ALTER_CONFIGS_VERSION: Final = 0
_GROUP_RESOURCE: Final = 32
_ANY_KEY: Final = "consumer.session.timeout.ms"
_TOPICS_AT_ONCE: Final = 50
"""An answer has every partition of each."""
_FETCHED_AT_ONCE: Final = 500
_GROUPS_AT_ONCE: Final = 100


class Kind(Enum):
    """What one question tells of."""

    TOPIC = "operations on a topic"
    FETCHING = "READ on a topic"
    CLUSTER = "operations on the cluster"
    GROUP = "operations on a group, as its coordinator knows them"
    READING = "READ on a group"
    DESCRIBING_CONFIGS = "DESCRIBE_CONFIGS on a group"
    ALTERING_CONFIGS = "ALTER_CONFIGS on a group"


_OF_GROUPS: Final[Mapping[int, tuple[Kind, ...]]] = {
    AclOperation.READ: (Kind.READING, Kind.GROUP),
    AclOperation.DESCRIBE_CONFIGS: (Kind.DESCRIBING_CONFIGS, Kind.GROUP),
    AclOperation.ALTER_CONFIGS: (Kind.ALTERING_CONFIGS, Kind.GROUP),
}
"""What tells of an operation on groups, the best first; of all others `Kind.GROUP` alone does."""

_OF_TOPICS: Final[Mapping[int, tuple[Kind, ...]]] = {AclOperation.READ: (Kind.FETCHING, Kind.TOPIC)}
"""The same of topics: Metadata has every partition of each, and who fetches is asked about every few seconds."""


Told = Mapping[str, ToldOperations]
"""What was told, by the name of the resource; a name may be left out."""


@dataclass(frozen=True, slots=True)
class RightsQuestion:
    """One request, about `names`; `told_in` is given the answer."""

    api_key: int
    api_version: int
    message: Message
    names: Sequence[str]
    told_in: Callable[[Message], Told]

    def frame(self) -> Buffers:
        """Return the request, with its length."""
        return codecs.encode_request(
            self.api_key, self.api_version, RIGHTS_CORRELATION_ID, RIGHTS_CLIENT_ID, self.message
        )

    def read(self, frame: bytes) -> Told:
        """Return what the answer in `frame`, without its length, tells. Raises MalformedMessage."""
        _, message = codecs.decode_response(self.api_key, self.api_version, frame)
        return self.told_in(message)


def kinds_telling(operation: int, resource_type: int) -> tuple[Kind, ...]:
    """Return what tells of `operation`, what is asked for it first; nothing where no broker tells it."""
    match resource_type:
        case ResourceType.TOPIC:
            return _OF_TOPICS.get(operation, (Kind.TOPIC,))
        case ResourceType.CLUSTER:
            return (Kind.CLUSTER,)
        case ResourceType.GROUP:
            return _OF_GROUPS.get(operation, (Kind.GROUP,))
        case _:
            return ()


def questions(kind: Kind, names: Sequence[str]) -> Iterator[RightsQuestion]:
    """Yield what to ask about `names`; nothing about those that no request can hold."""
    askable = [name for name in names if len(name.encode()) <= LONGEST_NAME_BYTES]
    at_once, make = _MAKERS[kind]
    for begin in range(0, len(askable), at_once):
        yield make(askable[begin : begin + at_once])


def _about_topics(names: Sequence[str]) -> RightsQuestion:
    request = MetadataRequest(
        [MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    return RightsQuestion(ApiKey.METADATA, _METADATA_VERSION, request, names, _topics_in)


def _topics_in(answer: Message) -> Told:
    assert isinstance(answer, MetadataResponse)
    of_topic = authorized_operations.of_topic
    return {
        topic.name: of_topic(topic.error_code, topic.topic_authorized_operations)
        for topic in answer.topics
        if topic.name is not None
    }


def _about_fetching(names: Sequence[str]) -> RightsQuestion:
    nowhere = FetchPartition(partition=-1, fetch_offset=0, partition_max_bytes=1)
    request = FetchRequest(max_bytes=1, topics=[FetchTopic(name, partitions=[nowhere]) for name in names])
    return RightsQuestion(ApiKey.FETCH, _FETCH_VERSION, request, names, _fetched_in)


def _fetched_in(answer: Message) -> Told:
    assert isinstance(answer, FetchResponse)
    return {
        topic.topic: authorized_operations.of_fetching(topic.partitions[0].error_code)
        for topic in answer.responses
        if topic.partitions
    }


def _about_cluster(names: Sequence[str]) -> RightsQuestion:
    request = MetadataRequest([], allow_auto_topic_creation=False, include_cluster_authorized_operations=True)
    return RightsQuestion(ApiKey.METADATA, _METADATA_VERSION, request, names, _cluster_in)


def _cluster_in(answer: Message) -> Told:
    assert isinstance(answer, MetadataResponse)
    return {CLUSTER_NAME: authorized_operations.of_cluster(answer.cluster_authorized_operations)}


def _about_groups(names: Sequence[str]) -> RightsQuestion:
    request = DescribeGroupsRequest(list(names), include_authorized_operations=True)
    return RightsQuestion(ApiKey.DESCRIBE_GROUPS, _DESCRIBE_GROUPS_VERSION, request, names, _groups_in)


def _groups_in(answer: Message) -> Told:
    assert isinstance(answer, DescribeGroupsResponse)
    of_group = authorized_operations.of_described_group
    return {
        group.group_id: of_group(group.error_code, group.authorized_operations) for group in answer.groups
    }


def _about_reading(names: Sequence[str]) -> RightsQuestion:
    (name,) = names

    def told_in(answer: Message) -> Told:
        assert isinstance(answer, HeartbeatResponse)
        return {name: authorized_operations.of_reading(answer.error_code)}

    request = HeartbeatRequest(name, generation_id=-1, member_id="")
    return RightsQuestion(ApiKey.HEARTBEAT, _HEARTBEAT_VERSION, request, names, told_in)


def _about_describing(names: Sequence[str]) -> RightsQuestion:
    request = DescribeConfigsRequest(
        [DescribeConfigsResource(_GROUP_RESOURCE, name, [_ANY_KEY]) for name in names]
    )
    return RightsQuestion(
        ApiKey.DESCRIBE_CONFIGS, _DESCRIBE_CONFIGS_VERSION, request, names, _described_configs_in
    )


def _described_configs_in(answer: Message) -> Told:
    assert isinstance(answer, DescribeConfigsResponse)
    return {
        result.resource_name: authorized_operations.of_configs(
            AclOperation.DESCRIBE_CONFIGS, result.error_code
        )
        for result in answer.results
    }


def _about_altering(names: Sequence[str]) -> RightsQuestion:
    request = IncrementalAlterConfigsRequest(
        [AlterConfigsResource(_GROUP_RESOURCE, name, []) for name in names], validate_only=True
    )
    return RightsQuestion(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, _ALTER_CONFIGS_VERSION, request, names, _altered_configs_in
    )


def _altered_configs_in(answer: Message) -> Told:
    assert isinstance(answer, IncrementalAlterConfigsResponse)
    return {
        result.resource_name: authorized_operations.of_configs(AclOperation.ALTER_CONFIGS, result.error_code)
        for result in answer.responses
    }


_MAKERS: Final[Mapping[Kind, tuple[int, Callable[[Sequence[str]], RightsQuestion]]]] = {
    Kind.TOPIC: (_TOPICS_AT_ONCE, _about_topics),
    Kind.FETCHING: (_FETCHED_AT_ONCE, _about_fetching),
    Kind.CLUSTER: (1, _about_cluster),
    Kind.GROUP: (_GROUPS_AT_ONCE, _about_groups),
    Kind.READING: (1, _about_reading),
    Kind.DESCRIBING_CONFIGS: (_GROUPS_AT_ONCE, _about_describing),
    Kind.ALTERING_CONFIGS: (_GROUPS_AT_ONCE, _about_altering),
}
"""About how many names one question is at most, and what it is."""
