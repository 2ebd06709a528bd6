"""What brokers answer to kproxy's own questions: on the connection, and in the view of the cluster made of it."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import Final

from kproxy.errors import BrokerUnavailable, MalformedMessage
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.net.cluster.broker_client import BrokerClient, ConnectionLimits
from kproxy.net.cluster.read_buffers import ReadBuffers
from kproxy.net.cluster.view import ClusterView
from kproxy.net.reading.fetch_session import FetchSession
from kproxy.net.reading.fetch_topics import fetched_partitions
from kproxy.net.reading.partition_reader import _data
from kproxy.share.identifiers import TopicId
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.message_schema import ZERO_UUID
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.fuzz.execution import Seed, Target
from tests.fuzz.filled_messages import TOPIC_ID, filled
from tests.fuzz.parts import of_parts, parts_of
from tests.fuzz.sockets import lasting_loop
from tests.fuzz.targets.peers import DeafTransport

QUESTIONS: Final = (
    ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.LIST_OFFSETS, ApiKey.FETCH, ApiKey.PRODUCE,
    ApiKey.INIT_PRODUCER_ID, ApiKey.DESCRIBE_CONFIGS, ApiKey.CREATE_TOPICS, ApiKey.DELETE_RECORDS, ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.DESCRIBE_GROUPS, ApiKey.SHARE_GROUP_DESCRIBE,
)  # fmt: skip
METADATA_VERSION: Final = 12
FETCH_VERSION: Final = 17
LONGEST_FRAME_BYTES: Final = 64 * 1024


def answer_questions(data: bytes) -> None:
    """Parts, each asks a question, by its number, and brings the body of an answer; number 255 brings raw bytes."""
    lasting_loop().run(_answer_questions(data))


async def _answer_questions(data: bytes) -> None:
    client = BrokerClient(
        "broker-1:9092", ConnectionLimits(frame_max_bytes=LONGEST_FRAME_BYTES), ReadBuffers()
    )
    client.connection_made(DeafTransport())
    asked: list[asyncio.Task[object]] = []
    for number, part in parts_of(data):
        if not client.is_open or client.throttled_ms:
            break
        if number < 255:
            api_key = QUESTIONS[number % len(QUESTIONS)]
            _, version = codecs.valid_versions(api_key)
            question = client.request(api_key, codecs.request_class(api_key)(), version)
            asked.append(asyncio.ensure_future(question))  # noqa: TID251 - kept here
            await asyncio.sleep(0)
            part = client._last_correlation_id.to_bytes(4) + part  # noqa: PLW2901 - with its head
            part = len(part).to_bytes(4) + part  # noqa: PLW2901
        _come(client, part)
    client.connection_lost(None)
    for each in asked:
        with suppress(BrokerUnavailable):
            await each
    assert client.in_flight_count == 0


def _come(client: BrokerClient, data: bytes) -> None:
    while data:
        buffer = client.get_buffer(-1)
        size = min(len(buffer), len(data))
        buffer[:size] = data[:size]
        data = data[size:]
        client.buffer_updated(size)


def absorb_metadata(data: bytes) -> None:
    """Parts, each a Metadata response of its own: the first bytes name brokers and topics, short ones are decoded."""
    view, names = ClusterView(unknown_ttl_ms=1_000), ["orders", "payments"]
    for now_ms, (number, part) in enumerate(parts_of(data)):
        response = _decoded(part) if number & 1 else _made_up(part)
        if response is None:
            continue
        asked = [name for name in names if number & 2] + [
            topic.name for topic in response.topics if topic.name
        ]
        with suppress(BrokerUnavailable):
            view.absorb(response, asked_names=asked, now_ms=now_ms * 100)
        for name in chain(asked, names):
            described = view.topic_named(name, now_ms)
            if described is not None:
                assert view.id_of(name) == described.topic_id
                view.topic_with_id(described.topic_id, now_ms)
                view.leader_of(described.topic_id, described.partition_count - 1)
        if number & 4:
            view.forget_idle(now_ms * 100)


def _decoded(part: bytes) -> MetadataResponse | None:
    try:
        return codecs.decode(MetadataResponse, METADATA_VERSION, part)
    except MalformedMessage:
        return None


def _made_up(part: bytes) -> MetadataResponse:
    """Return a response of few names and ids, so that they meet: three bytes make a topic."""
    topics = []
    for start in range(0, len(part) - 2, 3):
        name, topic_id, how = part[start : start + 3]
        topics.append(
            MetadataResponseTopic(
                error_code=(0, 3, 5, 29)[how & 3],
                name=None if name == 255 else f"topic-{name % 4}",
                topic_id=ZERO_UUID if topic_id == 255 else bytes([topic_id % 4]) * 16,
                partitions=[
                    MetadataResponsePartition(partition_index=number, leader_id=how, leader_epoch=how >> 4)
                    for number in range(how >> 2 & 3)
                ],
            )
        )
    return MetadataResponse(brokers=[MetadataResponseBroker(1, "a", 9092)], topics=topics)


def take_fetched(data: bytes) -> None:
    """A Fetch response: what it says of which topic-partition."""
    try:
        response = codecs.decode(FetchResponse, FETCH_VERSION, data)
    except MalformedMessage:
        return
    session = FetchSession()
    session.absorb(response)
    session.next_request(max_wait_ms=0, max_bytes=1)
    for partition in fetched_partitions(response, FETCH_VERSION, {"orders": TopicId(TOPIC_ID)}).values():
        _data(partition, IsolationLevel.READ_COMMITTED, where="a fuzzed answer")


def _answers() -> Iterator[Seed]:
    for number, api_key in enumerate(QUESTIONS):
        _, version = codecs.valid_versions(api_key)
        message = filled(codecs.response_class(api_key), version)
        message_bytes = b"".join(codecs.encode_response(api_key, version, 0, message))[8:]
        if hasattr(message, "throttle_time_ms"):
            message.throttle_time_ms = 0
        unthrottled = b"".join(codecs.encode_response(api_key, version, 0, message))[8:]
        yield Seed(f"{api_key.name}, throttled", of_parts([(number, message_bytes), (number, message_bytes)]))
        yield Seed(api_key.name, of_parts([(number, unthrottled), (0, b""), (255, b"\0\0\0\4")]))


def _views() -> Iterator[Seed]:
    encoded = [
        b"".join(
            codecs.encode(filled(MetadataResponse, METADATA_VERSION, element_count=count), METADATA_VERSION)
        )
        for count in (0, 1, 2)
    ]
    yield Seed("decoded", of_parts([(3, each) for each in encoded]))
    yield Seed(
        "topics come and go", of_parts([(2, bytes([0, 0, 4, 1, 1, 8])), (2, bytes([0, 0, 1])), (4, b"")])
    )
    yield Seed(
        "an id of two names", of_parts([(2, bytes([0, 0, 4, 1, 0, 4])), (2, bytes([1, 1, 4, 0, 2, 4]))])
    )


def _fetches() -> Iterator[Seed]:
    for count in (0, 1, 2):
        message = filled(FetchResponse, FETCH_VERSION, element_count=count)
        yield Seed(f"{count} topics", b"".join(codecs.encode(message, FETCH_VERSION)))


TARGETS: Final = (
    Target("answers", answer_questions, _answers, executions=3_000, allowance_bytes=512 * 1024),
    Target("metadata", absorb_metadata, _views, executions=4_000, allowance_bytes=512 * 1024),
    Target("fetches", take_fetched, _fetches, executions=3_000),
)
