"""FindCoordinatorResponse: versions 0 to 6.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import (
    FieldSchema,
    Message,
    MessagePart,
    MessageSchema,
    StructSchema,
    VersionRange,
    message_part,
)


@message_part
class Coordinator(MessagePart):
    """An element of `FindCoordinatorResponse.coordinators`. One entry per id that was asked for."""

    key: str = ""
    """The id that was looked up. (from version 4)"""
    node_id: int = 0
    """Id of its coordinating broker; -1 with an error. (from version 4)"""
    host: str = ""
    """Host name of the coordinator. (from version 4)"""
    port: int = 0
    """Port of the coordinator. (from version 4)"""
    error_code: int = 0
    """NONE, or why this id has no coordinator to name. (from version 4)"""
    error_message: str | None = ""
    """The error of this id in words; null when there is none. (from version 4)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("key", "string", VersionRange(4)),
            FieldSchema("node_id", "int32", VersionRange(4)),
            FieldSchema("host", "string", VersionRange(4)),
            FieldSchema("port", "int32", VersionRange(4)),
            FieldSchema("error_code", "int16", VersionRange(4)),
            FieldSchema(
                "error_message",
                "string",
                VersionRange(4),
                nullable_versions=VersionRange(4),
                is_ignorable=True,
            ),
        ),
    )


@message_part
class FindCoordinatorResponse(Message):
    """The coordinators that were asked for."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all. (from
    version 1)
    """
    error_code: int = 0
    """NONE, or why there is no coordinator to name. (versions 0 to 3)"""
    error_message: str | None = ""
    """The error in words; null when there is none. (versions 1 to 3)"""
    node_id: int = 0
    """Id of the coordinating broker; -1 with an error. (versions 0 to 3)"""
    host: str = ""
    """Its host name. (versions 0 to 3)"""
    port: int = 0
    """Its port. (versions 0 to 3)"""
    coordinators: list[Coordinator] = field(default_factory=list)
    """One entry per id that was asked for. (from version 4)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="FindCoordinatorResponse",
        kind="response",
        api_key=10,
        valid_versions=VersionRange(0, 6),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0, 3)),
            FieldSchema(
                "error_message",
                "string",
                VersionRange(1, 3),
                nullable_versions=VersionRange(1, 3),
                is_ignorable=True,
            ),
            FieldSchema("node_id", "int32", VersionRange(0, 3)),
            FieldSchema("host", "string", VersionRange(0, 3)),
            FieldSchema("port", "int32", VersionRange(0, 3)),
            FieldSchema("coordinators", "struct", VersionRange(4), struct=Coordinator, is_array=True),
        ),
    )
