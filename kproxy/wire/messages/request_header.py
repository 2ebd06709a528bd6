"""RequestHeader: versions 1 to 2.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class RequestHeader(Message):
    """What stands before the body of every request."""

    request_api_key: int = 0
    """Which API the body belongs to."""
    request_api_version: int = 0
    """The version of that API in which the body is written."""
    correlation_id: int = 0
    """A number the client chose; the response repeats it."""
    client_id: str | None = ""
    """The client's name for itself (client.id). Stays an int16-length string in flexible versions, so
    that a broker can read it before it knows the version.
    """
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="RequestHeader",
        kind="header",
        api_key=None,
        valid_versions=VersionRange(1, 2),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("request_api_key", "int16", VersionRange(0)),
            FieldSchema("request_api_version", "int16", VersionRange(0)),
            FieldSchema("correlation_id", "int32", VersionRange(0)),
            FieldSchema(
                "client_id",
                "string",
                VersionRange(1),
                nullable_versions=VersionRange(1),
                is_never_flexible=True,
            ),
        ),
    )
