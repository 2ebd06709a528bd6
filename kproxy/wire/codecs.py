"""Decode and encode messages by class or by API key: the only public way into the codecs.

Two codecs of equal behaviour stand behind these functions, see `select_codec`. Whatever is wrong with
received bytes is raised as MalformedMessage, whatever cannot be sent as UnencodableMessage; nothing else
escapes.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeVar

from kproxy.errors import MalformedMessage
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.byte_streams import ByteSink, ByteSource, UnencodableMessage
from kproxy.wire.codec_emitter import EmittedCodecs
from kproxy.wire.message_schema import Message, VersionRange
from kproxy.wire.message_struct import MessageStruct, message_struct
from kproxy.wire.messages.by_api_key import REQUEST_CLASSES, RESPONSE_CLASSES
from kproxy.wire.messages.request_header import RequestHeader
from kproxy.wire.messages.response_header import ResponseHeader
from kproxy.wire.varints import encode_varint
from kproxy.wording import counted

__all__ = [
    "DecodedRequest",
    "Message",
    "UnencodableMessage",
    "decode",
    "decode_request",
    "decode_request_header",
    "decode_response",
    "encode",
    "encode_elements",
    "encode_request",
    "encode_response",
    "encode_response_around",
    "request_class",
    "response_class",
    "select_codec",
    "valid_versions",
]

M = TypeVar("M", bound=Message)

_UNSUPPORTED_VERSION: Final = 35
_FRAME_LENGTH: Final = struct.Struct(">i")
_KEY_AND_VERSION: Final = struct.Struct(">hh")
_CORRELATION_ID_AND_ERROR_CODE: Final = struct.Struct(">ih")

_FAILURES_OF_DECODING: Final = (MalformedMessage, LookupError, struct.error, UnicodeDecodeError)
_FAILURES_OF_ENCODING: Final = (
    ValueError,
    LookupError,
    struct.error,
    TypeError,
    AttributeError,
    OverflowError,
)


@dataclass(slots=True)
class DecodedRequest:
    """A request with what its header said."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    message: Message


class _Codec(Protocol):
    """What encodes and decodes one version of a message."""

    @property
    def decode(self) -> Callable[[bytes | memoryview, int], tuple[Message, int]]:
        """Takes a buffer and a position; returns the message and the position after it."""
        ...

    @property
    def encode(self) -> Callable[[Message], list[bytes | memoryview]]:
        """Returns chunks."""
        ...


class _ConstructCodec:
    """The reference: the construct tree itself."""

    def __init__(self, tree: MessageStruct) -> None:
        self._tree: Final = tree

    def decode(self, buffer: bytes | memoryview, position: int) -> tuple[Message, int]:
        source = ByteSource(buffer, position)
        return self._tree.parse_stream(source), source.position

    def encode(self, message: Message) -> list[bytes | memoryview]:
        sink = ByteSink()
        self._tree.build_stream(message, sink)
        return sink.chunks()


class _ConstructCodecs(dict[tuple[type[Message], int], _ConstructCodec]):
    """The reference codecs by class and version. LookupError: there is no such version."""

    def __missing__(self, key: tuple[type[Message], int]) -> _ConstructCodec:
        codec = self[key] = _ConstructCodec(message_struct(*key))
        return codec


_EMITTED: Final = EmittedCodecs()
_CONSTRUCT: Final = _ConstructCodecs()
_codecs: Mapping[tuple[type[Message], int], _Codec] = _EMITTED


def select_codec(kind: Literal["emitted", "construct"]) -> None:
    """Choose what decodes and encodes from now on: emitted Python (the default) or the construct trees.

    The trees are the reference and some fifty times slower.
    """
    global _codecs  # noqa: PLW0603 - one switch for the process, set by the application at start
    _codecs = _EMITTED if kind == "emitted" else _CONSTRUCT


def decode(message_class: type[M], version: int, buffer: bytes | memoryview) -> M:
    """Return the message that `buffer` holds, all of it.

    `records` are views into `buffer`; everything else is copied.

    Raises:
        MalformedMessage: the bytes are no such message, some are left over, or there is no such version.
    """
    message, end = _decode_at(message_class, version, buffer, 0)
    _check_whole(message_class, version, buffer, end)
    return message


