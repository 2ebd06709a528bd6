"""DescribeShareGroupOffsetsRequest: versions 0 to 1.

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
class DescribeShareGroupOffsetsRequestTopic(MessagePart):
    """An element of `DescribeShareGroupOffsetsRequestGroup.topics`. The partitions asked about, by
    topic; null asks for all that have state.
    """

    topic_name: str = ""
    """The topic's name."""
    partitions: list[int] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_name", "string", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class DescribeShareGroupOffsetsRequestGroup(MessagePart):
    """An element of `DescribeShareGroupOffsetsRequest.groups`. The groups asked about."""

    group_id: str = ""
    """The share group."""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field(default_factory=list)
    """The partitions asked about, by topic; null asks for all that have state."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema(
                "topics",
                "struct",
                VersionRange(0),
                struct=DescribeShareGroupOffsetsRequestTopic,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
        ),
    )


@message_part
class DescribeShareGroupOffsetsRequest(Message):
    """Asks where share groups stand in their partitions (KIP-932)."""

    groups: list[DescribeShareGroupOffsetsRequestGroup] = field(default_factory=list)
    """The groups asked about."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeShareGroupOffsetsRequest",
        kind="request",
        api_key=90,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema(
                "groups",
                "struct",
                VersionRange(0),
                struct=DescribeShareGroupOffsetsRequestGroup,
                is_array=True,
            ),
        ),
    )
