"""Frames: a length of four bytes (int32, big-endian, itself not counted), then that many bytes.

Only the head of a frame is read here: what routing needs of a request (12 bytes with the length) and what
matching needs of a response (8 bytes). Bodies are nobody's business until somebody decodes them.
"""

import struct
from typing import Final, NamedTuple

from kproxy.errors import PeerViolation
from kproxy.wording import counted

LENGTH_BYTES: Final = 4
REQUEST_HEAD_BYTES: Final = 12
RESPONSE_HEAD_BYTES: Final = 8

# A request is at least key, version and correlation id; a response is at least a correlation id.
MIN_REQUEST_BYTES: Final = 8
MIN_RESPONSE_BYTES: Final = 4

unpack_request_head = struct.Struct(">ihhi").unpack_from
"""(length, api key, api version, correlation id) at an offset."""
unpack_response_head = struct.Struct(">ii").unpack_from
"""(length, correlation id) at an offset."""


class RequestHead(NamedTuple):
    """What is known of a request before its body is looked at."""

    api_key: int
    api_version: int
    correlation_id: int


_HTTP_STARTS: Final = (
    b"GET ",
    b"POST",
    b"PUT ",
    b"HEAD",
    b"DELE",
    b"OPTI",
    b"PATC",
    b"CONN",
    b"TRAC",
    b"PRI ",
    b"HTTP",
)
_TLS_HANDSHAKE: Final = 0x16
_TLS_ALERT: Final = 0x15
_TLS_MAJOR_VERSION: Final = 0x03


def refuse_request_length(first_bytes: bytes | memoryview, length: int, max_bytes: int) -> None:
    """Raise the PeerViolation that names what a client really sent, if `length` cannot be a request's.

    Args:
        first_bytes: the frame's first bytes, its length included; at least four.
        length: the length as read from them.
        max_bytes: `socket.request.max.bytes`, inclusive.
    """
    if MIN_REQUEST_BYTES <= length <= max_bytes:
        return
    foreign = name_foreign_protocol(bytes(first_bytes[:LENGTH_BYTES]))
    if foreign is not None:
        raise PeerViolation(*foreign)
    if length < 0:
        raise PeerViolation("frame_length_negative", f"a frame of {counted(length, 'byte')} was announced")
    if length < MIN_REQUEST_BYTES:
        detail = (
            f"a frame of {counted(length, 'byte')} was announced; a request has at least {MIN_REQUEST_BYTES}"
        )
        raise PeerViolation("frame_too_short", detail)
    detail = f"a frame of {counted(length, 'byte')} was announced; socket.request.max.bytes is {max_bytes}"
    raise PeerViolation("frame_too_large", detail)


def refuse_response_length(first_bytes: bytes | memoryview, length: int) -> None:
    """Raise the PeerViolation that names what a broker really sent, if `length` cannot be a response's."""
    # A TLS alert read as a length is 352,518,912 and more: it would pass for a huge response.
    foreign = name_foreign_protocol(bytes(first_bytes[:LENGTH_BYTES]))
    if foreign is not None:
        raise PeerViolation(*foreign)
    if length < MIN_RESPONSE_BYTES:
        raise PeerViolation(
            "frame_too_short", f"a response of {counted(length, 'byte')} was announced; it has at least 4"
        )


def name_foreign_protocol(first_bytes: bytes) -> tuple[str, str] | None:
    """Return (reason, explanation) when four bytes begin a TLS record, HTTP or a PROXY header instead of Kafka.

    Read as a Kafka length each of them is above 218 MiB, so a frame of that size is told apart by its first bytes.
    """
    if first_bytes[0] == _TLS_HANDSHAKE and first_bytes[1] == _TLS_MAJOR_VERSION:
        return (
            "tls_on_plaintext",
            "the peer began a TLS handshake; this side speaks plaintext (security.protocol)",
        )
    if first_bytes[0] == _TLS_ALERT and first_bytes[1] == _TLS_MAJOR_VERSION:
        return "tls_on_plaintext", "the peer sent a TLS alert: its port speaks TLS, this side plaintext"
    if first_bytes in _HTTP_STARTS:
        return (
            "http_on_kafka_port",
            "the peer speaks HTTP; this is a Kafka port (metrics are on the admin port)",
        )
    if first_bytes in {b"PROX", b"\r\n\r\n"}:
        return (
            "proxy_header",
            "the peer sent a PROXY protocol header, which kproxy does not read: turn it off there",
        )
    return None
