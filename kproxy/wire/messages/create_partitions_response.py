"""CreatePartitionsResponse: versions 0 to 3.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import (
    FieldSchema,
    Message,
    MessagePart,
    MessageSchema,
    StructSchema,
    VersionRange,
    message_part,
)


@message_part
class CreatePartitionsTopicResult(MessagePart):
    """An element of `CreatePartitionsResponse.results`. What became of each topic."""

    name: str = ""
    """The name of the topic."""
    error_code: int = 0
    """What went wrong, or 0."""
    error_message: str | None = None
    """The same in words, or null."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class CreatePartitionsResponse(Message):
    """What became of them."""

    throttle_time_ms: int = 0
    """For how long a quota held the request back, in milliseconds."""
    results: list[CreatePartitionsTopicResult] = field(default_factory=list)
    """What became of each topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="CreatePartitionsResponse",
        kind="response",
        api_key=37,
        valid_versions=VersionRange(0, 3),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema(
                "results", "struct", VersionRange(0), struct=CreatePartitionsTopicResult, is_array=True
            ),
        ),
    )
