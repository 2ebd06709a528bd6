"""PeerRefusal: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class PeerRefusal(Message):
    """Why a listener closes the connection instead."""

    reason: str = ""
    """One fixed word."""
    detail: str = ""
    """The reason in words for people."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="PeerRefusal",
        kind="data",
        api_key=None,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("reason", "string", VersionRange(0)),
            FieldSchema("detail", "string", VersionRange(0)),
        ),
    )
