"""Everything that decodes messages: any bytes are a message or malformed, and a message can be sent again."""

import zlib
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.wire import codecs, group_ids
from kproxy.wire.codecs import Message
from kproxy.wire.endpoints_walk import FIRST_FETCH_VERSION, EndpointsWalk
from kproxy.wire.messages.by_api_key import REQUEST_CLASSES, RESPONSE_CLASSES
from kproxy.wire.metadata_frames import LastingParts, MetadataBrokers
from kproxy.wire.produce_endpoints import may_name_brokers
from tests.fuzz.execution import Seed, Target
from tests.fuzz.filled_messages import filled
from tests.worlds.message_values import message_versions

_NUMBER_BYTES: Final = 4


def _number_of(message_class: type[Message], version: int) -> int:
    """Return what an input names a version of a message by: the same whatever messages are added."""
    return zlib.crc32(f"{message_class.__name__} v{version}".encode())


_VERSIONS: Final = sorted((_number_of(*found), *found) for found in message_versions())
_NUMBERS: Final = [number for number, _, _ in _VERSIONS]


def decode_any_message(data: bytes) -> None:
    """Four bytes that choose a version of a message, or lead to the one nearest, and its bytes."""
    place = bisect_left(_NUMBERS, int.from_bytes(data[:_NUMBER_BYTES]))
    _, message_class, version = _VERSIONS[place % len(_VERSIONS)]
    body = data[_NUMBER_BYTES:]
    try:
        message = codecs.decode(message_class, version, body)
    except MalformedMessage:
        return
    again = b"".join(codecs.encode(message, version))
    assert codecs.decode(message_class, version, memoryview(again)) == message, message


def decode_any_request(data: bytes) -> None:
    """A request without its length."""
    try:
        request = codecs.decode_request(memoryview(data))
    except MalformedMessage:
        return
    frame = codecs.encode_request(
        request.api_key, request.api_version, request.correlation_id, request.client_id, request.message
    )
    again = codecs.decode_request(b"".join(frame)[4:])
    assert again == request, request


def decode_any_response(data: bytes) -> None:
    """A byte of API key, one of version, and a response without its length, decoded and walked through."""
    if len(data) < 2:
        return
    api_key, version, frame = data[0], data[1] % 20, memoryview(data)[2:]
    for read in (_decode_response, _walk_metadata, _walk_produce, _walk_endpoints):
        try:
            read(api_key, version, frame)
        except (MalformedMessage, PeerViolation):
            continue


def _decode_response(api_key: int, version: int, frame: memoryview) -> None:
    codecs.decode_response(api_key, version, frame)


def _walk_metadata(api_key: int, version: int, frame: memoryview) -> None:
    if api_key != 3 or not 0 <= version <= 13:
        return
    brokers = MetadataBrokers.of(frame, version)
    b"".join(brokers.readdressed([("kproxy", 9092)] * len(brokers.brokers)))
    LastingParts.of(frame, version).are_those_of(frame, version)


def _walk_produce(api_key: int, version: int, frame: memoryview) -> None:
    if api_key == 0 and 10 <= version <= 13:
        may_name_brokers(frame, version)


def _walk_endpoints(api_key: int, version: int, frame: memoryview) -> None:
    if api_key != 1 or not FIRST_FETCH_VERSION <= version <= 18:
        return
    sent = b"".join(EndpointsWalk(len(frame), api_key, version).take(frame)[0])
    assert len(sent) == len(frame)


def find_any_group_id(data: bytes) -> None:
    """A request with its length, of which the id of the group is looked for without decoding it."""
    if len(data) < 12:
        return
    version = data[7] % 12
    for key in group_ids.API_KEYS:
        with suppress(PeerViolation):
            group_id = group_ids.group_id_of(data, key, version)
            assert group_id is None or group_id is group_ids.UNDECIDED or isinstance(group_id, str)
    for key in group_ids.MEMBER_API_KEYS:
        frame = memoryview(key.to_bytes(2) + data[2:])
        group_ids.group_id_of_member(frame)
        group_ids.max_wait_ms_of(frame)


def _message_seeds() -> Iterator[Seed]:
    for number, message_class, version in _VERSIONS:
        for count in (0, 2):
            body = b"".join(codecs.encode(filled(message_class, version, element_count=count), version))
            yield Seed(f"{message_class.__name__} v{version}, {count}", number.to_bytes(_NUMBER_BYTES) + body)


def request_seeds() -> Iterator[Seed]:
    """Yield a request of each API in its oldest and its newest version, without the length."""
    for api_key, message_class in REQUEST_CLASSES.items():
        versions = message_class.SCHEMA.valid_versions
        for version in sorted({versions.first, versions.last}):
            message = filled(message_class, version)
            frame = b"".join(codecs.encode_request(api_key, version, 7, "client-1", message))
            yield Seed(f"{message_class.__name__} v{version}", frame[4:])


def _response_seeds() -> Iterator[Seed]:
    for api_key, message_class in RESPONSE_CLASSES.items():
        versions = message_class.SCHEMA.valid_versions
        for version in sorted({versions.first, versions.last}):
            frame = b"".join(codecs.encode_response(api_key, version, 7, filled(message_class, version)))
            yield Seed(f"{message_class.__name__} v{version}", bytes([api_key, version]) + frame[4:])


def _framed_seeds() -> Iterator[Seed]:
    for seed in request_seeds():
        yield Seed(seed.name, len(seed.data).to_bytes(4) + seed.data)


TARGETS: Final = (
    Target("messages", decode_any_message, _message_seeds, executions=12_000),
    Target("requests", decode_any_request, request_seeds, executions=4_000),
    Target("responses", decode_any_response, _response_seeds, executions=4_000),
    Target("group-ids", find_any_group_id, _framed_seeds, executions=4_000),
)
