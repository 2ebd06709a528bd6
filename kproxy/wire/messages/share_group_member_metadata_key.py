"""ShareGroupMemberMetadataKey: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ShareGroupMemberMetadataKey(Message):
    """Key of the record about one member of a share group."""

    group_id: str = ""
    """The share group."""
    member_id: str = ""
    """The member."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupMemberMetadataKey",
        kind="coordinator-key",
        api_key=10,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(
            FieldSchema("group_id", "string", VersionRange(0, 0)),
            FieldSchema("member_id", "string", VersionRange(0, 0)),
        ),
    )
