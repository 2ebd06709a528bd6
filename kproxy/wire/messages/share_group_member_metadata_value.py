"""ShareGroupMemberMetadataValue: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ShareGroupMemberMetadataValue(Message):
    """What a member of a share group said of itself."""

    rack_id: str | None = ""
    """Its rack; null when it has none."""
    client_id: str = ""
    """Its client.id."""
    client_host: str = ""
    """The address its heartbeats come from."""
    subscribed_topic_names: list[str] = field(default_factory=list)
    """The topics it subscribed to."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupMemberMetadataValue",
        kind="coordinator-value",
        api_key=10,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("rack_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("client_id", "string", VersionRange(0)),
            FieldSchema("client_host", "string", VersionRange(0)),
            FieldSchema("subscribed_topic_names", "string", VersionRange(0), is_array=True),
        ),
    )
