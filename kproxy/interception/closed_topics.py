"""Topics of the backing cluster that clients must not touch: those in which kproxy keeps its own state.

A request that names one is answered as for a topic without rights (TOPIC_AUTHORIZATION_FAILED), topic by topic; what
else it asks for goes to the broker; transactions have `closed_transactions`. What only tells of topics passes, and so
does what is asked of the cluster about all of them: elections of leaders, reassignments of replicas, log directories.
`closed_topic_search` finds them; a large Produce that turns out to name one when a
part of it has gone out ends the connection: the broker drops what is not whole.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import PeerViolation
from kproxy.interception.listed_resources import GROUP_RESOURCE_TYPE
from kproxy.interception.translations import Translation
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages import alter_configs_response as legacy_response
from kproxy.wire.messages import create_partitions_response as creation
from kproxy.wire.messages import create_topics_response as made
from kproxy.wire.messages import delete_records_response as truncation
from kproxy.wire.messages import delete_topics_response as deletion
from kproxy.wire.messages import fetch_response as fetched
from kproxy.wire.messages import incremental_alter_configs_response as alter_response
from kproxy.wire.messages import list_offsets_response as offsets
from kproxy.wire.messages import offset_for_leader_epoch_response as epochs
from kproxy.wire.messages import produce_response as produced
from kproxy.wire.produce_acks import NO_ACKS

TOPIC_RESOURCE: Final = 2
_TELLING_BYTES: Final = 8
"""What all names begin with is looked for in their stead if it is no shorter."""
_FIRST_WITH_IDS: Final[Mapping[int, int]] = {
    ApiKey.PRODUCE: 13,
    ApiKey.FETCH: 13,
    ApiKey.DELETE_TOPICS: 6,
}
"""The first version that names topics by their ids."""
DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
WORDS: Final = "Topic authorization failed."

REASON: Final = "state_topic"
"""Of connections that end because of such a topic."""


class ClosedTopics:
    """The closed topics by name, and by id as far as ids are known. None are closed unless it is told of some.

    Beside them the groups that are closed as they are: see `closed_groups`. `on_refused` is told of each request that
    named one of the topics, by its API key, `on_group_refused` of those that named a group; they must not raise.
    """

    __slots__ = (
        "_names",
        "_sought_ids",
        "_sought_names",
        "groups",
        "ids",
        "names",
        "on_group_refused",
        "on_refused",
        "patterns",
    )

    def __init__(self, names: Iterable[str] = (), groups: Iterable[str] = ()) -> None:
        self.names = frozenset(names)
        self.groups = frozenset(groups)
        self.ids: frozenset[bytes] = frozenset()
        self.on_refused: Callable[[int], None] = lambda _: None
        self.on_group_refused: Callable[[int], None] = lambda _: None
        self._names = tuple(sorted(name.encode() for name in self.names))
        self.patterns: tuple[bytes, ...] = self._names
        """Their names and ids, as they stand in requests."""
        beginning = _common_beginning(self._names)
        self._sought_names = (beginning,) if len(beginning) >= _TELLING_BYTES else self._names
        self._sought_ids: tuple[bytes, ...] = ()

    def know(self, ids: Iterable[bytes]) -> None:
        """Close the topics with these ids as well; of topics that were created anew, say."""
        self.ids |= frozenset(ids)
        self._sought_ids = tuple(sorted(self.ids))
        self.patterns = (*self._names, *self._sought_ids)

    def may_be_in(self, data: bytes | memoryview, api_key: int, api_version: int) -> bool:
        """Tell whether `data`, a request, contains the name or the id of one, and be it in a record."""
        content = bytes(data)
        sought = self._sought_names
        if (first := _FIRST_WITH_IDS.get(api_key)) is not None and api_version >= first:
            # A request to delete topics has names beside ids.
            sought = self.patterns if api_key == ApiKey.DELETE_TOPICS else self._sought_ids
        for pattern in sought:  # noqa: SIM110 - asked of every Fetch, and a generator takes twice the time
            if pattern in content:
                return True
        return False

    def has_transaction(self, transactional_id: str) -> bool:
        """Tell whether a slot of the state log is claimed under an id: the name of a topic, and the slot's number."""
        name, _, slot = transactional_id.rpartition("-")
        return name in self.names and slot.isdecimal()

    def has(self, topic: Any) -> bool:
        """Tell whether an element of a request, or a name, is about one of them."""
        if isinstance(topic, str):
            return topic in self.names
        name = getattr(topic, "name", None) or getattr(topic, "topic", None)
        return name in self.names or getattr(topic, "topic_id", None) in self.ids


def _common_beginning(names: Sequence[bytes]) -> bytes:
    """Return what all `names`, which are sorted, begin with."""
    if not names:
        return b""
    first, last = names[0], names[-1]
    length = next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), None
    )
    return first[:length]


@dataclass(frozen=True, slots=True)
class _Api:
    """Where the topics of a request are, and of its response; what is answered about a closed one."""

    topics: str
    answers: str
    response: type[Message]
    deny: Callable[[Any], Any]


def _produced(topic: Any) -> Any:
    parts = [
        produced.PartitionProduceResponse(part.index, DENIED, -1, error_message=WORDS)
        for part in topic.partition_data
    ]
    return produced.TopicProduceResponse(topic.name, topic.topic_id, parts)


def _fetched(topic: Any) -> Any:
    parts = [
        fetched.PartitionData(part.partition, DENIED, -1, aborted_transactions=[], records=b"")
        for part in topic.partitions
    ]
    return fetched.FetchableTopicResponse(topic.topic, topic.topic_id, parts)


