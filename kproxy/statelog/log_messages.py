"""Keys and values of log records: a message behind two bytes that say which.

Those of a key are the record type, those of a value its version. Source: `CoordinatorRecordSerde`.
"""

import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeVar

from kproxy.errors import CorruptStateRecord, MalformedMessage, UnsupportedStateRecord, UnwritableStateRecord
from kproxy.wire.byte_streams import UnencodableMessage
from kproxy.wire.codecs import Message, decode, encode
from kproxy.wire.message_schema import VersionRange
from kproxy.wording import counted

VALUE_VERSION: Final = 0
"""The only version there is of any value."""

PRIVATE_RECORD_TYPES: Final = VersionRange(27504, 27519)
"""The record types that are kproxy's own; tools that do not know a type pass over it."""

M = TypeVar("M", bound=Message)

_PREFIX: Final = struct.Struct(">h")


def encode_key(key: Message) -> bytes:
    """Return the bytes of a key: its record type, then its fields. Raises UnwritableStateRecord."""
    return _encode(key.SCHEMA.api_key or 0, key)


def encode_value(value: Message) -> bytes:
    """Return the bytes of a value: its version, then its fields. Raises UnwritableStateRecord."""
    return _encode(VALUE_VERSION, value)


def decode_key(key: bytes | None, key_classes: Mapping[int, type[Message]]) -> Message:
    """Return the key, an instance of one of `key_classes`, which are given by record type.

    Raises:
        UnsupportedStateRecord: a record type of a newer kproxy.
        CorruptStateRecord: no key, another unknown record type, or bytes that are no such key.
    """
    record_type, body = _split(key, "key")
    key_class = key_classes.get(record_type)
    if key_class is not None:
        return _decode(key_class, body)
    if record_type in PRIVATE_RECORD_TYPES:
        raise UnsupportedStateRecord.newer(f"record type {record_type}, which this kproxy does not know")
    raise CorruptStateRecord(f"unknown record type {record_type}")


def decode_value(value: bytes | None, value_class: type[M]) -> M:
    """Return the value, which must be there.

    Raises:
        UnsupportedStateRecord: a newer version of the value.
        CorruptStateRecord: no value, or bytes that are no such value.
    """
    version, body = _split(value, f"value for {value_class.__name__}")
    if version > VALUE_VERSION:
        raise UnsupportedStateRecord.newer(f"{value_class.__name__} in version {version}", VALUE_VERSION)
    if version < VALUE_VERSION:
        raise CorruptStateRecord(f"{value_class.__name__} in version {version}")
    return _decode(value_class, body)


@lru_cache(maxsize=64)
def _prefix(number: int) -> bytes:
    return _PREFIX.pack(number)


def _encode(prefix: int, message: Message) -> bytes:
    try:
        return b"".join((_prefix(prefix), *encode(message, 0)))
    except UnencodableMessage as error:
        raise UnwritableStateRecord(str(error)) from error


def _split(content: bytes | None, what: str) -> tuple[int, memoryview]:
    if content is None or len(content) < _PREFIX.size:
        raise CorruptStateRecord(
            f"no {what}" if content is None else f"a {what} of {counted(len(content), 'byte')}"
        )
    return _PREFIX.unpack_from(content)[0], memoryview(content)[_PREFIX.size :]


def _decode(message_class: type[M], body: memoryview) -> M:
    try:
        return decode(message_class, 0, body)
    except MalformedMessage as error:
        raise CorruptStateRecord(str(error)) from error
