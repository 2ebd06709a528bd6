"""The fields of a message as JSON has them: Kafka's names, and nothing that a version does not carry."""

from collections.abc import Mapping
from typing import Any

from kproxy.error_codes import ErrorCode
from kproxy.errors import MalformedMessage
from kproxy.notation import camel_case
from kproxy.share.identifiers import TopicId, topic_id_text
from kproxy.wire.message_schema import FieldSchema, MessagePart
from kproxy.wire.record_batches import batch_extents


def fields_of(message: MessagePart, version: int) -> dict[str, Any]:
    """Return the fields that `version` of a message carries, in wire order.

    Uuids are as Kafka writes them. Of bytes the size is told, for they may be passwords, and of records their batches,
    for what clients wrote stays theirs. Error codes have their names beside them, and unknown tagged fields
    are told by tag and size.
    """
    shown: dict[str, Any] = {}
    for field in message.SCHEMA.fields:
        if not _carries(field, version):
            continue
        value = getattr(message, field.name)
        shown[camel_case(field.name)] = _shown(field, value, version)
        if field.name.endswith("error_code") and isinstance(value, int) and (name := _error_name(value)):
            shown[camel_case(field.name.removesuffix("_code"))] = name
    unknown = getattr(message, "unknown_tagged_fields", ())
    if unknown:
        shown["unknownTaggedFields"] = {str(tag): _size_of(value) for tag, value in unknown}
    return shown


def _carries(field: FieldSchema, version: int) -> bool:
    return version in field.versions or (
        field.tagged_versions is not None and version in field.tagged_versions
    )


def _shown(field: FieldSchema, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [_shown_one(field, each, version) for each in value]
    return _shown_one(field, value, version)


def _shown_one(field: FieldSchema, value: Any, version: int) -> Any:
    if field.struct is not None:
        return None if value is None else fields_of(value, version)
    match field.wire_type:
        case "uuid":
            return topic_id_text(TopicId(value))
        case "bytes":
            return _size_of(value)
        case "records":
            return _batches_of(value)
        case _:
            return value


def _batches_of(records: bytes | memoryview) -> Mapping[str, object]:
    shown = _size_of(records)
    try:
        extents = batch_extents(memoryview(records))
    except MalformedMessage as error:
        return shown | {"malformed": str(error)}
    return shown | {
        "batches": [
            {
                "firstOffset": extent.first_offset,
                "lastOffset": extent.last_offset,
                "sizeBytes": extent.size_bytes,
            }
            for extent in extents
        ]
    }


def _size_of(value: bytes | memoryview) -> dict[str, Any]:
    return {"sizeBytes": len(value)}


def _error_name(error_code: int) -> str | None:
    return next((each.name for each in ErrorCode if each == error_code and error_code), None)
