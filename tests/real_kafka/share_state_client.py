"""A client of a share coordinator: what brokers ask each other with the API keys 83 to 87."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import TopicId, topic_id_text
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages import delete_share_group_state_request as deletes
from kproxy.wire.messages import initialize_share_group_state_request as initializations
from kproxy.wire.messages import read_share_group_state_request as reads
from kproxy.wire.messages import read_share_group_state_summary_request as summaries
from kproxy.wire.messages import write_share_group_state_request as writes
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.real_kafka.raw_connection import RawConnection

FIND_COORDINATOR_VERSION: Final = 6
METADATA_VERSION: Final = 12
SHARE_KEY_TYPE: Final = 2
PATIENCE_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 0.05
NOT_YET: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""What is answered so is asked again: a stock broker creates its state topic when it is first asked for."""

Batch: TypeAlias = tuple[int, int, int, int]
"""First offset, last offset (inclusive), delivery state, delivery count."""


@dataclass(frozen=True, slots=True)
class Initialize:
    """InitializeShareGroupState."""

    state_epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class Write:
    """WriteShareGroupState; version 0 has no delivery-complete count."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    complete_count: int = -1
    batches: tuple[Batch, ...] = ()
    version: int = 1


@dataclass(frozen=True, slots=True)
class Read:
    """ReadShareGroupState."""

    leader_epoch: int


@dataclass(frozen=True, slots=True)
class Summarize:
    """ReadShareGroupStateSummary; version 0 is answered without the delivery-complete count."""

    version: int = 1


@dataclass(frozen=True, slots=True)
class Delete:
    """DeleteShareGroupState."""


Operation: TypeAlias = Initialize | Write | Read | Summarize | Delete


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered for a partition, all but the words of an error. None: the response has no such field."""

    partition: int
    error_code: int
    has_message: bool
    state_epoch: int | None
    leader_epoch: int | None
    start_offset: int | None
    complete_count: int | None
    batches: tuple[Batch, ...] | None


@dataclass(frozen=True, slots=True)
class StateRequest:
    """A request in the making: key, version, and the message for a group, a topic and some of its partitions."""

    api_key: ApiKey
    version: int
    message: Message


class ShareStateClient:
    """Asks one share coordinator about the share-partitions of one group and one topic."""

    def __init__(self, bootstrap: str, *, group: str, topic: str) -> None:
        """Connect to the broker that FindCoordinator names at `bootstrap`, `HOST:PORT`."""
        self.group = group
        with RawConnection(bootstrap) as connection:
            self.topic_id = id_of_topic(connection, topic)
            found = _coordinator(connection, f"{group}:{topic_id_text(self.topic_id)}:0")
        self._connection = RawConnection(f"{found.host}:{found.port}")

    def ask(self, operation: Operation, *, partition: int = 0, topic_id: TopicId | None = None) -> Answer:
        """Do an operation on a partition; again while the coordinator is not there yet."""
        [answer] = self.ask_all([(partition, operation)], topic_id=topic_id)
        return answer

    def ask_all(
        self, operations: Sequence[tuple[int, Operation]], *, topic_id: TopicId | None = None
    ) -> list[Answer]:
        """Do operations of one kind and version, each on a partition, in one request."""
        request = request_of(self.group, topic_id or self.topic_id, operations)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            [topic] = self.send(request).results
            assert topic.topic_id == (topic_id or self.topic_id)
            if not NOT_YET.intersection(result.error_code for result in topic.partitions):
                return [_answer(request, result) for result in topic.partitions]
            assert time.monotonic() < deadline, topic
            time.sleep(PAUSE_SECONDS)

    def send(self, request: StateRequest) -> Any:
        """Return the response to `request`."""
        response_class = codecs.response_class(request.api_key)
        return self._connection.ask(request.api_key, request.version, request.message, response_class)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()


def find_coordinators(
    connection: RawConnection, *keys: str, version: int = FIND_COORDINATOR_VERSION
) -> list[Coordinator]:
    """Look the share coordinators of share-partitions up, named `group:topicId:partition`."""
    request = FindCoordinatorRequest(key_type=SHARE_KEY_TYPE, coordinator_keys=list(keys))
    response = connection.ask(ApiKey.FIND_COORDINATOR, version, request, FindCoordinatorResponse)
    return response.coordinators


def id_of_topic(connection: RawConnection, topic: str) -> TopicId:
    """The id of a topic that exists."""
    request = MetadataRequest([MetadataRequestTopic(name=topic)])
    response = connection.ask(ApiKey.METADATA, METADATA_VERSION, request, MetadataResponse)
    return TopicId(response.topics[0].topic_id)


def request_of(group: str, topic_id: TopicId, operations: Sequence[tuple[int, Operation]]) -> StateRequest:
    """The request that does operations of one kind and version, each on a partition."""
    first = operations[0][1]
    version = first.version if isinstance(first, Write | Summarize) else 0
    parts: list[Any] = [_part(partition, operation) for partition, operation in operations]
    match first:
        case Initialize():
            topics = [initializations.InitializeStateData(topic_id, parts)]
            message: Message = initializations.InitializeShareGroupStateRequest(group, topics)
            return StateRequest(ApiKey.INITIALIZE_SHARE_GROUP_STATE, version, message)
        case Write():
            message = writes.WriteShareGroupStateRequest(group, [writes.WriteStateData(topic_id, parts)])
            return StateRequest(ApiKey.WRITE_SHARE_GROUP_STATE, version, message)
        case Read():
            message = reads.ReadShareGroupStateRequest(group, [reads.ReadStateData(topic_id, parts)])
            return StateRequest(ApiKey.READ_SHARE_GROUP_STATE, version, message)
        case Summarize():
            looked_at = [summaries.ReadStateSummaryData(topic_id, parts)]
            message = summaries.ReadShareGroupStateSummaryRequest(group, looked_at)
            return StateRequest(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, version, message)
        case Delete():
            message = deletes.DeleteShareGroupStateRequest(group, [deletes.DeleteStateData(topic_id, parts)])
            return StateRequest(ApiKey.DELETE_SHARE_GROUP_STATE, version, message)


def _part(partition: int, operation: Operation) -> object:
    match operation:
        case Initialize(state_epoch, start_offset):
            return initializations.PartitionData(partition, state_epoch, start_offset)
        case Write():
            batches = [writes.StateBatch(*batch) for batch in operation.batches]
            epochs = (operation.state_epoch, operation.leader_epoch)
            place = (operation.start_offset, operation.complete_count)
            return writes.PartitionData(partition, *epochs, *place, batches)
        case Read(leader_epoch):
            return reads.PartitionData(partition, leader_epoch)
        case Summarize():
            return summaries.PartitionData(partition, -1)
        case Delete():
            return deletes.PartitionData(partition)


def _answer(request: StateRequest, result: Any) -> Answer:
    batches = getattr(result, "state_batches", None)
    return Answer(
        result.partition,
        result.error_code,
        result.error_message is not None,
        getattr(result, "state_epoch", None),
        getattr(result, "leader_epoch", None),
        getattr(result, "start_offset", None),
        getattr(result, "delivery_complete_count", None) if request.version else None,
        None
        if batches is None
        else tuple(
            (batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
            for batch in batches
        ),
    )


def _coordinator(connection: RawConnection, key: str) -> Coordinator:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        [found] = find_coordinators(connection, key)
        if found.error_code not in NOT_YET:
            assert found.error_code == ErrorCode.NONE, found
            return found
        assert time.monotonic() < deadline, found
        time.sleep(PAUSE_SECONDS)
