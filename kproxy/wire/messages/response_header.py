"""ResponseHeader: versions 0 to 1.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ResponseHeader(Message):
    """What stands before the body of every response. ApiVersions responses use version 0 whatever
    their own version.
    """

    correlation_id: int = 0
    """The number of the request that this answers."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ResponseHeader",
        kind="header",
        api_key=None,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(1),
        fields=(FieldSchema("correlation_id", "int32", VersionRange(0)),),
    )
