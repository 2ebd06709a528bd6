"""SyncGroupResponse: versions 0 to 5.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class SyncGroupResponse(Message):
    """What the leader has for the member, or an error."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all. (from
    version 1)
    """
    error_code: int = 0
    """NONE, or what the member is to do."""
    protocol_type: str | None = None
    """What the group is for. (from version 5)"""
    protocol_name: str | None = None
    """The protocol that was chosen. (from version 5)"""
    assignment: bytes = b""
    """What the leader has for the member."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="SyncGroupResponse",
        kind="response",
        api_key=14,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema(
                "protocol_type",
                "string",
                VersionRange(5),
                nullable_versions=VersionRange(5),
                is_ignorable=True,
            ),
            FieldSchema(
                "protocol_name",
                "string",
                VersionRange(5),
                nullable_versions=VersionRange(5),
                is_ignorable=True,
            ),
            FieldSchema("assignment", "bytes", VersionRange(0)),
        ),
    )
