"""Every message and version, and Hypothesis strategies for their values, made of the field tables alone."""

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st

import kproxy.wire.messages
from kproxy.wire.message_schema import FieldSchema, Message, MessagePart

_INTEGERS: Final = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
}
_VALUES: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    **_INTEGERS,
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16),
    # Lengths around 127 need a second byte in a varint.
    "string": st.text(max_size=8) | st.integers(120, 130).map("é".__mul__),
    "bytes": st.binary(max_size=8) | st.integers(120, 130).map(b"b".__mul__),
    "records": st.binary(max_size=8) | st.integers(120, 130).map(b"r".__mul__),
}
SHORT: Final = {
    kind: st.text(max_size=3) if kind == "string" else st.binary(max_size=3)
    for kind in ("string", "bytes", "records")
}
"""Strategies by wire type for messages of few bytes."""


def message_classes() -> list[type[Message]]:
    """Return every message class there is, by name."""
    found: dict[str, type[Message]] = {}
    for module_info in pkgutil.iter_modules(kproxy.wire.messages.__path__):
        module = importlib.import_module(f"kproxy.wire.messages.{module_info.name}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Message) and value is not Message:
                found[value.__name__] = value
    return [found[name] for name in sorted(found)]


def message_versions() -> list[tuple[type[Message], int]]:
    """Return every version of every message."""
    return [
        (message_class, version)
        for message_class in message_classes()
        for version in range(
            message_class.SCHEMA.valid_versions.first, message_class.SCHEMA.valid_versions.last + 1
        )
    ]


def name_of_version(value: object) -> str:
    """Return how a test of one message and version is called (an `ids` of pytest)."""
    return value.__name__ if isinstance(value, type) else f"v{value}"


def few_examples(divisor: int) -> settings:
    """Return the settings of the profile with that many times fewer examples, for tests run on every version."""
    return settings(max_examples=max(2, settings().max_examples // divisor))


def is_flexible(message_class: type[Message], version: int) -> bool:
    """Whether that version has tagged fields and compact lengths."""
    flexible = message_class.SCHEMA.flexible_versions
    return flexible is not None and version in flexible


def is_tagged(field: FieldSchema, version: int) -> bool:
    """Whether the field is a tagged one in that version."""
    return field.tagged_versions is not None and version in field.tagged_versions


class Values:
    """Strategies for the values that one version of a message can carry.

    `special` replaces the strategies of fields by name, or of wire types; `unknown_tags` adds fields that the schema
    does not know.
    """

    def __init__(
        self,
        message_class: type[Message],
        version: int,
        *,
        unknown_tags: bool = True,
        special: Mapping[str, st.SearchStrategy[Any]] | None = None,
    ) -> None:
        self._message_class = message_class
        self._version = version
        self._has_unknown_tags = unknown_tags and is_flexible(message_class, version)
        self._special = special or {}

    def messages(self) -> st.SearchStrategy[Any]:
        """Return the strategy of whole messages."""
        return self._struct(self._message_class)

    def _struct(self, part: type[MessagePart]) -> st.SearchStrategy[Any]:
        present = [field for field in part.SCHEMA.fields if self._version in field.versions]
        values = {field.name: self._field(field) for field in present}
        if self._has_unknown_tags:
            known = {field.tag for field in present if is_tagged(field, self._version)}
            values["unknown_tagged_fields"] = _unknown_tagged_fields(known)
        return st.builds(part, **values)

    def _field(self, field: FieldSchema) -> st.SearchStrategy[Any]:
        if field.struct is not None:
            value = self._struct(field.struct)
        else:
            value = self._special.get(field.wire_type, _VALUES[field.wire_type])
            value = self._special.get(field.name, value)
        if field.is_array:
            value = st.lists(value, max_size=3)
        if field.nullable_versions is not None and self._version in field.nullable_versions:
            value = st.none() | value
        return value


_STRATEGIES: Final[dict[tuple[type[Message], int, bool], st.SearchStrategy[Any]]] = {}


def messages_of(message_class: type[Message], version: int, *, short: bool = False) -> st.SearchStrategy[Any]:
    """Return the strategy of what one version of a message can carry, or of small ones; made once, being slow."""
    key = (message_class, version, short)
    if key not in _STRATEGIES:
        _STRATEGIES[key] = Values(message_class, version, special=SHORT if short else None).messages()
    return _STRATEGIES[key]


def _unknown_tagged_fields(
    known: set[int | None],
) -> st.SearchStrategy[tuple[tuple[int, bytes], ...]]:
    tags = st.integers(0, 20) | st.integers(0, 2**32 - 1)
    fields = st.dictionaries(tags.filter(lambda tag: tag not in known), st.binary(max_size=5), max_size=2)
    return st.just(()) | fields.map(lambda found: tuple(sorted(found.items())))
