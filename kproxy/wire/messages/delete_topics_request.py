"""DeleteTopicsRequest: versions 1 to 6.

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
class DeleteTopicState(MessagePart):
    """An element of `DeleteTopicsRequest.topics`. The topics."""

    name: str | None = None
    """The name of the topic. (from version 6)"""
    topic_id: bytes = ZERO_UUID
    """The id of the topic. (from version 6)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(6), nullable_versions=VersionRange(6)),
            FieldSchema("topic_id", "uuid", VersionRange(6)),
        ),
    )


@message_part
class DeleteTopicsRequest(Message):
    """Deletes topics."""

    topics: list[DeleteTopicState] = field(default_factory=list)
    """The topics. (from version 6)"""
    topic_names: list[str] = field(default_factory=list)
    """The names of the topics. (versions 0 to 5)"""
    timeout_ms: int = 0
    """How long the broker may take, in milliseconds."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DeleteTopicsRequest",
        kind="request",
        api_key=20,
        valid_versions=VersionRange(1, 6),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("topics", "struct", VersionRange(6), struct=DeleteTopicState, is_array=True),
            FieldSchema("topic_names", "string", VersionRange(0, 5), is_array=True, is_ignorable=True),
            FieldSchema("timeout_ms", "int32", VersionRange(0)),
        ),
    )
