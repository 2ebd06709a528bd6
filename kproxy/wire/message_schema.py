"""The field table of a message as data, and the roots of the generated message classes.

Every class in `kproxy.wire.messages` carries its table as `SCHEMA`; `message_struct` builds construct trees
from it, so that nothing reads JSON at run time. The terms are those of Kafka's message definitions (tags:
KIP-482). Defaults stand where Python has them already: in the dataclass.
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Final

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

    `kind` is Kafka's: request, response, header, coordinator-key or coordinator-value. `api_key` is the
    record type for the last two and None for headers. `flexible_versions` is None for messages that never
    became flexible.
    """

    name: str
    kind: str
    api_key: int | None
    valid_versions: VersionRange
    flexible_versions: VersionRange | None


@dataclass(slots=True)
class MessagePart:
    """A struct: a message, or what stands inside of one."""

    SCHEMA: ClassVar[StructSchema]


@dataclass(slots=True)
class Message(MessagePart):
    """What `kproxy.wire.codecs` decodes and encodes as a whole."""

    SCHEMA: ClassVar[MessageSchema]


def default_values(part: type[MessagePart]) -> dict[str, object]:
    """Return the default of every field of `part` by name. Lists and structs in it are for comparing only."""
    instance = part()
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance)}
