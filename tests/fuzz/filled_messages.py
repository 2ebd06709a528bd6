"""Messages with something in every field, as clients, brokers and processes of a fleet send them."""

from collections.abc import Mapping
from typing import Any, Final

from kproxy.wire.codecs import Message
from kproxy.wire.message_schema import FieldSchema, MessagePart
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record
from tests.worlds.message_values import is_flexible

TOPIC_ID: Final = b"topic-id-orders."
RECORDS: Final = build_batch(
    [Record(b"key", b"value", (("header", b"of it"),)), Record(None, b"another value")],
    producer_id=-1,
    producer_epoch=-1,
    base_sequence=-1,
    timestamp_ms=1_795_262_400_000,
)

_BY_NAME: Final[Mapping[str, Any]] = {
    "group_id": "workers",
    "member_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "client_id": "client-1",
    "host": "broker-1.example",
    "port": 9092,
    "node_id": 1,
    "broker_id": 1,
    "name": "orders",
    "topic_name": "orders",
    "topic": "orders",
    "resource_type": 32,
    "resource_name": "workers",
    "key_type": 2,
    "error_code": 0,
    "acks": -1,
    "timeout_ms": 30_000,
    "first_offset": 100,
    "last_offset": 101,
    "acknowledge_types": 1,
}
_BY_TYPE: Final[Mapping[str, Any]] = {
    "int8": 1,
    "int16": 1,
    "uint16": 1,
    "int32": 1,
    "uint32": 1,
    "int64": 7,
    "bool": True,
    "float64": 0.5,
    "uuid": TOPIC_ID,
    "string": "text",
    "bytes": b"bytes",
    "records": RECORDS,
}


def filled(message_class: type[Message], version: int, *, element_count: int = 1) -> Any:
    """Return a message of that version; each of its arrays has `element_count` elements, with 0 nothing is in them."""
    return _Filling(version, element_count, has_tags=is_flexible(message_class, version)).part(message_class)


class _Filling:
    def __init__(self, version: int, element_count: int, *, has_tags: bool) -> None:
        self._version = version
        self._element_count = element_count
        self._has_tags = has_tags

    def part(self, part: type[MessagePart]) -> Any:
        present = [field for field in part.SCHEMA.fields if self._version in field.versions]
        values = {field.name: self._value(field) for field in present}
        if self._has_tags and self._element_count > 1:
            values["unknown_tagged_fields"] = ((9_999, b"newer"),)
        return part(**values)

    def _value(self, field: FieldSchema) -> Any:
        if field.is_array:
            return [self._single(field) for _ in range(self._element_count)]
        is_nullable = field.nullable_versions is not None and self._version in field.nullable_versions
        return None if is_nullable and self._element_count == 0 else self._single(field)

    def _single(self, field: FieldSchema) -> Any:
        if field.struct is not None:
            return self.part(field.struct)
        found = _BY_NAME.get(field.name)
        expected = _BY_TYPE[field.wire_type]
        return found if type(found) is type(expected) else expected
