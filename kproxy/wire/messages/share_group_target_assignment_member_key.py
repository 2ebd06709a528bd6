"""ShareGroupTargetAssignmentMemberKey: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ShareGroupTargetAssignmentMemberKey(Message):
    """Key of the record with one member's target assignment."""

    group_id: str = ""
    """The share group."""
    member_id: str = ""
    """The member."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupTargetAssignmentMemberKey",
        kind="coordinator-key",
        api_key=13,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(
            FieldSchema("group_id", "string", VersionRange(0, 0)),
            FieldSchema("member_id", "string", VersionRange(0, 0)),
        ),
    )
