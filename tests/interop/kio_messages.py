"""Our messages as those of kio, a Kafka protocol library that shares no code with us (PyPI)."""

import dataclasses
import datetime as dt
import importlib
import re
import uuid
from collections.abc import Callable
from typing import Any, Final

from kio.schema.errors import ErrorCode

from kproxy.wire.message_schema import ZERO_UUID, Message, MessagePart

_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KINDS: Final = {"request": "Request", "response": "Response", "header": "Header"}
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "error_code": ErrorCode,
    "timedelta_i32": lambda value: dt.timedelta(milliseconds=value),
    "timedelta_i64": lambda value: dt.timedelta(milliseconds=value),
    "datetime_i64": lambda value: None if value == -1 else _EPOCH + dt.timedelta(milliseconds=value),
    "uuid": lambda value: None if value == ZERO_UUID else uuid.UUID(bytes=value),
}
"""By kio's name of a type, how a value of ours becomes one of kio's."""


def kio_class(message_class: type[Message], version: int) -> Any | None:
    """Return kio's class for that version, None when kio has none."""
    schema = message_class.SCHEMA
    api = schema.name if schema.kind == "header" else schema.name.removesuffix(_KINDS.get(schema.kind, ""))
    module_name = f"kio.schema.{_WORD_START.sub('_', api).lower()}.v{version}.{schema.kind}"
    try:
        return getattr(importlib.import_module(module_name), schema.name)
    except ModuleNotFoundError:
        return None


def to_kio(part: MessagePart, kio_part_class: Any, version: int) -> Any:
    """Return `part` as an object of kio. Both list the same fields in the same order; that is checked here."""
    ours = [field.name for field in part.SCHEMA.fields if version in field.versions]
    theirs = dataclasses.fields(kio_part_class)
    assert [_bare(name) for name in ours] == [_bare(field.name) for field in theirs]
    return kio_part_class(
        **{
            field.name: _value(getattr(part, name), field, version)
            for name, field in zip(ours, theirs, strict=True)
        }
    )


def _bare(name: str) -> str:
    """Return a field's name without the unit: kio has durations and times where the wire has milliseconds."""
    return name.removesuffix("_ms")


def _value(value: Any, field: Any, version: int) -> Any:
    if isinstance(value, list):
        return tuple(_value(element, field, version) for element in value)
    if isinstance(value, MessagePart):
        return to_kio(value, _class_named(type(value).__name__, field.type), version)
    convert = _CONVERSIONS.get(field.metadata.get("kafka_type"))
    return value if value is None or convert is None else convert(value)


def _class_named(name: str, annotation: Any) -> Any:
    """Return the class of that name from a type such as `tuple[PartitionData, ...]` or `Assignment | None`."""
    if getattr(annotation, "__name__", None) == name:
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _class_named(name, argument)
        if found is not None:
            return found
    return None
