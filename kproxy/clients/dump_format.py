"""Lines of `kproxy log dump -o jsonl`: a record as JSON, and the record that a line shows.

Keys and values look as Kafka's `ShareGroupStateMessageFormatter` prints them, under Kafka's names. What is kproxy's
own, the claim and who acted, is decoded beside. Lines are read back years later: what was once written stays readable.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

from kproxy.clients.failures import WrongDumpLine
from kproxy.clients.log_lines import KEY_CLASSES, VALUE_CLASSES, LogLine
from kproxy.errors import CorruptStateRecord, KproxyError
from kproxy.notation import camel_case
from kproxy.share.identifiers import TopicId, topic_id_of, topic_id_text
from kproxy.share.record_state import AcknowledgeType
from kproxy.statelog.actors import (
    ACTOR_HEADER,
    FIRST_ACTOR_VERSION,
    Actor,
    Cause,
    RecordEnd,
    decode_actor,
    encode_actor,
)
from kproxy.statelog.log_messages import VALUE_VERSION, encode_key, encode_value
from kproxy.wire.message_schema import FieldSchema, Message, MessagePart
from kproxy.wire.records import Record

JsonObject: TypeAlias = dict[str, object]

_TOPIC: Final = "topic"
_PARTITION: Final = "partition"
_OFFSET: Final = "offset"
_TIMESTAMP: Final = "timestamp"
_HEADERS: Final = "headers"
_KEY: Final = "key"
_VALUE: Final = "value"
_TYPE: Final = "type"
_DATA: Final = "data"
_KEY_BYTES: Final = "keyBytes"
_VALUE_BYTES: Final = "valueBytes"

_CAUSE: Final = "cause"
_ACKNOWLEDGE_TYPE: Final = "acknowledgeType"
_END: Final = "end"
_MEMBER_ID: Final = "memberId"
_CLIENT_ID: Final = "clientId"
_CLIENT_HOST: Final = "clientHost"
_OFFSET_RANGES: Final = "offsetRanges"
_FIRST_OFFSET: Final = "firstOffset"
_LAST_OFFSET: Final = "lastOffset"
_VERSION: Final = "version"
_REASON: Final = "reason"

_KEYS_REMEMBERED: Final = 65_536
"""A log has many records of each key."""


def json_of(line: LogLine) -> JsonObject:
    """Return all of a record. Bytes that nobody can read are in base64."""
    record = line.record
    shown: JsonObject = {
        _TOPIC: line.topic,
        _PARTITION: line.partition,
        _OFFSET: record.offset,
        _TIMESTAMP: record.timestamp_ms,
        "claimEpoch": line.claim_epoch,
        _HEADERS: [_shown_header(name, value) for name, value in record.headers],
    }
    if line.key is None:
        raw = {_KEY_BYTES: _base64(record.key), _VALUE_BYTES: _base64(record.value)}
        return {**shown, _KEY: None, _VALUE: None, "error": line.error, **raw}
    value = None if line.value is None else {_VERSION: VALUE_VERSION, _DATA: data_of(line.value)}
    return {**shown, _KEY: {_TYPE: line.key.SCHEMA.api_key, _DATA: data_of(line.key)}, _VALUE: value}


def record_of(line: str, record_types: Container[int]) -> tuple[str, int, Record] | None:
    """Return topic, partition and record of a line; None when its type is none of `record_types`.

    A record that could not be decoded has no type, and is one of every selection. Raises WrongDumpLine when the line is
    none of `kproxy log dump -o jsonl`.
    """
    try:
        shown = json.loads(line)
        if shown[_KEY] is not None and shown[_KEY][_TYPE] not in record_types:
            return None
        headers = tuple((header[_KEY], _header_bytes(header)) for header in shown[_HEADERS])
        record = Record(*_key_and_value(shown), headers, shown[_TIMESTAMP], shown[_OFFSET])
        return str(shown[_TOPIC]), int(shown[_PARTITION]), record
    except (ValueError, LookupError, TypeError, AttributeError, KproxyError) as failure:
        raise WrongDumpLine(f"{type(failure).__name__}: {failure}", f"{line:.80}") from failure


def _key_and_value(shown: Mapping[str, Any]) -> tuple[bytes | None, bytes | None]:
    if shown[_KEY] is None:
        return _bytes(shown[_KEY_BYTES]), _bytes(shown[_VALUE_BYTES])
    record_type, value = shown[_KEY][_TYPE], shown[_VALUE]
    key = _key_bytes(record_type, tuple(shown[_KEY][_DATA].items()))
    value_class = VALUE_CLASSES[KEY_CLASSES[record_type]]
    return key, None if value is None else encode_value(message_of(value_class, value[_DATA]))


@lru_cache(maxsize=_KEYS_REMEMBERED)
def _key_bytes(record_type: int, fields: tuple[tuple[str, Any], ...]) -> bytes:
    return encode_key(message_of(KEY_CLASSES[record_type], dict(fields)))


# ---- messages


@dataclass(frozen=True, slots=True)
class _FieldForm:
    """A field of a message in a line: its name here and there, and how a value goes there and comes back.

    One that may be left out is tagged: a kproxy whose schemas did not have it yet wrote the line.
    """

    name: str
    shown_name: str
    shown: Callable[[Any], Any]
    read: Callable[[Any], Any]
    may_be_left_out: bool


_FORMS: Final[dict[type[MessagePart], Sequence[_FieldForm]]] = {}
"""The fields of each class that was asked for."""


def data_of(message: MessagePart) -> JsonObject:
    """Return the fields of a message under Kafka's names."""
    return {form.shown_name: form.shown(getattr(message, form.name)) for form in _forms(type(message))}


