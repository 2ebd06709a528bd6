"""OffsetDeleteRequest: version 0.

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
class OffsetDeleteRequestPartition(MessagePart):
    """An element of `OffsetDeleteRequestTopic.partitions`. The partitions."""

    partition_index: int = 0
    """The partition's number."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(FieldSchema("partition_index", "int32", VersionRange(0)),),
    )


@message_part
class OffsetDeleteRequestTopic(MessagePart):
    """An element of `OffsetDeleteRequest.topics`. What is to be forgotten, by topic."""

    name: str = ""
    """The topic's name."""
    partitions: list[OffsetDeleteRequestPartition] = field(default_factory=list)
    """The partitions."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=OffsetDeleteRequestPartition, is_array=True
            ),
        ),
    )


@message_part
class OffsetDeleteRequest(Message):
    """Forget offsets that a group has committed."""

    group_id: str = ""
    """The group's id."""
    topics: list[OffsetDeleteRequestTopic] = field(default_factory=list)
    """What is to be forgotten, by topic."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="OffsetDeleteRequest",
        kind="request",
        api_key=47,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("topics", "struct", VersionRange(0), struct=OffsetDeleteRequestTopic, is_array=True),
        ),
    )
