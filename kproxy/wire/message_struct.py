"""The construct tree of one version of a message: the schema at run time, and the reference codec.

A MessageStruct is a `construct.Struct` that parses into the message class and builds from it. Its members are

1. named constructs, for the fields the version has, in wire order;
2. `AbsentField`s, for those it lacks: nothing is read, and building checks that nothing is lost;
3. in flexible versions a `TaggedFields` at the end (KIP-482).

`codec_emitter` walks exactly this tree; it never sees the field tables.
"""
# ruff: noqa: ARG002, SLF001 - _parsereport, _parse and _build with these arguments are construct's own protocol

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from construct import Construct, Struct

from kproxy.errors import MalformedMessage
from kproxy.wire.byte_streams import ByteSink, ByteSource, UnencodableMessage, read_exactly
from kproxy.wire.codec_runtime import MANY_TAGS, PackedTags
from kproxy.wire.length_prefixes import COMPACT_LENGTH, INT16_LENGTH, INT32_LENGTH, LengthPrefix
from kproxy.wire.message_schema import FieldSchema, Message, MessagePart, default_values
from kproxy.wire.primitives import (
    BOOL,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT16,
    UINT32,
    UUID,
    Array,
    ByteString,
    FixedWidth,
    Nullable,
    Records,
    String,
    WireConstruct,
)
from kproxy.wire.varints import encode_varint, read_varint
from kproxy.wording import counted

UNKNOWN_TAGGED_FIELDS: Final = "unknown_tagged_fields"

_FIXED_WIDTH: Final[dict[str, FixedWidth]] = {
    construct.type_name: construct
    for construct in (BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID)
}


class AbsentField(WireConstruct):
    """A field that this version lacks.

    Parsing leaves the default. Building refuses any other value, because the peer would never learn of it,
    unless the schema calls the field ignorable.
    """

    minimum_size = 0

    def __init__(self, name: str, default: object, *, is_ignorable: bool) -> None:
        super().__init__()
        self.name = name
        self.default: Final = default
        self.is_ignorable: Final = is_ignorable

    def _parse(self, stream: ByteSource, context: Any, path: str) -> dict[str, Any]:
        return {}

    def _build(self, obj: Any, stream: ByteSink, context: Any, path: str) -> None:
        value = getattr(obj, self.name)
        if not self.is_ignorable and value != self.default:
            raise UnencodableMessage(f"{path}: this version has no {self.name}, which is {value!r}")


@dataclass(frozen=True, slots=True)
class TaggedField:
    """A field that is written under `tag`, and only when its value is not `default`."""

    tag: int
    name: str
    construct: Construct
    default: object


