"""ShareGroupTargetAssignmentMetadataValue: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ShareGroupTargetAssignmentMetadataValue(Message):
    """For which group epoch the target assignment was made."""

    assignment_epoch: int = 0
    """That group epoch."""
    assignment_timestamp: int = 0
    """When it was made, in milliseconds since the epoch; 0 when unknown."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupTargetAssignmentMetadataValue",
        kind="coordinator-value",
        api_key=12,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("assignment_epoch", "int32", VersionRange(0)),
            FieldSchema(
                "assignment_timestamp",
                "int64",
                VersionRange(0),
                tag=0,
                tagged_versions=VersionRange(0),
                is_ignorable=True,
            ),
        ),
    )
