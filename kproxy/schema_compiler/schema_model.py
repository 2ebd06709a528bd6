"""Message definitions in Kafka's JSON form, read strictly: what is not understood is refused.

Source: the README beside Kafka's own definitions (clients/src/main/resources/common/message), and KIP-482 for
tags.
"""

import json
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kproxy.errors import KproxyError

LATEST: Final = 32767
INTEGER_BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_VARIABLE_SIZE_TYPES: Final = frozenset({"string", "bytes", "records"})
PRIMITIVE_TYPES: Final = frozenset(INTEGER_BOUNDS) | _VARIABLE_SIZE_TYPES | {"bool", "float64", "uuid"}
_ZERO_VALUES: Final[Mapping[str, bool | float | str | bytes]] = {
    "bool": False,
    "float64": 0.0,
    "string": "",
    "uuid": bytes(16),
    "bytes": b"",
    "records": b"",
}

_KINDS_WITHOUT_API_KEY: Final = frozenset({"header", "data"})
_KINDS: Final = (
    frozenset({"request", "response", "coordinator-key", "coordinator-value"}) | _KINDS_WITHOUT_API_KEY
)
_MESSAGE_KEYS: Final = frozenset(
    {
        *("name", "type", "apiKey", "listeners", "validVersions", "flexibleVersions"),
        *("latestVersionUnstable", "about", "fields", "commonStructs"),
    }
)
_COMMON_STRUCT_KEYS: Final = frozenset({"name", "versions", "fields"})
_FIELD_KEYS: Final = frozenset(
    {
        *("name", "type", "versions", "about", "fields", "nullableVersions", "tag", "taggedVersions"),
        *("flexibleVersions", "default", "ignorable", "mapKey", "entityType"),
    }
)
_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_VERSIONS: Final = re.compile(r"(\d+)(?:(\+)|-(\d+))?")


