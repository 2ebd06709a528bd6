"""ShareUpdateKey: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import (
    ZERO_UUID,
    FieldSchema,
    Message,
    MessageSchema,
    VersionRange,
    message_part,
)


@message_part
class ShareUpdateKey(Message):
    """Key of a state-log record that holds a change since the last snapshot of a share-partition."""

    group_id: str = ""
    """The share group."""
    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    partition: int = 0
    """The partition."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareUpdateKey",
        kind="coordinator-key",
        api_key=1,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(
            FieldSchema("group_id", "string", VersionRange(0, 0)),
            FieldSchema("topic_id", "uuid", VersionRange(0, 0)),
            FieldSchema("partition", "int32", VersionRange(0, 0)),
        ),
    )
