"""A member of a share group that sends exactly what a case says, and what its answers hold."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages import share_acknowledge_request as of_acknowledge
from kproxy.wire.messages import share_fetch_request as of_fetch
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import PartitionData, ShareFetchResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.real_kafka.raw_connection import RawConnection

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)

HEARTBEAT_VERSION: Final = 1
NEWEST: Final = 2
"""Of ShareFetch and ShareAcknowledge."""
OPENING: Final = 0
FINAL: Final = -1
LAST_EPOCH: Final = 2**31 - 1
MANY: Final = 500
MAX_BYTES: Final = 52_428_800
PATIENT_MS: Final = 10_000
"""The wait of a fetch that is to be answered earlier."""
BRIEF_MS: Final = 200
"""The wait of a fetch that is to find nothing."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a case."""

    name: str
    topic_id: bytes
    partitions: int


@dataclass(frozen=True, slots=True)
class Ack:
    """An acknowledgement batch, offsets inclusive; of the first topic unless it names one."""

    first: int
    last: int
    types: tuple[int, ...]
    partition: int = 0
    topic: Topic | None = None


def ack(first: int, last: int, *types: int, partition: int = 0, topic: Topic | None = None) -> Ack:
    """Acknowledge a range in one way, or each of its offsets in its own."""
    return Ack(first, last, types, partition, topic)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a ShareFetch asks for, beside partitions."""

    max_wait_ms: int = PATIENT_MS
    min_bytes: int = 1
    max_bytes: int = MAX_BYTES
    max_records: int = MANY
    batch_size: int = MANY
    acquire_mode: int = 0
    is_renew: bool = False
    version: int = NEWEST


PATIENT: Final = Terms()
BRIEF: Final = Terms(max_wait_ms=BRIEF_MS)
"""For a fetch that finds nothing."""
LOADING: Final = Terms(max_wait_ms=50)
LOADING_SECONDS: Final = 30.0
RENEWING: Final = Terms(max_wait_ms=0, min_bytes=0, max_bytes=0, max_records=0, batch_size=0, is_renew=True)

Answer = TypeVar("Answer", bound=Message)
Place: TypeAlias = tuple[Topic, int]
Note: TypeAlias = Callable[[str, Message], None]


class Member:
    """One member; counts the epochs of its share session unless it is told one."""

    def __init__(
        self, connection: RawConnection, *, group: str, topics: Sequence[Topic], member_id: str, note: Note
    ) -> None:
        self.connection = connection
        self.topics = topics
        self.group: str | None = group
        self.member_id: str | None = member_id
        self.epoch = OPENING
        """Of its next request about records."""
        self._note = note

    # ---- records

    def send_fetch(
        self,
        *acks: Ack,
        wanted: Iterable[Place] | None = None,
        forgotten: Iterable[Place] = (),
        epoch: int | None = None,
        terms: Terms = PATIENT,
    ) -> None:
        """Send a ShareFetch; the one that opens the session wants every partition unless it is told what."""
        used = self._used(epoch)
        if wanted is None:
            wanted = self.every_partition() if used == OPENING else ()
        topics = _fetch_topics(wanted, acks, self.topics[0])
        request = ShareFetchRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=used,
            max_wait_ms=terms.max_wait_ms,
            min_bytes=terms.min_bytes,
            max_bytes=terms.max_bytes,
            max_records=terms.max_records,
            batch_size=terms.batch_size,
            share_acquire_mode=terms.acquire_mode,
            is_renew_ack=terms.is_renew,
            topics=topics,
            forgotten_topics_data=_forgotten_topics(forgotten),
        )
        self.connection.send_request(ApiKey.SHARE_FETCH, terms.version, request)

    def receive_fetch(self, *, terms: Terms = PATIENT, is_noted: bool = True) -> ShareFetchResponse:
        """The answer to a ShareFetch that was sent."""
        answer = self.connection.receive_response(ApiKey.SHARE_FETCH, terms.version, ShareFetchResponse)
        if is_noted:
            self._note(f"{self.member_id}: fetch", answer)
        return answer

    def fetch(
        self,
        *acks: Ack,
        wanted: Iterable[Place] | None = None,
        forgotten: Iterable[Place] = (),
        epoch: int | None = None,
        terms: Terms = PATIENT,
    ) -> ShareFetchResponse:
        """Send a ShareFetch and note its answer."""
        self.send_fetch(*acks, wanted=wanted, forgotten=forgotten, epoch=epoch, terms=terms)
        return self.receive_fetch(terms=terms)

    def fetch_records(self, *, terms: Terms = PATIENT, attempts: int = 100) -> ShareFetchResponse:
        """Fetch until something is acquired, as a client does; only that answer is noted."""
        for _ in range(attempts):
            self.send_fetch(terms=terms)
            answer = self.receive_fetch(terms=terms, is_noted=False)
            if answer.error_code or any(_has_news(partition) for partition in partitions(answer)):
                self._note(f"{self.member_id}: fetch", answer)
                return answer
        raise AssertionError(f"{attempts} fetches acquired nothing")

    def open_session(self, *, is_noted: bool = True) -> ShareFetchResponse:
        """Open its session, again and again until every partition is loaded and was read; that answer is noted."""
        deadline = time.monotonic() + LOADING_SECONDS
        while True:
            self.send_fetch(epoch=OPENING, terms=LOADING)
            answer = self.receive_fetch(is_noted=False)
            errors = [partition.error_code for partition in partitions(answer)]
            if len(errors) == len(self.every_partition()) and not any(errors):
                break
            assert time.monotonic() < deadline, answer
        self.epoch = 1
        if is_noted:
            self._note(f"{self.member_id}: fetch", answer)
        return answer

    def acknowledge(
        self, *acks: Ack, epoch: int | None = None, is_renew: bool = False, version: int = NEWEST
    ) -> ShareAcknowledgeResponse:
        """Send a ShareAcknowledge and note its answer."""
        request = ShareAcknowledgeRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self._used(epoch),
            is_renew_ack=is_renew,
            topics=_acknowledge_topics(acks, self.topics[0]),
        )
        answer = self.connection.ask(ApiKey.SHARE_ACKNOWLEDGE, version, request, ShareAcknowledgeResponse)
        self._note(f"{self.member_id}: acknowledge", answer)
        return answer

    def every_partition(self) -> list[Place]:
        """All of its topics."""
        return [(topic, index) for topic in self.topics for index in range(topic.partitions)]

    def drop(self) -> None:
        """Close its connection, as a member does that dies."""
        self.connection.close()

    def ask(
        self, label: str, api_key: int, version: int, request: Message, answer_class: type[Answer]
    ) -> Answer:
        """Send any request and note its answer."""
        answer = self.connection.ask(api_key, version, request, answer_class)
        self._note(f"{self.member_id}: {label}", answer)
        return answer

    # ---- membership

    def heartbeat(
        self, epoch: int, *, topics: Sequence[str] | None = None, is_noted: bool = True
    ) -> ShareGroupHeartbeatResponse:
        """Send a heartbeat; `topics` None leaves its subscription as it is."""
        request = ShareGroupHeartbeatRequest(
            group_id=self.group or "",
            member_id=self.member_id or "",
            member_epoch=epoch,
            subscribed_topic_names=None if topics is None else list(topics),
        )
        answer = self.connection.ask(
            ApiKey.SHARE_GROUP_HEARTBEAT, HEARTBEAT_VERSION, request, ShareGroupHeartbeatResponse
        )
        if is_noted:
            self._note(f"{self.member_id}: heartbeat {min(epoch, 1)}", answer)
        return answer

    def _used(self, epoch: int | None) -> int:
        if epoch is not None:
            return epoch
        used, self.epoch = self.epoch, self.epoch + 1
        return used


# ------------------------------------------------ what answers hold


def partitions(answer: ShareFetchResponse) -> list[PartitionData]:
    """All partitions of an answer, by index."""
    found = [partition for topic in answer.responses for partition in topic.partitions]
    return sorted(found, key=lambda partition: partition.partition_index)


def acquired(answer: ShareFetchResponse) -> list[tuple[int, int, int]]:
    """First offset, last offset and delivery count of every entry, by partition."""
    return [
        (entry.first_offset, entry.last_offset, entry.delivery_count)
        for partition in partitions(answer)
        for entry in partition.acquired_records
    ]


def acknowledge_errors(answer: ShareAcknowledgeResponse | ShareFetchResponse) -> list[int]:
    """What became of the acknowledgements of each partition, by index."""
    if isinstance(answer, ShareFetchResponse):
        return [partition.acknowledge_error_code for partition in partitions(answer)]
    found = [partition for topic in answer.responses for partition in topic.partitions]
    return [each.error_code for each in sorted(found, key=lambda partition: partition.partition_index)]


def _has_news(partition: PartitionData) -> bool:
    return bool(partition.acquired_records or partition.error_code)


# ------------------------------------------------ how requests are put together


def _fetch_topics(wanted: Iterable[Place], acks: Iterable[Ack], first: Topic) -> list[of_fetch.FetchTopic]:
    batches: dict[Place, list[of_fetch.AcknowledgementBatch]] = {place: [] for place in wanted}
    for each in acks:
        batch = of_fetch.AcknowledgementBatch(
            first_offset=each.first, last_offset=each.last, acknowledge_types=list(each.types)
        )
        batches.setdefault((each.topic or first, each.partition), []).append(batch)
    of_topics: dict[bytes, list[of_fetch.FetchPartition]] = defaultdict(list)
    for (topic, index), of_place in batches.items():
        partition = of_fetch.FetchPartition(partition_index=index, acknowledgement_batches=of_place)
        of_topics[topic.topic_id].append(partition)
    return [of_fetch.FetchTopic(topic_id=topic_id, partitions=found) for topic_id, found in of_topics.items()]


def _forgotten_topics(forgotten: Iterable[Place]) -> list[of_fetch.ForgottenTopic]:
    of_topics: dict[bytes, list[int]] = defaultdict(list)
    for topic, index in forgotten:
        of_topics[topic.topic_id].append(index)
    return [
        of_fetch.ForgottenTopic(topic_id=topic_id, partitions=found) for topic_id, found in of_topics.items()
    ]


def _acknowledge_topics(acks: Iterable[Ack], first: Topic) -> list[of_acknowledge.AcknowledgeTopic]:
    of_topics: dict[bytes, dict[int, list[of_acknowledge.AcknowledgementBatch]]] = {}
    for each in acks:
        batch = of_acknowledge.AcknowledgementBatch(
            first_offset=each.first, last_offset=each.last, acknowledge_types=list(each.types)
        )
        of_topic = of_topics.setdefault((each.topic or first).topic_id, {})
        of_topic.setdefault(each.partition, []).append(batch)
    return [
        of_acknowledge.AcknowledgeTopic(
            topic_id=topic_id,
            partitions=[
                of_acknowledge.AcknowledgePartition(partition_index=index, acknowledgement_batches=batches)
                for index, batches in of_topic.items()
            ],
        )
        for topic_id, of_topic in of_topics.items()
    ]
