"""DeleteShareGroupOffsetsResponse: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import (
    ZERO_UUID,
    FieldSchema,
    Message,
    MessagePart,
    MessageSchema,
    StructSchema,
    VersionRange,
    message_part,
)


@message_part
class DeleteShareGroupOffsetsResponseTopic(MessagePart):
    """An element of `DeleteShareGroupOffsetsResponse.responses`. Results by topic."""

    topic_name: str = ""
    """The topic's name."""
    topic_id: bytes = ZERO_UUID
    """The topic's id; all zero when unknown."""
    error_code: int = 0
    """NONE when the group holds no state of the topic any more."""
    error_message: str | None = None
    """The topic's error in words; null when there is none."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_name", "string", VersionRange(0)),
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class DeleteShareGroupOffsetsResponse(Message):
    """Which topics were forgotten."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    error_code: int = 0
    """NONE, or why nothing was forgotten."""
    error_message: str | None = None
    """The topic's error in words; null when there is none."""
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field(default_factory=list)
    """Results by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DeleteShareGroupOffsetsResponse",
        kind="response",
        api_key=92,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema(
                "responses",
                "struct",
                VersionRange(0),
                struct=DeleteShareGroupOffsetsResponseTopic,
                is_array=True,
            ),
        ),
    )