def _listed(topic: Any) -> Any:
    parts = [offsets.ListOffsetsPartitionResponse(part.partition_index, DENIED) for part in topic.partitions]
    return offsets.ListOffsetsTopicResponse(topic.name, parts)


def _ended(topic: Any) -> Any:
    parts = [epochs.EpochEndOffset(DENIED, part.partition) for part in topic.partitions]
    return epochs.OffsetForLeaderTopicResult(topic.topic, parts)


def _truncated(topic: Any) -> Any:
    parts = [
        truncation.DeleteRecordsPartitionResult(part.partition_index, -1, DENIED) for part in topic.partitions
    ]
    return truncation.DeleteRecordsTopicResult(topic.name, parts)


def _deleted(topic: Any) -> Any:
    if isinstance(topic, str):
        return deletion.DeletableTopicResult(topic, error_code=DENIED, error_message=WORDS)
    return deletion.DeletableTopicResult(topic.name, topic.topic_id, DENIED, WORDS)


def _made(topic: Any) -> Any:
    return made.CreatableTopicResult(topic.name, error_code=DENIED, error_message=WORDS)


def _extended(topic: Any) -> Any:
    return creation.CreatePartitionsTopicResult(topic.name, DENIED, WORDS)


def _altered(resource: Any) -> Any:
    return alter_response.AlterConfigsResourceResponse(
        DENIED, WORDS, resource.resource_type, resource.resource_name
    )


def _altered_before(resource: Any) -> Any:
    return legacy_response.AlterConfigsResourceResponse(
        DENIED, WORDS, resource.resource_type, resource.resource_name
    )


_APIS: Final[Mapping[int, _Api]] = {
    ApiKey.PRODUCE: _Api("topic_data", "responses", produced.ProduceResponse, _produced),
    ApiKey.FETCH: _Api("topics", "responses", fetched.FetchResponse, _fetched),
    ApiKey.LIST_OFFSETS: _Api("topics", "topics", offsets.ListOffsetsResponse, _listed),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _Api("topics", "topics", epochs.OffsetForLeaderEpochResponse, _ended),
    ApiKey.CREATE_TOPICS: _Api("topics", "topics", made.CreateTopicsResponse, _made),
    ApiKey.DELETE_RECORDS: _Api("topics", "topics", truncation.DeleteRecordsResponse, _truncated),
    ApiKey.DELETE_TOPICS: _Api("topics", "responses", deletion.DeleteTopicsResponse, _deleted),
    ApiKey.CREATE_PARTITIONS: _Api("topics", "results", creation.CreatePartitionsResponse, _extended),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _Api(
        "resources", "responses", alter_response.IncrementalAlterConfigsResponse, _altered
    ),
    ApiKey.ALTER_CONFIGS: _Api(
        "resources", "responses", legacy_response.AlterConfigsResponse, _altered_before
    ),
}

TOPIC_KEYS: Final = frozenset(map(int, _APIS))
"""The requests that read, write, make, end or configure topics."""

_LAST_WITH_NAMES: Final = 5
"""Of DeleteTopics: up to here topics are plain names, in a field of their own."""

_RESOURCES: Final = frozenset({ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})


@dataclass(frozen=True, slots=True)
class Denied:
    """What is answered about closed topics, and what is left to ask the broker; None for nothing."""

    answer: Message
    left: Translation | None


def deny_closed_topics(request: DecodedRequest, closed: ClosedTopics) -> Denied | None:
    """Return what becomes of a request of `TOPIC_KEYS`; None when it names no closed topic after all.

    Raises:
        PeerViolation: it wants no answer (a Produce with acks=0), so there is no other way to refuse.
    """
    api = _APIS[request.api_key]
    message: Any = request.message
    field = api.topics
    if request.api_key == ApiKey.DELETE_TOPICS and request.api_version <= _LAST_WITH_NAMES:
        field = "topic_names"
    named = getattr(message, field)
    denied = [topic for topic in named if _is_closed(request.api_key, topic, closed)]
    if not denied:
        return None
    closed.on_refused(request.api_key)
    if request.api_key == ApiKey.PRODUCE and message.acks == NO_ACKS:
        raise PeerViolation(REASON, "a Produce with acks=0 to a topic in which kproxy keeps its state")
    answers = [api.deny(topic) for topic in denied]
    answer = api.response()
    setattr(answer, api.answers, answers)
    rest = [topic for topic in named if not _is_closed(request.api_key, topic, closed)]
    if any(getattr(topic, "resource_type", None) == GROUP_RESOURCE_TYPE for topic in rest):
        # What is about groups is not the broker's alone, and nobody mixes the two.
        answers += [_alone(api.deny(topic)) for topic in rest]
        return Denied(answer, None)
    # A Fetch may be about its session alone.
    if not rest and request.api_key != ApiKey.FETCH:
        return Denied(answer, None)
    left = replace(message, **{field: rest})
    return Denied(answer, Translation([left], lambda responses: _merged(responses, api, answers)))


def _alone(refused: Any) -> Any:
    refused.error_code = ErrorCode.INVALID_REQUEST
    refused.error_message = "ask for this resource in a request without topics of kproxy's state log"
    return refused


def _is_closed(api_key: int, topic: Any, closed: ClosedTopics) -> bool:
    if api_key in _RESOURCES:
        return topic.resource_type == TOPIC_RESOURCE and topic.resource_name in closed.names
    return closed.has(topic)


def _merged(responses: Sequence[Message], api: _Api, answers: Collection[Any]) -> Message:
    """Return the broker's answer with those about closed topics; without addresses, which nobody rewrote."""
    (response,) = responses
    merged: Any = response
    getattr(merged, api.answers).extend(answers)
    if getattr(merged, "node_endpoints", None):
        merged.node_endpoints = []
    return response
