"""The field table of a message as data, and the roots of the generated message classes.

Every class in `kproxy.wire.messages` carries its table as `SCHEMA`; `message_struct` builds construct trees
from it, so that nothing reads JSON at run time. The terms are those of Kafka's message definitions (tags:
KIP-482). Defaults stand where Python has them already: in the dataclass.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar, dataclass_transform

LATEST: Final = 32767
"""The last version of an open range such as `3+`."""

ZERO_UUID: Final = bytes(16)
"""The uuid that stands for none."""


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions from `first` to `last`, both inclusive."""

    first: int
    last: int = LATEST

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """One field of a struct.

    `wire_type` is Kafka's name (`int32`, `string`, `uuid`, `records`, ...) or `struct`, and for an array that
    of its elements. The field is tagged in `tagged_versions`, with `tag`. A field that a version lacks is
    left out when it `is_ignorable`; else it must have its default there. `is_never_flexible` keeps the old
    encoding in every version.
    """

    name: str
    wire_type: str
    versions: VersionRange
    struct: "type[MessagePart] | None" = None
    is_array: bool = False
    nullable_versions: VersionRange | None = None
    tag: int | None = None
    tagged_versions: VersionRange | None = None
    is_ignorable: bool = False
    is_never_flexible: bool = False


@dataclass(frozen=True, slots=True)
class StructSchema:
    """The fields of a struct, in wire order."""

    fields: tuple[FieldSchema, ...]


@dataclass(frozen=True, slots=True)
class MessageSchema(StructSchema):
    """The fields of a message and what is known of it as a whole.

    `kind` is Kafka's: request, response, header, coordinator-key, coordinator-value or data. `api_key` is the
    record type for keys and values, and None for headers and for data, which stand inside of other messages.
    `flexible_versions` is None for messages that never became flexible.
    """

    name: str
    kind: str
    api_key: int | None
    valid_versions: VersionRange
    flexible_versions: VersionRange | None


class MessagePart:
    """A struct: a message, or what stands inside of one. Its classes are made by `message_part`."""

    __slots__ = ()
    SCHEMA: ClassVar[StructSchema]

    # These stand here until a class is first made use of: then it gets its own, as any dataclass has them.

    def __init__(self, *values: Any, **named_values: Any) -> None:
        _complete(type(self))
        self.__init__(*values, **named_values)  # type: ignore[misc]  # another function by now

    def __repr__(self) -> str:
        _complete(type(self))
        return repr(self)

    def __eq__(self, other: object) -> bool:
        _complete(type(self))
        return self == other

    __hash__ = None  # type: ignore[assignment]  # its fields change


class Message(MessagePart):
    """What `kproxy.wire.codecs` decodes and encodes as a whole."""

    __slots__ = ()
    SCHEMA: ClassVar[MessageSchema]


P = TypeVar("P", bound=MessagePart)


@dataclass_transform(field_specifiers=(dataclasses.field,))
def message_part(part: type[P]) -> type[P]:
    """Make `part` a dataclass with slots.

    `__init__`, `__repr__` and `__eq__` are compiled when they are first called, not at import: that takes ten times as
    long as all the rest, there are hundreds of classes, and the codecs call none of the three when they decode.
    """
    return dataclass(slots=True, init=False, repr=False, eq=False)(part)


def _complete(part: type[MessagePart]) -> None:
    """Give `part` the methods of a dataclass with the same fields."""
    fields = [
        (each.name, each.type, dataclasses.field(default=each.default, default_factory=each.default_factory))
        for each in dataclasses.fields(part)  # type: ignore[arg-type]  # it is one
    ]
    twin = dataclasses.make_dataclass(part.__name__, fields)
    for name in ("__init__", "__repr__", "__eq__"):
        setattr(part, name, getattr(twin, name))


def default_values(part: type[MessagePart]) -> dict[str, object]:
    """Return the default of every field of `part` by name. Lists and structs in it are for comparing only."""
    instance = part()
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance)}  # type: ignore[arg-type]  # made by `message_part`