def message_of(message_class: type[Message], data: Mapping[str, Any]) -> Message:
    """Return the message whose fields `data` has under Kafka's names.

    Raises LookupError when one is missing; a tagged field that is missing has its default.
    """
    message = _part_of(message_class, data)
    assert isinstance(message, Message)
    return message


def _part_of(part_class: type[MessagePart], data: Mapping[str, Any]) -> MessagePart:
    told = (form for form in _forms(part_class) if form.shown_name in data or not form.may_be_left_out)
    return part_class(**{form.name: form.read(data[form.shown_name]) for form in told})


def _forms(part_class: type[MessagePart]) -> Sequence[_FieldForm]:
    known = _FORMS.get(part_class)
    if known is None:
        known = _FORMS[part_class] = [_form_of(field) for field in part_class.SCHEMA.fields]
    return known


def _form_of(field: FieldSchema) -> _FieldForm:
    shown, read = _both_ways(field)
    if field.is_array:
        shown, read = _of_each(shown), _of_each(read)
    return _FieldForm(field.name, camel_case(field.name), shown, read, field.tag is not None)


def _both_ways(field: FieldSchema) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return how one value is shown, and how it is read."""
    struct = field.struct
    if struct is not None:
        return _unless_none(data_of), _unless_none(partial(_part_of, struct))
    match field.wire_type:
        case "uuid":
            return lambda value: topic_id_text(TopicId(value)), topic_id_of
        case "bytes":
            return _base64, _bytes
        case _:
            return _as_it_is, _as_it_is


def _of_each(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return _unless_none(lambda values: [function(value) for value in values])


def _unless_none(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else function(value)


def _as_it_is(value: object) -> object:
    return value


# ---- headers


def _shown_header(name: str, value: bytes | None) -> JsonObject:
    if name != ACTOR_HEADER:
        return {_KEY: name, _VALUE: _base64(value)}
    try:
        return {_KEY: name, _VALUE: _shown_actor(decode_actor(value))}
    except CorruptStateRecord as error:
        return {_KEY: name, _VALUE: _base64(value), "error": error.reason}


def _header_bytes(header: Mapping[str, Any]) -> bytes | None:
    value = header[_VALUE]
    if header[_KEY] != ACTOR_HEADER or not isinstance(value, dict):
        return _bytes(value)
    return encode_actor(_actor(value))


def _shown_actor(actor: Actor) -> JsonObject:
    ranges = [{_FIRST_OFFSET: first, _LAST_OFFSET: last} for first, last in actor.offset_ranges]
    return {
        _VERSION: actor.version,
        _CAUSE: actor.cause.value,
        _ACKNOWLEDGE_TYPE: None if actor.acknowledge_type is None else actor.acknowledge_type.name.lower(),
        _END: None if actor.end is None else actor.end.value,
        _MEMBER_ID: actor.member_id,
        _CLIENT_ID: actor.client_id,
        _CLIENT_HOST: actor.client_host,
        _OFFSET_RANGES: ranges,
        **({_REASON: actor.reason} if actor.reason else {}),
    }


def _actor(shown: Mapping[str, Any]) -> Actor:
    """Return whom a line names; lines that were printed before there were versions are of the first."""
    cause, acknowledge_type = Cause(shown[_CAUSE]), shown.get(_ACKNOWLEDGE_TYPE)
    is_limit = shown.get(_END) == RecordEnd.DELIVERY_LIMIT
    return Actor(
        cause,
        shown[_MEMBER_ID],
        shown[_CLIENT_ID],
        shown[_CLIENT_HOST],
        tuple((span[_FIRST_OFFSET], span[_LAST_OFFSET]) for span in shown[_OFFSET_RANGES]),
        None if acknowledge_type is None else AcknowledgeType[acknowledge_type.upper()],
        is_limit and cause is not Cause.DELIVERY_LIMIT,
        shown.get(_VERSION, FIRST_ACTOR_VERSION),
        shown.get(_REASON, ""),
    )


def _base64(content: bytes | None) -> str | None:
    return None if content is None else b64encode(content).decode("ascii")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text, validate=True)
