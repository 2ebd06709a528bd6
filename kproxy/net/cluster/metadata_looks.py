"""`MetadataLooks`: the same questions for metadata again and again, whose answers are read only when they differ.

To decode what a broker says of 10,000 partitions takes tens of milliseconds, to compare it with what it said the last
time a tenth of one. So each answer is kept as bytes, and decoded when other bytes come, or when something else has
changed the view in between.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Self

from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.broker_answers import LONG_ANSWER_BYTES, answer_of_any_length, read_beside
from kproxy.net.cluster.broker_client import CLIENT_ID, BrokerClient
from kproxy.net.cluster.prepared_request import PreparedRequest
from kproxy.net.cluster.view import ClusterView, TopicIdsMissing
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.metadata_frames import LastingParts
from kproxy.wording import counted

FIRST_VERSION_WITH_TOPIC_IDS: Final = 10

FIRST_VERSION_ASKED_BY_TOPIC_ID: Final = 12
"""Below it brokers refuse a request that names a topic by id, although responses carry ids."""

TOPICS_PER_LOOK: Final = 1_000
"""More are asked in several requests. How many partitions they have is not known at first: a long answer is decoded
beside the loop, and taken in in portions."""

PARTITIONS_PER_LOOK: Final = 5_000
"""The same, as soon as it is known how many partitions the topics have, so that one answer does not hold the loop for
long; one topic is not divided."""


@dataclass(frozen=True, slots=True)
class LookAnswer:
    """What one broker answered; several may be asked at the same time."""

    response: MetadataResponse
    parts: LastingParts

    @classmethod
    def of(cls, frame: bytes | memoryview, version: int) -> Self:
        """Decode it. Raises MalformedMessage."""
        response = metadata_in(codecs.decode_response(ApiKey.METADATA, version, frame)[1])
        return cls(response, LastingParts.of(frame, version))


class MetadataLook:
    """One question for some topics, and what was answered the last time."""

    __slots__ = ("_answer", "_request", "_view_version", "is_compared", "names")

    def __init__(self, names: Sequence[str], *, is_compared: bool = True) -> None:
        self.names = names
        self.is_compared = is_compared
        """Whether there is a look before it, or will be one after it, at the same names."""
        self._request: PreparedRequest | None = None
        self._answer: LastingParts | None = None
        self._view_version = -1

    async def ask(self, client: BrokerClient, view: ClusterView) -> LookAnswer | None:
        """Return what the broker answers; None when that would change nothing in `view`. Raises BrokerUnavailable."""
        version = version_with_topic_ids(client)
        if self._request is None or self._request.version != version:
            self._request = self._prepared(version)

        def read(frame: memoryview) -> LookAnswer | bytes | None:
            answer = self._answer if self._view_version == view.version else None
            if answer is not None and answer.are_those_of(frame, version):
                return None
            return bytes(frame) if len(frame) > LONG_ANSWER_BYTES else LookAnswer.of(frame, version)

        answer = await client.repeat(self._request, read)
        if isinstance(answer, bytes):
            return await read_beside(client, partial(LookAnswer.of, answer, version))
        return answer

    def believe(self, answer: LookAnswer, view: ClusterView) -> None:
        """Take note that `view` holds what `answer` says."""
        self._answer, self._view_version = answer.parts, view.version

    def forget(self) -> None:
        """Have the next answer read, whatever it says."""
        self._answer = None

    def _prepared(self, version: int) -> PreparedRequest:
        topics = [MetadataRequestTopic(name=name) for name in self.names]
        message = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        return PreparedRequest.of(ApiKey.METADATA, version, CLIENT_ID, message)


class MetadataLooks:
    """The looks at a collection of topics; made anew where other topics are meant, divided when they grew too large."""

    __slots__ = ("_looks", "_view_version", "names")

    def __init__(self) -> None:
        self.names: Collection[str] = frozenset()
        """What was looked at last."""
        self._looks: Sequence[MetadataLook] = ()
        self._view_version = -1

    def at(
        self, names: Collection[str], view: ClusterView, in_passing: Sequence[str] = ()
    ) -> Sequence[MetadataLook]:
        """Return the looks at `names`, which must not change, and, this once, at TOPICS_PER_LOOK others at most.

        `view` knows how many partitions these topics have.
        """
        is_other = names is not self.names
        if is_other:
            self._looks = _changed(self._looks, frozenset(self.names), frozenset(names), view)
            self.names = names
        if is_other or view.version != self._view_version:
            self._looks = [part for look in self._looks for part in _divided(look, view)]
            self._view_version = view.version
        return [*self._looks, MetadataLook(in_passing, is_compared=False)] if in_passing else self._looks


def _changed(
    looks: Sequence[MetadataLook], before: frozenset[str], after: frozenset[str], view: ClusterView
) -> Sequence[MetadataLook]:
    """Return looks at `after` in place of `looks`, which were at `before`: the same ones wherever nothing changed.

    What is new goes with what is left where something went, and with what the small ones were about.
    """
    gone = before - after
    kept = [look for look in looks if gone.isdisjoint(look.names) and not _is_small(look, view)]
    pending = sorted(after.difference(*(look.names for look in kept)))
    starts = range(0, len(pending), TOPICS_PER_LOOK)
    return [*kept, *(MetadataLook(pending[start : start + TOPICS_PER_LOOK]) for start in starts)]


def _is_small(look: MetadataLook, view: ClusterView) -> bool:
    """Whether it has room for three more like it."""
    if len(look.names) > TOPICS_PER_LOOK // 4:
        return False
    return sum(map(view.partition_count, look.names)) <= PARTITIONS_PER_LOOK // 4


def _divided(look: MetadataLook, view: ClusterView) -> Sequence[MetadataLook]:
    """Return `look` itself if its topics have at most `PARTITIONS_PER_LOOK` together, else several in its place."""
    counts = [view.partition_count(name) for name in look.names]
    if sum(counts) <= PARTITIONS_PER_LOOK or len(counts) == 1:
        return (look,)
    parts: list[list[str]] = []
    room = 0
    for name, count in zip(look.names, counts, strict=True):
        if not parts or count > room:
            parts.append([])
            room = PARTITIONS_PER_LOOK
        parts[-1].append(name)
        room -= count
    return [MetadataLook(part) for part in parts]


async def ask_for_topics(
    view: ClusterView, topics: list[MetadataRequestTopic], client: BrokerClient
) -> MetadataResponse:
    """Return what a broker of the cluster of `view` says of `topics`, by name or by id where it can be asked by id.

    Raises:
        BrokerUnavailable: it does not answer, or nothing that can be used.
    """
    version = version_with_topic_ids(client)
    if version < FIRST_VERSION_ASKED_BY_TOPIC_ID:
        topics = [topic for topic in topics if topic.name is not None]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    response = await answer_of_any_length(client, ApiKey.METADATA, request, version, metadata_in)
    require_usable(response, client.peer, view.cluster_id)
    return response


def version_with_topic_ids(client: BrokerClient) -> int:
    """Return the version to ask for metadata in. Raises TopicIdsMissing when topics have no ids in it."""
    version = client.version_for(ApiKey.METADATA)
    if version < FIRST_VERSION_WITH_TOPIC_IDS:
        detail = f"{client.peer} speaks Metadata up to version {version}, topic ids came with 10 (Kafka 2.8)"
        raise TopicIdsMissing(f"the backing cluster has no topic ids: {detail}")
    return version


def metadata_in(answer: Message) -> MetadataResponse:
    """Return an answer to Metadata as what it is."""
    assert isinstance(answer, MetadataResponse)
    return answer


def require_usable(answer: MetadataResponse, peer: str, cluster_id: str | None) -> None:
    """Return if the answer of `peer` is a success and of this cluster, None while that is not known.

    Raises:
        BrokerUnavailable: it is neither. Topic ids and offsets of another cluster must never be taken for those of
            this one.
    """
    if answer.error_code or not answer.brokers:
        detail = f"error {answer.error_code} and {counted(len(answer.brokers), 'broker')}"
        raise BrokerUnavailable(f"{peer} answered Metadata with {detail}")
    if cluster_id is not None and answer.cluster_id != cluster_id:
        raise BrokerUnavailable(f"{peer} is of cluster {answer.cluster_id!r}, expected {cluster_id!r}")
