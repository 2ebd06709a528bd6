"""Lines of `kproxy log dump` back into the records that they show."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from kproxy.errors import ExitCode, KproxyError
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.sources.raw_records import RAW_ARROW_SCHEMA, batch_of
from kproxy.notation import camel_case
from kproxy.share.identifiers import topic_id_of
from kproxy.share.record_state import AcknowledgeType
from kproxy.statelog.actors import (
    ACTOR_HEADER,
    FIRST_ACTOR_VERSION,
    Actor,
    Cause,
    RecordEnd,
    encode_actor,
)
from kproxy.statelog.log_messages import encode_key, encode_value
from kproxy.wire.message_schema import FieldSchema, Message, MessagePart
from kproxy.wire.messages.kproxy_claim_key import KproxyClaimKey
from kproxy.wire.messages.kproxy_claim_value import KproxyClaimValue
from kproxy.wire.messages.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from kproxy.wire.messages.share_group_state_partition_metadata_value import (
    ShareGroupStatePartitionMetadataValue,
)
from kproxy.wire.messages.share_snapshot_key import ShareSnapshotKey
from kproxy.wire.messages.share_snapshot_value import ShareSnapshotValue
from kproxy.wire.messages.share_update_key import ShareUpdateKey
from kproxy.wire.messages.share_update_value import ShareUpdateValue
from kproxy.wire.records import Record

DUMP_ARROW_SCHEMA: Final = pa.schema([pa.field("topic", pa.string()), *RAW_ARROW_SCHEMA])
"""Rows of the log, and the topic that each came from."""

_CLASSES: Final[Mapping[int, tuple[type[Message], type[Message]]]] = {
    key_class.SCHEMA.api_key or 0: (key_class, value_class)
    for key_class, value_class in (
        (ShareSnapshotKey, ShareSnapshotValue),
        (ShareUpdateKey, ShareUpdateValue),
        (KproxyClaimKey, KproxyClaimValue),
        (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
    )
}
"""What replay makes something of. Of the groups topic that is the record that names topics."""

_KEYS_REMEMBERED: Final = 65_536
"""A log has many records of each key."""
_FIELD_READERS: Final[dict[type[MessagePart], Sequence[tuple[str, str, Callable[[Any], Any]]]]] = {}
"""What reads the fields of each class that was asked for: their names, here and in lines, and how."""


def record_of(line: str) -> tuple[str, int, Record] | None:
    """Return topic, partition and record of a line; None for a record of the groups topic that replay has no use for.

    Raises JobFailed when the line is none of `kproxy log dump -o jsonl`.
    """
    try:
        shown = json.loads(line)
        messages = _messages(shown)
        if messages is None:
            return None
        headers = tuple((header["key"], _header_value(header)) for header in shown["headers"])
        record = Record(*messages, headers, shown["timestamp"], shown["offset"])
        return str(shown["topic"]), int(shown["partition"]), record
    except (ValueError, LookupError, TypeError, AttributeError, KproxyError) as failure:
        raise JobFailed(
            f"no line of kproxy log dump -o jsonl ({type(failure).__name__}: {failure}): {line:.80}",
            ExitCode.USAGE,
        ) from failure


def rows_of_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn batches of lines into batches of DUMP_ARROW_SCHEMA, on an executor."""
    with told_to_driver():
        for batch in batches:
            yield _rows([found for line in _lines_in(batch) if (found := record_of(line)) is not None])


def _lines_in(batch: pa.RecordBatch) -> list[str]:
    """Return the lines that are not empty. Raises JobFailed for bytes that are no text."""
    try:
        return [line for line in batch.column(0).to_pylist() if line.strip()]
    except UnicodeDecodeError as failure:
        raise JobFailed(
            f"no line of kproxy log dump -o jsonl (no UTF-8 at byte {failure.start}): {failure.object[:80]!r}",
            ExitCode.USAGE,
        ) from failure


def _rows(found: Sequence[tuple[str, int, Record]]) -> pa.RecordBatch:
    rows = batch_of(0, [record for _, _, record in found])
    topics = pa.array([topic for topic, _, _ in found], pa.string())
    partitions = pa.array([partition for _, partition, _ in found], pa.int32())
    return pa.RecordBatch.from_arrays([topics, partitions, *rows.columns[1:]], schema=DUMP_ARROW_SCHEMA)


def _messages(shown: Mapping[str, Any]) -> tuple[bytes | None, bytes | None] | None:
    if shown["key"] is None:
        return _bytes(shown["keyBytes"]), _bytes(shown["valueBytes"])
    classes = _CLASSES.get(shown["key"]["type"])
    if classes is None:
        return None
    key = _key_bytes(shown["key"]["type"], tuple(shown["key"]["data"].items()))
    value = shown["value"]
    return key, None if value is None else encode_value(message_of(classes[1], value["data"]))


@lru_cache(maxsize=_KEYS_REMEMBERED)
def _key_bytes(record_type: int, fields: tuple[tuple[str, Any], ...]) -> bytes:
    key_class, _ = _CLASSES[record_type]
    return encode_key(message_of(key_class, dict(fields)))


def message_of(message_class: type[Message], data: Mapping[str, Any]) -> Message:
    """Return the message whose fields `data` has under Kafka's names. Raises LookupError when one is missing."""
    message = _part_of(message_class, data)
    assert isinstance(message, Message)
    return message


def _part_of(part_class: type[MessagePart], data: Mapping[str, Any]) -> MessagePart:
    values = {name: read(data[shown]) for name, shown, read in _field_readers(part_class)}
    return part_class(**values)


def _field_readers(part_class: type[MessagePart]) -> Sequence[tuple[str, str, Callable[[Any], Any]]]:
    known = _FIELD_READERS.get(part_class)
    if known is None:
        fields = part_class.SCHEMA.fields
        known = [(field.name, camel_case(field.name), _reader_of(field)) for field in fields]
        _FIELD_READERS[part_class] = known
    return known


def _reader_of(field: FieldSchema) -> Callable[[Any], Any]:
    read_one = _reader_of_one(field)
    if not field.is_array:
        return read_one
    return lambda values: None if values is None else [read_one(value) for value in values]


def _reader_of_one(field: FieldSchema) -> Callable[[Any], Any]:
    struct = field.struct
    if struct is not None:
        return lambda value: None if value is None else _part_of(struct, value)
    if field.wire_type == "uuid":
        return topic_id_of
    if field.wire_type == "bytes":
        return _bytes
    return lambda value: value


def _header_value(header: Mapping[str, Any]) -> bytes | None:
    value = header["value"]
    if header["key"] != ACTOR_HEADER or not isinstance(value, dict):
        return _bytes(value)
    return encode_actor(_actor(value))


def _actor(shown: Mapping[str, Any]) -> Actor:
    """Return whom a line names; lines that were printed before there were versions are of the first."""
    cause, acknowledge_type = Cause(shown["cause"]), shown.get("acknowledgeType")
    is_limit = shown.get("end") == RecordEnd.DELIVERY_LIMIT
    return Actor(
        cause,
        shown["memberId"],
        shown["clientId"],
        shown["clientHost"],
        tuple((span["firstOffset"], span["lastOffset"]) for span in shown["offsetRanges"]),
        None if acknowledge_type is None else AcknowledgeType[acknowledge_type.upper()],
        is_limit and cause is not Cause.DELIVERY_LIMIT,
        shown.get("version", FIRST_ACTOR_VERSION),
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text, validate=True)