def encode(message: Message, version: int) -> list[bytes | memoryview]:
    """Return `message` as chunks to send one after the other; a `records` value is its own chunk, not copied.

    Raises:
        UnencodableMessage: `version` does not exist or cannot carry a value of the message.
    """
    try:
        return _codecs[type(message), version].encode(message)
    except _FAILURES_OF_ENCODING as error:
        raise UnencodableMessage(f"{type(message).__name__} v{version}: {error}") from error


def decode_request(frame: bytes | memoryview) -> DecodedRequest:
    """Return the request in `frame`, which begins behind the four bytes of the length.

    Bytes behind the message are ignored, as brokers do: librdkafka's Metadata 12 for all topics has three of them.

    Raises:
        MalformedMessage: see `decode`; also when the API key or the version has no schema.
    """
    if len(frame) < _KEY_AND_VERSION.size:
        raise MalformedMessage(f"a request of {counted(len(frame), 'byte')}")
    api_key, api_version = _KEY_AND_VERSION.unpack_from(frame)
    message_class = REQUEST_CLASSES.get(api_key)
    if message_class is None or api_version not in message_class.SCHEMA.valid_versions:
        raise MalformedMessage(f"no schema for a request of API key {api_key} in version {api_version}")
    header, position = _decode_at(
        RequestHeader, _request_header_version(message_class, api_version), frame, 0
    )
    message, _ = _decode_at(message_class, api_version, frame, position)
    return DecodedRequest(api_key, api_version, header.correlation_id, header.client_id, message)


def decode_request_header(frame: bytes | memoryview) -> RequestHeader:
    """Return the header of the request in `frame`, which begins behind the length. Raises MalformedMessage."""
    if len(frame) < _KEY_AND_VERSION.size:
        raise MalformedMessage(f"a request of {counted(len(frame), 'byte')}")
    api_key, api_version = _KEY_AND_VERSION.unpack_from(frame)
    message_class = REQUEST_CLASSES.get(api_key)
    if message_class is None:
        raise MalformedMessage(f"no schema for a request of API key {api_key}")
    header_version = _request_header_version(message_class, api_version)
    return _decode_at(RequestHeader, header_version, frame, 0)[0]


def encode_request(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None, message: Message
) -> list[bytes | memoryview]:
    """Return the frame of a request, with its length, as chunks. Raises UnencodableMessage, see `encode`."""
    header = RequestHeader(api_key, api_version, correlation_id, client_id)
    _check_class(message, REQUEST_CLASSES.get(api_key), api_key)
    header_chunks = encode(header, _request_header_version(type(message), api_version))
    return _framed(header_chunks, encode(message, api_version))


def decode_response(api_key: int, api_version: int, frame: bytes | memoryview) -> tuple[int, Message]:
    """Return correlation id and message of the response in `frame`, which begins behind the length.

    An ApiVersions response that says UNSUPPORTED_VERSION is in version 0 whatever was asked for (KIP-511).

    Raises:
        MalformedMessage: see `decode`; also when the API key has no schema.
    """
    message_class = RESPONSE_CLASSES.get(api_key)
    if message_class is None:
        raise MalformedMessage(f"no schema for a response of API key {api_key}")
    if api_key == ApiKey.API_VERSIONS and _refuses_version(frame):
        api_version = 0
    header_version = _response_header_version(message_class, api_version)
    header, position = _decode_at(ResponseHeader, header_version, frame, 0)
    message, end = _decode_at(message_class, api_version, frame, position)
    _check_whole(message_class, api_version, frame, end)
    return header.correlation_id, message


def encode_response(
    api_key: int, api_version: int, correlation_id: int, message: Message
) -> list[bytes | memoryview]:
    """Return the frame of a response, with its length, as chunks. Raises UnencodableMessage, see `encode`."""
    _check_class(message, RESPONSE_CLASSES.get(api_key), api_key)
    header_version = _response_header_version(type(message), api_version)
    return _framed(encode(ResponseHeader(correlation_id), header_version), encode(message, api_version))


def encode_elements(message_class: type[Message], version: int, field: str, elements: Sequence[Any]) -> bytes:
    """Return the bytes of some elements of `field`, an array and the last field of its messages.

    A long array is encoded in portions so, for `encode_response_around`. Raises UnencodableMessage, see `encode`.
    """
    before = _bytes_before_array(message_class, version) + len(
        _array_length(message_class, version, len(elements))
    )
    whole = b"".join(encode(message_class(**{field: elements}), version))
    return whole[before : len(whole) - len(_no_tags(message_class, version))]


