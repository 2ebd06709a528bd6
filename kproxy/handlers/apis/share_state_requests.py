"""What the five requests to the share coordinator (keys 83 to 87) have in common.

Each names share-partitions of one group and is answered partition by partition; an error of one leaves the others
alone. Source: `ShareCoordinatorService`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    BrokerUnavailable,
    CoordinatorNotAvailable,
    InvalidRequest,
    UnknownTopicOrPartition,
)
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.ports import ClusterMetadata, Observer, TopicDescription
from kproxy.handlers.request_context import RequestContext
from kproxy.handlers.share_state_store import ShareStateStore
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId, topic_id_text
from kproxy.wording import counted

Answer = TypeVar("Answer")
Data = TypeVar("Data", bound="PartitionOfRequest")
Data_co = TypeVar("Data_co", bound="PartitionOfRequest", covariant=True)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)
TopicResult = TypeVar("TopicResult")
Response = TypeVar("Response")


class PartitionOfRequest(Protocol):
    """What is asked of one partition."""

    partition: int


class TopicOfRequest(Protocol[Data_co]):
    """What is asked of one topic."""

    topic_id: bytes

    @property
    def partitions(self) -> Sequence[Data_co]:
        """Its partitions, in the order in which they are answered."""
        ...


class StateRequest(Protocol[Data_co]):
    """One of the five requests."""

    group_id: str

    @property
    def topics(self) -> Sequence[TopicOfRequest[Data_co]]:
        """Its topics, in the order in which they are answered."""
        ...


class ResultOfPartition(Protocol[Result_co]):
    """The class of a partition's result, as far as it says whether the partition was refused."""

    def __call__(self, partition: int, error_code: int, error_message: str | None, /) -> Result_co: ...


@dataclass(frozen=True, slots=True)
class PartitionsInTurn(Generic[Data, Result, TopicResult, Response]):
    """Serves one of the five requests: `answer` for each partition, one after the other, as often as named.

    The three classes are those that its response is made of; `work` says how much work a partition is (`Pace`).
    """

    answer: Callable[[SharePartitionKey, Data, RequestContext], Awaitable[Result]]
    result_class: ResultOfPartition[Result]
    topic_class: Callable[[bytes, list[Result]], TopicResult]
    response_class: Callable[[list[TopicResult]], Response]
    work: Callable[[Data], int] = lambda _: 1

    async def serve(self, request: StateRequest[Data], context: RequestContext) -> Response:
        """Answer `request`; one without a group id is answered with nothing."""
        results: list[TopicResult] = []
        pace = Pace()
        for topic in request.topics if request.group_id else ():
            partitions: list[Result] = []
            for data in topic.partitions:
                key = share_partition_key(request.group_id, topic.topic_id, data.partition)
                partitions.append(await self.answer(key, data, context))
                if pace.is_pause_due(self.work(data)):  # what is refused has waited for nobody
                    await let_others_go_on()
            results.append(self.topic_class(topic.topic_id, partitions))
        return self.response_class(results)

    def refuse(
        self, request: StateRequest[Data], error_code: ErrorCode, error_message: str | None
    ) -> Response:
        """Say no to every partition of `request`."""
        return self.response_class(
            [
                self.topic_class(
                    topic.topic_id,
                    [
                        self.result_class(data.partition, error_code, error_message)
                        for data in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )


@dataclass(frozen=True, slots=True)
class ShareStateServices:
    """What the handlers stand on. `on_change` is told of a share-partition whose state is about to be changed.

    Whoever holds it in memory then has to let go of it: what it writes afterwards would rest on what was before.
    """

    store: ShareStateStore
    metadata: ClusterMetadata
    observer: Observer
    on_change: Callable[[SharePartitionKey], None]

    async def answer(
        self,
        key: SharePartitionKey,
        operation: Callable[[SharePartitionKey], Awaitable[Answer]],
        context: RequestContext,
        *,
        needs_state: bool = False,
    ) -> Answer | ApiError:
        """Return what `operation` on the share-partition returns, or why not. Refusals are reported.

        An operation that `needs_state` is told that there is none before it is told that there is no such topic.
        """
        try:
            await self._require_topic_partition(key, needs_state=needs_state)
            return await operation(key)
        except ApiError as refusal:
            self.observer.refused(context, reason=refusal.error_code.name.lower(), detail=str(refusal))
            return refusal

    async def answer_change(
        self,
        key: SharePartitionKey,
        operation: Callable[[SharePartitionKey], Awaitable[None]],
        context: RequestContext,
        *,
        result_class: ResultOfPartition[Result],
        require: Callable[[SharePartitionKey], Awaitable[None]] | None = None,
    ) -> Result:
        """Do the same for an `operation` that changes the state, and return what its partition is answered.

        The operation is queued before it first waits. So everything that the live share-partition wrote stands
        before it, and nothing comes after it. What has to be found out before, by `require` which raises ApiError, is
        found out while others still hold the share-partition. With it, the operation needs a state.
        """

        async def change(named: SharePartitionKey) -> None:
            if require is not None:
                await require(named)
            self.on_change(named)
            await operation(named)

        refusal = await self.answer(key, change, context, needs_state=require is not None)
        if refusal is None:
            return result_class(key.partition, ErrorCode.NONE, None)
        return result_class(key.partition, refusal.error_code, str(refusal))

    async def _require_topic_partition(self, key: SharePartitionKey, *, needs_state: bool) -> None:
        if key.partition < 0:
            raise InvalidRequest(f"partition {key.partition} of {key.group_id}, expected 0 or higher")
        try:
            topics = await self.metadata.topics_with_ids((key.topic_id,))
            topic = topics.get(key.topic_id)
        except BrokerUnavailable as failure:
            raise CoordinatorNotAvailable(f"the cluster cannot be asked about topics: {failure}") from failure
        if topic is not None and key.partition < topic.partition_count:
            return
        if needs_state and await self.store.read_summary(key) is None:
            raise InvalidRequest(f"the state of {key} was never initialized")
        raise UnknownTopicOrPartition(_what_is_missing(key, topic))


def _what_is_missing(key: SharePartitionKey, topic: TopicDescription | None) -> str:
    if topic is None:
        return f"no topic has the id {topic_id_text(key.topic_id)}"
    return (
        f"topic '{topic.name}' has {counted(topic.partition_count, 'partition')}, not number {key.partition}"
    )


def share_partition_key(group_id: str, topic_id: bytes, partition: int) -> SharePartitionKey:
    """Return what a request names."""
    return SharePartitionKey(GroupId(group_id), TopicId(topic_id), partition)
