"""ShareGroupTargetAssignmentMetadataKey: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ShareGroupTargetAssignmentMetadataKey(Message):
    """Key of the record that dates the target assignment of a share group."""

    group_id: str = ""
    """The share group."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupTargetAssignmentMetadataKey",
        kind="coordinator-key",
        api_key=12,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(FieldSchema("group_id", "string", VersionRange(0, 0)),),
    )
