"""MetadataRequest: versions 0 to 13.

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
class MetadataRequestTopic(MessagePart):
    """An element of `MetadataRequest.topics`. The topics wanted. Null asks for all; an empty list asks
    for all in version 0 and for none from version 1.
    """

    topic_id: bytes = ZERO_UUID
    """The topic's id; all zero when it is asked for by name. (from version 10)"""
    name: str | None = ""
    """The topic's name; null when it is asked for by id."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(10), is_ignorable=True),
            FieldSchema("name", "string", VersionRange(0), nullable_versions=VersionRange(10)),
        ),
    )


@message_part
class MetadataRequest(Message):
    """Asks for the brokers of the cluster and for topics with their partition leaders."""

    topics: list[MetadataRequestTopic] | None = field(default_factory=list)
    """The topics wanted. Null asks for all; an empty list asks for all in version 0 and for none from
    version 1.
    """
    allow_auto_topic_creation: bool = True
    """Whether a missing topic may be created, if the broker is configured so. (from version 4)"""
    include_cluster_authorized_operations: bool = False
    """Whether to say what the client may do to the cluster. (versions 8 to 10)"""
    include_topic_authorized_operations: bool = False
    """Whether to say what the client may do to each topic. (from version 8)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="MetadataRequest",
        kind="request",
        api_key=3,
        valid_versions=VersionRange(0, 13),
        flexible_versions=VersionRange(9),
        fields=(
            FieldSchema(
                "topics",
                "struct",
                VersionRange(0),
                struct=MetadataRequestTopic,
                is_array=True,
                nullable_versions=VersionRange(1),
            ),
            FieldSchema("allow_auto_topic_creation", "bool", VersionRange(4)),
            FieldSchema("include_cluster_authorized_operations", "bool", VersionRange(8, 10)),
            FieldSchema("include_topic_authorized_operations", "bool", VersionRange(8)),
        ),
    )