def encode_response_around(
    api_key: int,
    api_version: int,
    correlation_id: int,
    message: Message,
    *,
    count: int,
    portions: Sequence[bytes],
) -> list[bytes | memoryview]:
    """Return the frame of `message` with `count` elements, encoded in `portions`, in its array, which is empty.

    The array is the message's last field. Raises UnencodableMessage, see `encode`.
    """
    _check_class(message, RESPONSE_CLASSES.get(api_key), api_key)
    message_class = type(message)
    before = _bytes_before_array(message_class, api_version)
    header_chunks = encode(
        ResponseHeader(correlation_id), _response_header_version(message_class, api_version)
    )
    whole = b"".join(encode(message, api_version))
    behind = whole[before + len(_array_length(message_class, api_version, 0)) :]
    begin = whole[:before] + _array_length(message_class, api_version, count)
    return _framed(header_chunks, [begin, *portions, *([behind] if behind else [])])


def request_class(api_key: int) -> type[Message]:
    """Return the class of the requests of an API. Raises KeyError when it has no schema."""
    return REQUEST_CLASSES[api_key]


def response_class(api_key: int) -> type[Message]:
    """Return the class of the responses of an API. Raises KeyError when it has no schema."""
    return RESPONSE_CLASSES[api_key]


def valid_versions(api_key: int) -> tuple[int, int]:
    """Return the oldest and the newest version that both request and response have a schema for, inclusive.

    Raises KeyError when the API has none.
    """
    request, response = (classes[api_key].SCHEMA for classes in (REQUEST_CLASSES, RESPONSE_CLASSES))
    return (
        max(request.valid_versions.first, response.valid_versions.first),
        min(request.valid_versions.last, response.valid_versions.last),
    )


def _decode_at(
    message_class: type[M], version: int, buffer: bytes | memoryview, position: int
) -> tuple[M, int]:
    try:
        return _codecs[message_class, version].decode(buffer, position)  # type: ignore[return-value]  # M by key
    except _FAILURES_OF_DECODING as error:
        raise MalformedMessage(f"{message_class.__name__} v{version}: {error}") from error


def _check_whole(message_class: type[Message], version: int, buffer: bytes | memoryview, end: int) -> None:
    if end != len(buffer):
        raise MalformedMessage(
            f"{message_class.__name__} v{version}: {counted(len(buffer) - end, 'byte')} too many"
        )


def _bytes_before_array(message_class: type[Message], version: int) -> int:
    """Return how much a message has before its array, its last field: numbers only."""
    behind = len(_array_length(message_class, version, 0)) + len(_no_tags(message_class, version))
    return sum(map(len, encode(message_class(), version))) - behind


def _array_length(message_class: type[Message], version: int, count: int) -> bytes:
    # A compact array has one more than its length, for 0 is null (KIP-482).
    is_compact = _is_flexible(message_class.SCHEMA.flexible_versions, version)
    return encode_varint(count + 1) if is_compact else _FRAME_LENGTH.pack(count)


def _no_tags(message_class: type[Message], version: int) -> bytes:
    return b"\0" if _is_flexible(message_class.SCHEMA.flexible_versions, version) else b""


def _check_class(message: Message, expected: type[Message] | None, api_key: int) -> None:
    if type(message) is not expected:
        raise UnencodableMessage(f"{type(message).__name__} is no such message of API key {api_key}")


def _framed(header: list[bytes | memoryview], body: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """Return the frame with its length; header and first chunk become one."""
    chunks = [*header, *body]
    length = _FRAME_LENGTH.pack(sum(map(len, chunks)))
    return [b"".join((length, *chunks[:2])), *chunks[2:]]


def _is_flexible(flexible_versions: VersionRange | None, version: int) -> bool:
    return flexible_versions is not None and version in flexible_versions


def _request_header_version(message_class: type[Message], version: int) -> int:
    return 2 if _is_flexible(message_class.SCHEMA.flexible_versions, version) else 1


def _response_header_version(message_class: type[Message], version: int) -> int:
    # A client must be able to read an ApiVersions response before it knows what the broker speaks.
    if message_class.SCHEMA.api_key == ApiKey.API_VERSIONS:
        return 0
    return 1 if _is_flexible(message_class.SCHEMA.flexible_versions, version) else 0


def _refuses_version(frame: bytes | memoryview) -> bool:
    if len(frame) < _CORRELATION_ID_AND_ERROR_CODE.size:
        return False
    _, error_code = _CORRELATION_ID_AND_ERROR_CODE.unpack_from(frame)
    return bool(error_code == _UNSUPPORTED_VERSION)
