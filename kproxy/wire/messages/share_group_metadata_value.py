"""ShareGroupMetadataValue: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ShareGroupMetadataValue(Message):
    """A share group and its epoch."""

    epoch: int = 0
    """The group epoch; grows whenever members, subscriptions or partitions change."""
    metadata_hash: int = 0
    """Hash over the subscribed topics, to see that they changed; 0 when there are none."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupMetadataValue",
        kind="coordinator-value",
        api_key=11,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("epoch", "int32", VersionRange(0)),
            FieldSchema("metadata_hash", "int64", VersionRange(0)),
        ),
    )
