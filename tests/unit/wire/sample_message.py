"""A message of our own with everything that schemas can say, also what no message of Kafka's in use says."""

from dataclasses import dataclass, field
from typing import ClassVar

from kproxy.wire.message_schema import (
    ZERO_UUID,
    FieldSchema,
    Message,
    MessagePart,
    MessageSchema,
    StructSchema,
    VersionRange,
)

ALWAYS = VersionRange(0)
FLEXIBLE = VersionRange(1)


@dataclass(slots=True)
class Point(MessagePart):
    """A struct."""

    x: int = 0
    label: str | None = ""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("x", "int8", ALWAYS),
            FieldSchema("label", "string", ALWAYS, nullable_versions=ALWAYS),
        )
    )


@dataclass(slots=True)
class SampleMessage(Message):
    """Versions 0 to 2; flexible from 1."""

    flag: bool = True
    ratio: float = 0.5
    port: int = 0
    size: int = 0
    topic_id: bytes = ZERO_UUID
    topic_ids: list[bytes] = field(default_factory=list)
    flags: list[bool] | None = None
    limit: int = -1
    hint: str = ""
    payload: bytes | None = None
    point: Point | None = None
    points: list[Point] = field(default_factory=list)
    corner: Point = field(default_factory=Point)
    names: list[str] = field(default_factory=list)
    tagged_point: Point = field(default_factory=Point)
    tagged_size: int = 7
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="SampleMessage",
        kind="request",
        api_key=1000,
        valid_versions=VersionRange(0, 2),
        flexible_versions=FLEXIBLE,
        fields=(
            FieldSchema("flag", "bool", ALWAYS),
            FieldSchema("ratio", "float64", ALWAYS),
            FieldSchema("port", "uint16", ALWAYS),
            FieldSchema("size", "uint32", ALWAYS),
            FieldSchema("topic_id", "uuid", ALWAYS),
            FieldSchema("topic_ids", "uuid", ALWAYS, is_array=True),
            FieldSchema("flags", "bool", ALWAYS, is_array=True, nullable_versions=ALWAYS),
            FieldSchema("limit", "int32", VersionRange(2)),
            FieldSchema("hint", "string", VersionRange(2), is_ignorable=True),
            FieldSchema("payload", "bytes", ALWAYS, nullable_versions=ALWAYS),
            FieldSchema("point", "struct", ALWAYS, struct=Point, nullable_versions=ALWAYS),
            FieldSchema("points", "struct", ALWAYS, struct=Point, is_array=True),
            FieldSchema("corner", "struct", VersionRange(2), struct=Point),
            FieldSchema("names", "string", FLEXIBLE, is_array=True, tag=0, tagged_versions=FLEXIBLE),
            FieldSchema("tagged_point", "struct", FLEXIBLE, struct=Point, tag=3, tagged_versions=FLEXIBLE),
            FieldSchema("tagged_size", "int16", FLEXIBLE, tag=4, tagged_versions=FLEXIBLE),
        ),
    )


SAMPLE = SampleMessage(
    flag=True,
    ratio=1.0,
    port=9092,
    size=3,
    topic_id=bytes(range(16)),
    topic_ids=[b"a" * 16],
    flags=[True, False],
    payload=b"xyz",
    point=Point(1, None),
    points=[Point(2, "b")],
)
"""Can be encoded in every version."""

SAMPLE_V0 = (
    b"\x01" + b"\x3f\xf0\x00\x00\x00\x00\x00\x00" + b"\x23\x84" + b"\x00\x00\x00\x03" + bytes(range(16))
    + b"\x00\x00\x00\x01" + b"a" * 16  # topic_ids
    + b"\x00\x00\x00\x02\x01\x00"  # flags
    + b"\x00\x00\x00\x03xyz"  # payload
    + b"\x01" + b"\x01\xff\xff"  # point
    + b"\x00\x00\x00\x01" + b"\x02\x00\x01b"  # points
)  # fmt: skip

SAMPLE_V2 = (
    b"\x01" + b"\x3f\xf0\x00\x00\x00\x00\x00\x00" + b"\x23\x84" + b"\x00\x00\x00\x03" + bytes(range(16))
    + b"\x02" + b"a" * 16  # topic_ids
    + b"\x03\x01\x00"  # flags
    + b"\xff\xff\xff\xff"  # limit
    + b"\x01"  # hint
    + b"\x04xyz"  # payload
    + b"\x01" + b"\x01\x00\x00"  # point
    + b"\x02" + b"\x02\x02b\x00"  # points
    + b"\x00\x01\x00"  # corner
    + b"\x00"  # no tagged fields
)  # fmt: skip