class TaggedFields(WireConstruct):
    """The tagged fields at the end of a struct: those the schema knows, and the bytes of all others.

    Parsing accepts any order of tags, as Kafka does, but none twice. Building writes them in rising order. Where the
    schema knows no tags, more than `MANY_TAGS` must come by rising tag, so that they can be kept as they are.
    """

    minimum_size = 1

    def __init__(self, known: Sequence[TaggedField]) -> None:
        super().__init__()
        self.known: Final = {field.tag: field for field in known}

    def _parse(self, stream: ByteSource, context: Any, path: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        unknown: dict[int, bytes] = {}
        count = read_varint(stream, path)
        start = stream.position
        for _ in range(count):
            tag, size = read_varint(stream, path), read_varint(stream, path)
            field = self.known.get(tag)
            name = str(tag) if field is None else field.name
            if tag in unknown or name in values:
                raise MalformedMessage(f"{path}: tag {tag} stands twice")
            content = read_exactly(stream, size, f"{path} -> {name}")
            if field is None:
                unknown[tag] = bytes(content)
            else:
                values[name] = _parse_whole(field.construct, content, context, f"{path} -> {name}")
        if not self.known and count > MANY_TAGS:
            tidy = encode_tagged_fields([*unknown.items()])
            if not tidy.endswith(bytes(stream.view[start : stream.position])):
                raise MalformedMessage(
                    f"{path}: among {counted(count, 'tag')} that nobody knows one does not rise"
                )
        return {**values, UNKNOWN_TAGGED_FIELDS: tuple(sorted(unknown.items()))}

    def _build(self, obj: Any, stream: ByteSink, context: Any, path: str) -> None:
        fields = [*self._known_fields(obj, context, path), *getattr(obj, UNKNOWN_TAGGED_FIELDS)]
        stream.write(encode_tagged_fields(fields))

    def _known_fields(self, obj: Any, context: Any, path: str) -> Iterator[tuple[int, bytes]]:
        for field in self.known.values():
            value = getattr(obj, field.name)
            if value != field.default:
                sink = ByteSink()
                field.construct._build(value, sink, context, f"{path} -> {field.name}")
                yield field.tag, b"".join(sink.chunks())


class MessageStruct(WireConstruct, Struct):  # type: ignore[misc]  # construct publishes no types
    """One version of a message or of a struct in it. Parses into `message_class` and builds from it."""

    def __init__(self, message_class: type[MessagePart], *members: Construct) -> None:
        super().__init__(*members)
        self.message_class = message_class
        self.minimum_size = sum(member.minimum_size for member in members)

    def _parse(self, stream: ByteSource, context: Any, path: str) -> MessagePart:
        values: dict[str, Any] = {}
        for member in self.subcons:
            value = member._parsereport(stream, context, path)
            if isinstance(member, AbsentField | TaggedFields):
                values |= value
            else:
                values[member.name] = value
        return self.message_class(**values)

    def _build(self, obj: Any, stream: ByteSink, context: Any, path: str) -> None:
        for member in self.subcons:
            takes_whole = isinstance(member, AbsentField | TaggedFields)
            member._build(obj if takes_whole else getattr(obj, member.name), stream, context, path)


def encode_tagged_fields(fields: Sequence[tuple[int, bytes]]) -> bytes:
    """Return the count, then tag, size and content of each, by rising tag.

    Raises:
        UnencodableMessage: a tag stands twice or is no varint.
    """
    if isinstance(fields, PackedTags):
        return fields.section
    parts = [encode_varint(len(fields))]
    previous_tag = -1
    for tag, content in sorted(fields, key=operator.itemgetter(0)):
        if tag == previous_tag:
            raise UnencodableMessage(f"tag {tag} stands twice")
        parts += (encode_varint(tag), encode_varint(len(content)), content)
        previous_tag = tag
    return b"".join(parts)


_TREES: Final[dict[tuple[type[Message], int], MessageStruct]] = {}


def message_struct(message_class: type[Message], version: int) -> MessageStruct:
    """Return the construct tree of `version`. It is built once.

    Raises:
        LookupError: the message has no such version.
    """
    tree = _TREES.get((message_class, version))
    if tree is None:
        schema = message_class.SCHEMA
        if version not in schema.valid_versions:
            raise LookupError(f"{schema.name} has no version {version}")
        is_flexible = schema.flexible_versions is not None and version in schema.flexible_versions
        tree = _TreeBuilder(version, is_flexible=is_flexible).struct(message_class)
        _TREES[message_class, version] = tree
    return tree


@dataclass(frozen=True, slots=True)
class _TreeBuilder:
    """Makes constructs of field tables for one version."""

    version: int
    is_flexible: bool

    def struct(self, part: type[MessagePart]) -> MessageStruct:
        defaults = default_values(part)
        fields = part.SCHEMA.fields
        members = [
            self._member(field, defaults[field.name]) for field in fields if not self._is_tagged(field)
        ]
        if self.is_flexible:
            members.append(TaggedFields([*self._tagged(fields, defaults)]))
        elif UNKNOWN_TAGGED_FIELDS in defaults:
            members.append(AbsentField(UNKNOWN_TAGGED_FIELDS, (), is_ignorable=False))
        return MessageStruct(part, *members)

    def _is_tagged(self, field: FieldSchema) -> bool:
        return (
            self.version in field.versions
            and field.tagged_versions is not None
            and self.version in field.tagged_versions
        )

    def _tagged(self, fields: Sequence[FieldSchema], defaults: dict[str, object]) -> Iterator[TaggedField]:
        for field in fields:
            if self._is_tagged(field) and field.tag is not None:
                yield TaggedField(field.tag, field.name, self._value(field), defaults[field.name])

    def _member(self, field: FieldSchema, default: object) -> Construct:
        if self.version not in field.versions:
            return AbsentField(field.name, default, is_ignorable=field.is_ignorable)
        return field.name / self._value(field)

    def _value(self, field: FieldSchema) -> Construct:
        is_nullable = field.nullable_versions is not None and self.version in field.nullable_versions
        if field.is_array:
            element = self._single(field, is_nullable=False)
            return Array(self._length(field, INT32_LENGTH), element, is_nullable=is_nullable)
        return self._single(field, is_nullable=is_nullable)

    def _single(self, field: FieldSchema, *, is_nullable: bool) -> Construct:
        match field.wire_type:
            case "string":
                return String(self._length(field, INT16_LENGTH), is_nullable=is_nullable)
            case "bytes":
                return ByteString(self._length(field, INT32_LENGTH), is_nullable=is_nullable)
            case "records":
                return Records(self._length(field, INT32_LENGTH), is_nullable=is_nullable)
            case "struct":
                assert field.struct is not None
                struct = self.struct(field.struct)
                return Nullable(struct) if is_nullable else struct
            case fixed_width:
                return _FIXED_WIDTH[fixed_width]

    def _length(self, field: FieldSchema, inflexible: LengthPrefix) -> LengthPrefix:
        return COMPACT_LENGTH if self.is_flexible and not field.is_never_flexible else inflexible


def _parse_whole(construct: Construct, content: memoryview, context: Any, path: str) -> Any:
    source = ByteSource(content)
    value = construct._parsereport(source, context, path)
    if source.remaining:
        raise MalformedMessage(f"{path}: {counted(source.remaining, 'byte')} too many")
    return value
