"""KproxyStateTopicFactsValue: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class KproxyStateTopicFactsValue(Message):
    """What may never change about the state topics."""

    partition_count: int = 0
    """How many partitions both of them have."""
    format_version: int = 0
    """Format of the records; 1 has each share-partition in the partition of its own hash, 2 in that of
    its group.
    """
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="KproxyStateTopicFactsValue",
        kind="coordinator-value",
        api_key=27507,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("partition_count", "int32", VersionRange(0)),
            FieldSchema("format_version", "int16", VersionRange(0)),
        ),
    )
