"""DeleteShareGroupOffsetsRequest: version 0.

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
class DeleteShareGroupOffsetsRequestTopic(MessagePart):
    """An element of `DeleteShareGroupOffsetsRequest.topics`. The topics to forget."""

    topic_name: str = ""
    """The topic's name."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(FieldSchema("topic_name", "string", VersionRange(0)),),
    )


@message_part
class DeleteShareGroupOffsetsRequest(Message):
    """Makes an empty share group forget topics (KIP-932)."""

    group_id: str = ""
    """The share group; it must have no members."""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field(default_factory=list)
    """The topics to forget."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DeleteShareGroupOffsetsRequest",
        kind="request",
        api_key=92,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema(
                "topics", "struct", VersionRange(0), struct=DeleteShareGroupOffsetsRequestTopic, is_array=True
            ),
        ),
    )
