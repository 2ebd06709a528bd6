"""Our messages as those of kafka-python's codec (module `kafka.protocol`), which shares no code with us."""

import uuid
from typing import Any, Final

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kafka.protocol.sasl
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.schemas.fields.codecs import BitField

from kproxy.wire.message_schema import ZERO_UUID, Message, MessagePart

_MODULES: Final = (
    kafka.protocol.admin,
    kafka.protocol.consumer,
    kafka.protocol.metadata,
    kafka.protocol.producer,
    kafka.protocol.sasl,
)
_CLASSES: Final[dict[str, Any]] = {
    name: value
    for module in _MODULES
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, ApiMessage)
}
_RENAMED: Final = {
    "topic_authorized_operations": "authorized_operations",
    "cluster_authorized_operations": "authorized_operations",
}


def kafka_python_class(message_class: type[Message], version: int) -> Any | None:
    """Return kafka-python's class, None when it does not know the message or the version."""
    found = _CLASSES.get(message_class.__name__)
    return found if found is not None and version <= found.max_version else None


def to_kafka_python(part: MessagePart, their_class: Any, version: int) -> Any:
    """Return `part` as an object of kafka-python. Both list the same fields in the same order; that is checked."""
    ours = [field.name for field in part.SCHEMA.fields if version in field.versions]
    theirs = [field for field in their_class._struct.fields.values() if field.for_version_q(version)]
    assert [_RENAMED.get(name, name) for name in ours] == [field.name for field in theirs]
    values = {
        field.name: _value(getattr(part, name), field, version)
        for name, field in zip(ours, theirs, strict=True)
    }
    return their_class(version=version, **values)


def _value(value: Any, field: Any, version: int) -> Any:
    if isinstance(value, list):
        return [_value(element, field, version) for element in value]
    if isinstance(value, MessagePart):
        return to_kafka_python(value, field.data_class, version)
    if isinstance(value, bytes) and field.type_str == "uuid":
        return None if value == ZERO_UUID else uuid.UUID(bytes=value)
    if isinstance(value, int) and field.type_str == "bitfield":
        return BitField.from_32_bit_field(value)
    return value