class SchemaError(KproxyError):
    """A definition the compiler does not understand; `python -m kproxy.schema_compiler` exits with 2."""


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions from `first` to `last`, both inclusive; `last` is LATEST for an open range."""

    first: int
    last: int

    def overlaps(self, other: "VersionRange") -> bool:
        """Whether any version lies in both."""
        return self.first <= other.last and other.first <= self.last

    def covers(self, other: "VersionRange") -> bool:
        """Whether every version of `other` lies in this range."""
        return self.first <= other.first and other.last <= self.last


@dataclass(frozen=True, slots=True)
class Field:
    """One field, in Kafka's names; `type` is without the `[]` of an array.

    `default` None means null; it says nothing where the default is an empty list or a struct of defaults.
    """

    name: str
    type: str
    is_array: bool
    versions: VersionRange
    nullable_versions: VersionRange | None
    tag: int | None
    tagged_versions: VersionRange | None
    default: bool | float | str | bytes | None
    is_null_by_default: bool
    is_ignorable: bool
    is_never_flexible: bool
    about: str

    @property
    def is_struct(self) -> bool:
        """Whether the type, of the elements for an array, is a struct of this message."""
        return self.type not in PRIMITIVE_TYPES


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct inside of a message, with its fields in wire order."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """A message. `structs` holds each of its structs once, behind those it is built of."""

    name: str
    kind: str
    api_key: int | None
    about: str
    valid_versions: VersionRange
    flexible_versions: VersionRange | None
    fields: tuple[Field, ...]
    structs: tuple[Struct, ...]

    def references_to(self, struct_name: str) -> Iterator[tuple[str, Field]]:
        """Yield the name of the owner, and the field, of everything that is made of `struct_name`."""
        for owner, fields in ((self.name, self.fields), *((s.name, s.fields) for s in self.structs)):
            yield from ((owner, field) for field in fields if field.type == struct_name)


def read_schemas(directory: Path) -> list[Schema]:
    """Read every `*.json` below `directory`, ordered by name. Raises SchemaError, naming the file."""
    schemas = [read_schema(path) for path in sorted(directory.rglob("*.json"), key=lambda path: path.stem)]
    if not schemas:
        raise SchemaError(f"{directory}: no message definition below this directory")
    return schemas


def read_schema(path: Path) -> Schema:
    """Read one file, which must be named as its message. Raises SchemaError, naming the file."""
    try:
        schema = parse_schema(json.loads(path.read_text(encoding="utf-8")))
    except (SchemaError, json.JSONDecodeError) as error:
        raise SchemaError(f"{path}: {error}") from error
    if schema.name != path.stem:
        raise SchemaError(f"{path}: holds {schema.name}; a file is named as its message")
    return schema


def parse_schema(definition: object) -> Schema:
    """Turn parsed JSON into a Schema. Raises SchemaError, saying where and what."""
    message = _object(definition, "message", _MESSAGE_KEYS)
    name = _name(message, "message")
    kind = _text(message, "type", name)
    if kind not in _KINDS:
        raise SchemaError(f"{name}: type {kind!r} is none of {', '.join(sorted(_KINDS))}")
    api_key = message.get("apiKey")
    if (api_key is None) != (kind in _KINDS_WITHOUT_API_KEY) or not isinstance(api_key, int | None):
        raise SchemaError(f"{name}: apiKey {api_key!r} does not suit type {kind!r}")
    return _MessageParser(name, message).schema(kind, api_key)


class _MessageParser:
    """Parses one message, gathering its structs on the way."""

    def __init__(self, name: str, message: Mapping[str, Any]) -> None:
        self._name = name
        self._message = message
        self._valid_versions = _versions(_text(message, "validVersions", name), name)
        self._flexible_versions = _optional_versions(_text(message, "flexibleVersions", name), name)
        self._structs: dict[str, Struct] = {}
        self._common_structs: dict[str, Mapping[str, Any]] = {}
        for common in _list(message.get("commonStructs", []), name):
            definition = _object(common, name, _COMMON_STRUCT_KEYS)
            self._common_structs[_name(definition, name)] = definition

    def schema(self, kind: str, api_key: int | None) -> Schema:
        """Return the finished message."""
        fields = self._fields(self._message, self._name)
        unused = self._common_structs.keys() - self._structs.keys()
        if unused:
            raise SchemaError(f"{self._name}: nothing uses the common structs {', '.join(sorted(unused))}")
        return Schema(
            name=self._name,
            kind=kind,
            api_key=api_key,
            about=_about(self._message, self._name),
            valid_versions=self._valid_versions,
            flexible_versions=self._flexible_versions,
            fields=fields,
            structs=tuple(self._structs.values()),
        )

    def _fields(self, owner: Mapping[str, Any], owner_name: str) -> tuple[Field, ...]:
        fields = tuple(self._field(entry, owner_name) for entry in _list(owner.get("fields"), owner_name))
        names = [field.name for field in fields]
        tags = [field.tag for field in fields if field.tag is not None]
        if len(set(names)) != len(names) or len(set(tags)) != len(tags):
            raise SchemaError(f"{owner_name}: a name or a tag stands twice")
        return fields

    def _field(self, entry: object, owner_name: str) -> Field:
        definition = _object(entry, owner_name, _FIELD_KEYS)
        where = f"{owner_name}.{_name(definition, owner_name)}"
        type_name = _text(definition, "type", where)
        is_array = type_name.startswith("[]")
        type_name = type_name.removeprefix("[]")
        self._add_struct(type_name, definition, where)
        versions = _versions(_text(definition, "versions", where), where)
        nullable_versions = _optional_versions(definition.get("nullableVersions", "none"), where)
        can_be_null = nullable_versions is not None and nullable_versions.overlaps(self._valid_versions)
        default = _Default(where, type_name, is_array=is_array, is_nullable=can_be_null)
        is_null_by_default = default.is_null(definition.get("default"))
        tag, tagged_versions = self._tag(definition, where, versions)
        return Field(
            name=definition["name"],
            type=type_name,
            is_array=is_array,
            versions=versions,
            nullable_versions=nullable_versions if can_be_null else None,
            tag=tag,
            tagged_versions=tagged_versions,
            default=None if is_null_by_default else default.value(definition.get("default")),
            is_null_by_default=is_null_by_default,
            is_ignorable=_flag(definition, "ignorable", where),
            is_never_flexible=_is_never_flexible(definition, where),
            about=_about(definition, where),
        )

    def _add_struct(self, type_name: str, definition: Mapping[str, Any], where: str) -> None:
        if type_name in PRIMITIVE_TYPES:
            if "fields" in definition:
                raise SchemaError(f"{where}: a {type_name} has no fields")
            return
        if "fields" not in definition:
            self._use_common_struct(type_name, where)
            return
        if type_name in self._structs or type_name in self._common_structs or type_name == self._name:
            raise SchemaError(f"{where}: struct {type_name} is defined twice")
        if not _NAME.fullmatch(type_name):
            raise SchemaError(f"{where}: {type_name!r} is no type")
        self._structs[type_name] = Struct(type_name, self._fields(definition, type_name))

    def _use_common_struct(self, type_name: str, where: str) -> None:
        if type_name in self._structs:
            return
        if type_name not in self._common_structs:
            raise SchemaError(f"{where}: {type_name!r} is no type, and no common struct either")
        self._structs[type_name] = Struct(type_name, self._fields(self._common_structs[type_name], type_name))

    def _tag(
        self, definition: Mapping[str, Any], where: str, versions: VersionRange
    ) -> tuple[int | None, VersionRange | None]:
        tagged_versions = _optional_versions(definition.get("taggedVersions", "none"), where)
        tag = definition.get("tag")
        if (tag is None) != (tagged_versions is None) or not isinstance(tag, int | None):
            raise SchemaError(f"{where}: a tag and taggedVersions come together")
        if tagged_versions is None:
            return None, None
        if self._flexible_versions is None or not self._flexible_versions.covers(tagged_versions):
            raise SchemaError(f"{where}: only flexible versions have tags")
        if not tagged_versions.overlaps(versions):
            raise SchemaError(f"{where}: tagged in versions that lack it")
        return tag, tagged_versions


@dataclass(frozen=True, slots=True)
class _Default:
    """Reads the default of a field of one type."""

    where: str
    type_name: str
    is_array: bool
    is_nullable: bool

    def is_null(self, written: object) -> bool:
        """Whether the default is null: it says so, or nothing is said of nullable records (as in Kafka)."""
        if written is None:
            return self.type_name == "records" and self.is_nullable
        if written != "null":
            return False
        if not self.is_nullable:
            raise SchemaError(f"{self.where}: null by default, but never nullable")
        return True

    def value(self, written: object) -> bool | float | str | bytes | None:
        """Return the default as Python has it; None for empty lists and structs, made afresh each time."""
        if self.is_array or self.type_name not in PRIMITIVE_TYPES:
            if written is not None:
                raise SchemaError(f"{self.where}: default {written!r} of an array or a struct")
            return None
        if written is None:
            return _ZERO_VALUES.get(self.type_name, 0)
        return self._parsed(str(written) if isinstance(written, int | float) else written)

    def _parsed(self, written: object) -> bool | float | str:
        match self.type_name, written:
            case "string", str(text):
                return text
            case "bool", "true" | "True":
                return True
            case "bool", "false" | "False":
                return False
            case "float64", str(text):
                return float(text)
            case kind, str(text) if kind in INTEGER_BOUNDS:
                return self._integer(text)
        raise SchemaError(f"{self.where}: default {written!r} of a {self.type_name}")

    def _integer(self, text: str) -> int:
        try:
            number = int(text, 0)
        except ValueError as error:
            raise SchemaError(f"{self.where}: default {text!r} is no integer") from error
        lowest, highest = INTEGER_BOUNDS[self.type_name]
        if not lowest <= number <= highest:
            raise SchemaError(f"{self.where}: default {text} is out of the bounds of {self.type_name}")
        return number


def _object(value: object, where: str, known_keys: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise SchemaError(f"{where}: an object was expected, not {value!r}")
    unknown = value.keys() - known_keys
    if unknown:
        raise SchemaError(f"{value.get('name', where)}: unknown keys {', '.join(sorted(unknown))}")
    return value


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise SchemaError(f"{where}: a list was expected, not {value!r}")
    return value


def _text(definition: Mapping[str, Any], key: str, where: str) -> str:
    value = definition.get(key)
    if not isinstance(value, str):
        raise SchemaError(f"{where}: {key} is missing or no string")
    return value


def _about(definition: Mapping[str, Any], where: str) -> str:
    about = _text(definition, "about", where).strip()
    if not about.endswith((".", "?")):
        raise SchemaError(f"{where}: about is a sentence and ends with a full stop")
    return about


def _name(definition: Mapping[str, Any], where: str) -> str:
    name = _text(definition, "name", where)
    if not _NAME.fullmatch(name) or keyword.iskeyword(name.lower()):
        raise SchemaError(f"{where}: {name!r} cannot be a name")
    return name


def _flag(definition: Mapping[str, Any], key: str, where: str) -> bool:
    value = definition.get(key, False)
    if not isinstance(value, bool):
        raise SchemaError(f"{where}: {key} is true or false, not {value!r}")
    return value


def _is_never_flexible(definition: Mapping[str, Any], where: str) -> bool:
    value = definition.get("flexibleVersions")
    if value not in {None, "none"}:
        raise SchemaError(f"{where}: flexibleVersions of a field can only be none, not {value!r}")
    return value == "none"


def _versions(text: str, where: str) -> VersionRange:
    versions = _optional_versions(text, where)
    if versions is None:
        raise SchemaError(f"{where}: versions are needed")
    return versions


def _optional_versions(text: object, where: str) -> VersionRange | None:
    if text == "none":
        return None
    found = _VERSIONS.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise SchemaError(f"{where}: {text!r} is no range of versions")
    first = int(found[1])
    last = LATEST if found[2] else int(found[3] or first)
    if last < first or last > LATEST:
        raise SchemaError(f"{where}: {text!r} is no range of versions")
    return VersionRange(first, last)
